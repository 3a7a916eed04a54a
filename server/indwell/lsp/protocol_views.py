"""Typed messages that show something: sessions, queue, models, events, the next request.

The table of methods in ``protocol`` names them. Field names are single words, so they are the same
here and on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from indwell.lsp.values import Value
from indwell.messages import Tier
from indwell.providers.connection import State
from indwell.sessions.records import Ending
from indwell.sessions.transcript import Kind


@attrs.frozen(eq=False, repr=False)
class UsageResult(Value):
    """Tokens of a turn or session; ``cost`` in US dollars, null if the price is unknown."""

    input: int
    cached: int
    output: int
    cost: float | None


@attrs.frozen(eq=False, repr=False)
class QueuedResult(Value):
    """A prompt that waits; ``attached`` names what goes with it."""

    id: str
    title: str
    text: str
    session: str | None
    attached: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class QueueResult(Value):
    """The queue; ``held`` says why nothing begins, and is empty if it goes on."""

    seq: int
    held: str
    waiting: tuple[QueuedResult, ...]


@attrs.frozen(eq=False, repr=False)
class SessionsParams(Value):
    """A page of the list: ``limit`` sessions older than ``before``."""

    limit: int = 20
    before: str | None = None


@attrs.frozen(eq=False, repr=False)
class SessionRow(Value):
    """One session of the list; ``open`` if it is the current one, ``notices`` if it is damaged."""

    id: str
    at: str
    model: str
    preview: str
    turns: int
    usage: UsageResult
    open: bool
    notices: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class SessionsResult(Value):
    """Sessions of the workspace, newest first; ``more`` if there are older ones."""

    sessions: tuple[SessionRow, ...]
    more: bool


@attrs.frozen(eq=False, repr=False)
class SessionParams(Value):
    """A page of a session: the last ``limit`` turns, of those before the turn ``before``."""

    session: str | None = None
    before: int | None = None
    limit: int = 20


@attrs.frozen(eq=False, repr=False)
class PieceRow(Value):
    """One thing to show of a turn.

    ``kind`` ``tool`` is a card: ``source`` is the tool, ``arguments`` what the model wrote,
    ``text`` its result; ``answered`` is false while there is none. ``cut`` counts characters left
    out.
    """

    kind: Kind
    text: str
    source: str
    id: str
    arguments: str
    error: bool
    answered: bool
    cut: int


@attrs.frozen(eq=False, repr=False)
class TurnRow(Value):
    """One turn; ``ending`` is null while it runs, or if the process was killed in it."""

    turn: int
    at: str
    ending: Ending | None
    message: str
    usage: UsageResult
    pieces: tuple[PieceRow, ...]


@attrs.frozen(eq=False, repr=False)
class SessionResult(Value):
    """A page of a session's turns, oldest first; ``more`` if there are turns before it."""

    session: str
    at: str
    model: str
    total: int
    turns: tuple[TurnRow, ...]
    more: bool
    notices: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class ResumeResult(Value):
    """A session that was taken up; ``draft`` gives words back that never reached the model.

    ``notices`` say what nobody knows, such as what came of a command that ran when all ended.
    """

    session: str
    turns: int
    model: str
    draft: str
    notices: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class ModelsParams(Value):
    """Nothing to say."""


@attrs.frozen(eq=False, repr=False)
class ModelRow(Value):
    """A model on offer; prices in US dollars for a million tokens, null where nobody says."""

    name: str
    window: int | None
    input: float | None
    output: float | None
    tools: bool | None
    chosen: bool


@attrs.frozen(eq=False, repr=False)
class ModelsResult(Value):
    """What the endpoint offers."""

    models: tuple[ModelRow, ...]


@attrs.frozen(eq=False, repr=False)
class SetModelParams(Value):
    """The model's name, as the endpoint calls it."""

    model: str


@attrs.frozen(eq=False, repr=False)
class SetModelResult(Value):
    """The model from the next turn on."""

    model: str


@attrs.frozen(eq=False, repr=False)
class LoginParams(Value):
    """A key for an endpoint; ``url`` if the provider has none of its own, ``model`` of several."""

    provider: str
    key: str | None = attrs.field(default=None, repr=False)
    url: str | None = None
    model: str | None = None


@attrs.frozen(eq=False, repr=False)
class StepRow(Value):
    """One thing that was tried of an endpoint, and what to do about it."""

    name: str
    state: State
    sentence: str
    mend: str


@attrs.frozen(eq=False, repr=False)
class LoginResult(Value):
    """How a login ended; never holds the key. ``models``: no model was chosen of these."""

    ok: bool
    model: str
    message: str
    steps: tuple[StepRow, ...]
    notes: tuple[str, ...]
    models: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class EventsParams(Value):
    """The events of a session after a sequence number."""

    session: str
    after: int = 0


@attrs.frozen(eq=False, repr=False)
class NumberedEvent(Value):
    """An event; a run of text or output comes as one, with the number of its last piece."""

    seq: int
    event: Mapping[str, Any]


@attrs.frozen(eq=False, repr=False)
class EventsResult(Value):
    """Events after a number; ask again after ``next``; ``complete`` is false if some are gone."""

    session: str
    events: tuple[NumberedEvent, ...]
    next: int
    complete: bool


@attrs.frozen(eq=False, repr=False)
class AttachedRow(Value):
    """A piece of context that goes with the next prompt, and can be detached by its ``id``."""

    id: str
    kind: Literal["selection", "opened"]
    label: str
    tokens: int


@attrs.frozen(eq=False, repr=False)
class DetachParams(Value):
    """A piece of attached context, for the next prompt only."""

    id: str


@attrs.frozen(eq=False, repr=False)
class DetachResult(Value):
    """What is still attached."""

    attached: tuple[AttachedRow, ...]


@attrs.frozen(eq=False, repr=False)
class ContextParams(Value):
    """Nothing to say: the next request is that of the current session."""


@attrs.frozen(eq=False, repr=False)
class BlockRow(Value):
    """One block of the next request; ``anchor`` if a cache mark stands behind it.

    ``message`` is its message's index (-1: tools and system); it stands for the messages ``first``
    to ``last`` of the transcript, ``altered`` if compaction made it what it is; ``why`` says so.
    """

    message: int
    role: Literal["tools", "system", "user", "assistant"]
    kind: str
    source: str
    tier: Tier
    tokens: int
    turn: int
    pinned: bool
    compactable: bool
    anchor: bool
    state: Literal["sent", "new", "waiting"]
    altered: bool
    first: int
    last: int
    why: str
    preview: str


@attrs.frozen(eq=False, repr=False)
class HeadroomRow(Value):
    """A rung of compaction: it may run from ``at`` tokens on, which are ``left`` away."""

    layer: str
    at: int
    left: int
    pays: bool


@attrs.frozen(eq=False, repr=False)
class ContextResult(Value):
    """What the next request would contain.

    ``window`` and ``budget`` in tokens (null before the first turn), ``used`` as estimated,
    ``share`` of the budget from 0 on; tokens by source and by tier; ``preset`` with its rungs.
    """

    session: str | None
    model: str
    window: int | None
    budget: int | None
    used: int
    share: float | None
    preset: str
    headroom: tuple[HeadroomRow, ...]
    sources: Mapping[str, int]
    tiers: Mapping[str, int]
    blocks: tuple[BlockRow, ...]
    attached: tuple[AttachedRow, ...]
