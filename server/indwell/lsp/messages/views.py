"""Typed messages that show something: turns, plans, sessions, the queue, models and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from indwell.context.plan import PlanState
from indwell.context.todo import TodoState
from indwell.lsp.messages.values import CommandArguments, Value
from indwell.providers.endpoint import State


@attrs.frozen(eq=False, repr=False)
class PlanParams(Value):
    """See a session's plan, change its text, or say what is to become of it.

    Attributes:
        session: Its id; the current one if it is left out.
        action: ``approve`` begins the turn that carries it out, in the mode of before; ``reject``
            stays in mode plan; ``edit`` makes ``text`` the plan.
        text: With ``edit`` the new text. With ``approve`` the text that was on the screen, which
            is the plan then; what stands in the plan's document if it is left out.
        words: With ``reject``: what is wrong, which is the next prompt.
    """

    action: Literal["show", "approve", "reject", "edit"] = "show"
    session: str | None = None
    text: str | None = None
    words: str | None = None


@attrs.frozen(eq=False, repr=False)
class PlanResult(Value):
    """Where the plan stands now.

    Attributes:
        state: ``none`` where the model has proposed none.
        text: Markdown; empty if there is none.
        path: Of the document in which the user may edit it; empty if there is none.
    """

    state: PlanState
    text: str
    path: str


@attrs.frozen(eq=False, repr=False)
class PlanArguments(CommandArguments):
    """The argument of ``indwell.plan``; all of it optional.

    Attributes:
        action: ``open`` shows the plan's document; the others as in ``PlanParams``.
        session: The current one if it is left out.
        words: With ``reject``: what is wrong, which is the next prompt.
        wait: Answer only when it is done.
    """

    action: Literal["open", "approve", "reject"] = "open"
    session: str | None = None
    words: str | None = None
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class UsageResult(Value):
    """Tokens of a turn or session; ``cost`` in US dollars, null if the price is unknown."""

    input: int
    cached: int
    output: int
    cost: float | None


@attrs.frozen(eq=False, repr=False)
class FileResult(Value):
    """Lines added and removed in one file."""

    path: str
    added: int
    removed: int


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
    """A page of the list: ``limit`` sessions older than ``before``.

    With ``query`` only those that have it in their title or in the user's words.
    """

    limit: int = 20
    before: str | None = None
    query: str = ""


@attrs.frozen(eq=False, repr=False)
class SessionRow(Value):
    """One session of the list; ``open`` if it is the current one, ``notices`` if it is damaged.

    ``title`` is the one that the user gave it, else the beginning of the first words.
    """

    id: str
    at: str
    model: str
    title: str
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
class TurnRow(Value):
    """One turn, as the events that told it.

    Attributes:
        turn: Its number.
        at: When it began.
        left: A rewind left it behind: the conversation goes on without it.
        cut: Characters left out of long texts.
        events: ``turnStarted`` is the first. ``turnFinished`` is the last; it is missing while the
            turn runs, or if the process was killed. Those of one call stand together.
    """

    turn: int
    at: str
    left: bool
    cut: int
    events: tuple[Mapping[str, Any], ...]


@attrs.frozen(eq=False, repr=False)
class TodoRow(Value):
    """One thing to do, of the list that the model keeps; ``after``: numbers of what comes first."""

    text: str
    state: TodoState
    after: tuple[int, ...] = ()


@attrs.frozen(eq=False, repr=False)
class SessionResult(Value):
    """A page of a session's turns, oldest first; ``more`` if there are turns before it.

    ``todo`` is the newest list of what is to be done; empty if the model keeps none. ``plan`` is
    the newest plan; null if the model has proposed none.
    """

    session: str
    title: str
    at: str
    model: str
    total: int
    turns: tuple[TurnRow, ...]
    more: bool
    notices: tuple[str, ...]
    todo: tuple[TodoRow, ...]
    plan: PlanResult | None = None


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
    """A key for an endpoint; ``url`` if the provider has none of its own, ``model`` of several.

    ``keep`` says who keeps the key: the system's keyring, or the client, to which the server then
    gives the origin that it is for.
    """

    provider: str
    key: str | None = attrs.field(default=None, repr=False)
    url: str | None = None
    model: str | None = None
    keep: Literal["keyring", "client"] = "keyring"


@attrs.frozen(eq=False, repr=False)
class StepRow(Value):
    """One thing that was tried of an endpoint, and what to do about it."""

    name: str
    state: State
    sentence: str
    mend: str


@attrs.frozen(eq=False, repr=False)
class LoginResult(Value):
    """How a login ended; never holds the key. ``models``: no model was chosen of these.

    ``origin`` is the one that the client has to keep the key for; empty if it need not.
    """

    ok: bool
    model: str
    message: str
    steps: tuple[StepRow, ...]
    notes: tuple[str, ...]
    models: tuple[str, ...]
    origin: str


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
