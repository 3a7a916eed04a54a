"""Defines messages with data to show: turns, plans, sessions, queue, models and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from indwell.context.task_state import PlanState, TodoState
from indwell.lsp.messages.values import CommandArguments, Value
from indwell.providers.endpoint import State


class PlanParams(Value, frozen=True):
    """Reads a session's plan, changes its text, or decides about it.

    Attributes:
        session: The session's id; by default the current session's.
        action: ``approve`` begins a turn that carries out the plan, in the former mode; ``reject``
            stays in mode plan; ``edit`` replaces the plan with ``text``.
        text: The new text for ``edit``. For ``approve``, the shown text, which becomes the plan; by
            default the text of the plan's document.
        words: The criticism for ``reject``, which becomes the next prompt.
    """

    action: Literal["show", "approve", "reject", "edit"] = "show"
    session: str | None = None
    text: str | None = None
    words: str | None = None


class PlanResult(Value, frozen=True):
    """The present state of the plan.

    Attributes:
        state: The state of the plan; ``none`` if the model has proposed no plan.
        text: The plan in Markdown, or empty if there is no plan.
        path: The document in which the user may edit the plan, or empty if there is no document.
    """

    state: PlanState
    text: str
    path: str


class PlanArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.plan``; all fields are optional.

    Attributes:
        action: ``open`` shows the plan's document; ``PlanParams`` explains the other actions.
        session: The session's id; by default the current session's.
        words: The criticism for ``reject``, which becomes the next prompt.
        wait: Whether to answer only when the action is carried out.
    """

    action: Literal["open", "approve", "reject"] = "open"
    session: str | None = None
    words: str | None = None
    wait: bool = False


class UsageResult(Value, frozen=True):
    """The tokens of a turn or session; ``cost`` in US dollars, null if the price is unknown."""

    input: int
    cached: int
    output: int
    cost: float | None


class FileResult(Value, frozen=True):
    """The number of lines added and removed in one file."""

    path: str
    added: int
    removed: int


class QueuedResult(Value, frozen=True):
    """A queued prompt; ``attached`` names the attachments."""

    id: str
    title: str
    text: str
    session: str | None
    attached: tuple[str, ...]


class QueueResult(Value, frozen=True):
    """The queue; ``held`` is the reason why no prompt begins, or empty if prompts may begin."""

    seq: int
    held: str
    waiting: tuple[QueuedResult, ...]


class SessionsParams(Value, frozen=True):
    """Asks for a page of the session list: ``limit`` sessions older than ``before``.

    With ``query``, the list has only sessions with that text in the title or in a prompt.
    """

    limit: int = 20
    before: str | None = None
    query: str = ""


class SessionRow(Value, frozen=True):
    """A session in the list; ``open`` is true for the current one, ``notices`` describe damage.

    ``title`` is the user's title, or the beginning of the first prompt. ``task`` names the task of
    the session and the task's state, such as ``t3 done``, or is empty.
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
    task: str = ""


class SessionsResult(Value, frozen=True):
    """The sessions of the workspace, newest first; ``more`` is true if there are older sessions."""

    sessions: tuple[SessionRow, ...]
    more: bool


class SessionParams(Value, frozen=True):
    """Asks for a page of a session: the last ``limit`` turns before the turn ``before``."""

    session: str | None = None
    before: int | None = None
    limit: int = 20


class TurnRow(Value, frozen=True):
    """One turn, as its events.

    Attributes:
        turn: The number of the turn.
        at: The time when the turn began.
        left: Whether a rewind removed the turn from the conversation.
        cut: The number of characters left out of long texts.
        events: The events from ``turnStarted`` to ``turnFinished``. The last event is missing while
            the turn runs, or if the process was killed. The events of one call are together.
    """

    turn: int
    at: str
    left: bool
    cut: int
    events: tuple[Mapping[str, Any], ...]


class TodoRow(Value, frozen=True):
    """A step of the model's to-do list; ``after`` has the numbers of steps to do before it."""

    text: str
    state: TodoState
    after: tuple[int, ...] = ()


class SessionResult(Value, frozen=True):
    """A page of a session's turns, oldest first; ``more`` is true if there are earlier turns.

    ``todo`` is the newest to-do list, or empty if the model has no list. ``plan`` is the newest
    plan; null if the model has proposed no plan.
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

    SENTENCES = ("notices",)


class ResumeResult(Value, frozen=True):
    """A resumed session; ``draft`` is the user's text that never reached the model.

    ``notices`` report unknown facts, such as the result of a command that a crash interrupted.
    """

    session: str
    turns: int
    model: str
    draft: str
    notices: tuple[str, ...]

    SENTENCES = ("notices",)


class ModelsParams(Value, frozen=True):
    """The parameters are empty."""


class ModelRow(Value, frozen=True):
    """A model of the endpoint; prices in US dollars per million tokens, null if unknown."""

    name: str
    window: int | None
    input: float | None
    output: float | None
    tools: bool | None
    chosen: bool


class ModelsResult(Value, frozen=True):
    """The models that the endpoint offers."""

    models: tuple[ModelRow, ...]


class SetModelParams(Value, frozen=True):
    """Names the model by the endpoint's name."""

    model: str


class SetModelResult(Value, frozen=True):
    """The model that is used from the next turn on."""

    model: str


class LoginParams(Value, frozen=True):
    """A key for an endpoint; ``url`` and ``model`` are needed if the provider implies neither.

    ``keep`` says where the key is stored: in the system's keyring, or by the client, which then
    gets the key's origin.
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
    fix: str

    SENTENCES = ("sentence", "fix")


class LoginResult(Value, frozen=True):
    """The result of a login, never with the key.

    ``models`` lists the models to choose from, if no model was chosen.

    ``origin`` is the origin whose key the client has to store, or empty if there is no such key.
    """

    ok: bool
    model: str
    message: str
    steps: tuple[StepRow, ...]
    notes: tuple[str, ...]
    models: tuple[str, ...]
    origin: str

    SENTENCES = ("message", "steps", "notes")


class EventsParams(Value, frozen=True):
    """Asks for the events of a session after a sequence number."""

    session: str
    after: int = 0


class NumberedEvent(Value, frozen=True):
    """An event with its number; a joined event has the number of its last part."""

    seq: int
    event: Mapping[str, Any]


class EventsResult(Value, frozen=True):
    """The events after a number; ``complete`` is false if some are missing.

    The client continues after the number ``next``.
    """

    session: str
    events: tuple[NumberedEvent, ...]
    next: int
    complete: bool
