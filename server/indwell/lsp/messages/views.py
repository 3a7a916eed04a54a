"""Typed messages that show something: turns, plans, sessions, the queue, models and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from indwell.context.task_state import PlanState, TodoState
from indwell.lsp.messages.values import CommandArguments, Value
from indwell.providers.endpoint import State


class PlanParams(Value, frozen=True):
    """Reads a session's plan, changes its text, or decides about it.

    Attributes:
        session: The session's id; by default the current one.
        action: ``approve`` begins the turn that carries it out, in the former mode; ``reject``
            stays in mode plan; ``edit`` makes ``text`` the plan.
        text: With ``edit`` the new text. With ``approve`` the text that was shown, which becomes
            the plan; by default the text of the plan's document.
        words: With ``reject``: what is wrong, which becomes the next prompt.
    """

    action: Literal["show", "approve", "reject", "edit"] = "show"
    session: str | None = None
    text: str | None = None
    words: str | None = None


class PlanResult(Value, frozen=True):
    """The present state of the plan.

    Attributes:
        state: ``none`` if the model has proposed none.
        text: Markdown; empty if missing.
        path: The document in which the user may edit it; empty if missing.
    """

    state: PlanState
    text: str
    path: str


class PlanArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.plan``; all fields are optional.

    Attributes:
        action: ``open`` shows the plan's document; the others as in ``PlanParams``.
        session: By default the current one.
        words: With ``reject``: what is wrong, which becomes the next prompt.
        wait: Whether to answer only when it is done.
    """

    action: Literal["open", "approve", "reject"] = "open"
    session: str | None = None
    words: str | None = None
    wait: bool = False


class UsageResult(Value, frozen=True):
    """Tokens of a turn or session; ``cost`` in US dollars, null if the price is unknown."""

    input: int
    cached: int
    output: int
    cost: float | None


class FileResult(Value, frozen=True):
    """Lines added and removed in one file."""

    path: str
    added: int
    removed: int


class QueuedResult(Value, frozen=True):
    """A waiting prompt; ``attached`` names its attachments."""

    id: str
    title: str
    text: str
    session: str | None
    attached: tuple[str, ...]


class QueueResult(Value, frozen=True):
    """The queue; ``held`` says why nothing begins, and is empty otherwise."""

    seq: int
    held: str
    waiting: tuple[QueuedResult, ...]


class SessionsParams(Value, frozen=True):
    """A page of the list: ``limit`` sessions older than ``before``.

    With ``query`` only sessions with it in their title or in the user's words.
    """

    limit: int = 20
    before: str | None = None
    query: str = ""


class SessionRow(Value, frozen=True):
    """One session of the list; ``open`` for the current one, ``notices`` if it is damaged.

    ``title`` is the user's title, else the beginning of the first words.
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


class SessionsResult(Value, frozen=True):
    """Sessions of the workspace, newest first; ``more`` if there are older ones."""

    sessions: tuple[SessionRow, ...]
    more: bool


class SessionParams(Value, frozen=True):
    """A page of a session: the last ``limit`` turns before the turn ``before``."""

    session: str | None = None
    before: int | None = None
    limit: int = 20


class TurnRow(Value, frozen=True):
    """One turn, as its events.

    Attributes:
        turn: Its number.
        at: When it began.
        left: Whether a rewind removed it from the conversation.
        cut: Characters left out of long texts.
        events: ``turnStarted`` is the first. ``turnFinished`` is the last; it is missing while the
            turn runs, or if the process was killed. The events of one call are together.
    """

    turn: int
    at: str
    left: bool
    cut: int
    events: tuple[Mapping[str, Any], ...]


class TodoRow(Value, frozen=True):
    """One item of the model's to-do list; ``after``: numbers of the items before it."""

    text: str
    state: TodoState
    after: tuple[int, ...] = ()


class SessionResult(Value, frozen=True):
    """A page of a session's turns, oldest first; ``more`` if earlier turns exist.

    ``todo`` is the newest to-do list; empty if the model keeps none. ``plan`` is the newest plan;
    null if the model has proposed none.
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


class ResumeResult(Value, frozen=True):
    """A resumed session; ``draft`` returns words that never reached the model.

    ``notices`` report unknowns, such as the result of a command that ran when everything ended.
    """

    session: str
    turns: int
    model: str
    draft: str
    notices: tuple[str, ...]


class ModelsParams(Value, frozen=True):
    """No fields."""


class ModelRow(Value, frozen=True):
    """A model on offer; prices in US dollars per million tokens, null if unknown."""

    name: str
    window: int | None
    input: float | None
    output: float | None
    tools: bool | None
    chosen: bool


class ModelsResult(Value, frozen=True):
    """The endpoint's models."""

    models: tuple[ModelRow, ...]


class SetModelParams(Value, frozen=True):
    """The endpoint's name of the model."""

    model: str


class SetModelResult(Value, frozen=True):
    """The model from the next turn on."""

    model: str


class LoginParams(Value, frozen=True):
    """A key for an endpoint; ``url`` if the provider has no address, ``model`` if it has several.

    ``keep`` says who stores the key: the system's keyring, or the client, which then gets the
    origin of the key.
    """

    HIDDEN = frozenset({"key"})

    provider: str
    key: str | None = None
    url: str | None = None
    model: str | None = None
    keep: Literal["keyring", "client"] = "keyring"


class StepRow(Value, frozen=True):
    """One step of a connection test, with advice."""

    name: str
    state: State
    sentence: str
    mend: str


class LoginResult(Value, frozen=True):
    """The result of a login, never with the key.

    ``models``: the models to choose from, if none was chosen.

    ``origin`` is the origin whose key the client has to store; empty if it need not.
    """

    ok: bool
    model: str
    message: str
    steps: tuple[StepRow, ...]
    notes: tuple[str, ...]
    models: tuple[str, ...]
    origin: str


class EventsParams(Value, frozen=True):
    """The events of a session after a sequence number."""

    session: str
    after: int = 0


class NumberedEvent(Value, frozen=True):
    """An event; joined pieces of text or output have the number of the last piece."""

    seq: int
    event: Mapping[str, Any]


class EventsResult(Value, frozen=True):
    """Events after a number; continue after ``next``; ``complete`` is false if some are gone."""

    session: str
    events: tuple[NumberedEvent, ...]
    next: int
    complete: bool
