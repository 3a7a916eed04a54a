"""What happens in a turn, as a closed union: all that a user interface needs.

Each event is a frozen struct; as JSON its ``type`` is the camel-cased class name. Times are in
seconds, costs in US dollars (None if the price is unknown), paths as shown to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.todo import TodoItem
from indwell.messages import Usage
from indwell.policy.approvals import Said
from indwell.sessions.records import Ending
from indwell.settings.model import Mode


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class _Event(msgspec.Struct, frozen=True, tag_field="type", tag=_tag, rename="camel"):
    """Base of all: which turn of the session, 1-based."""

    turn: int


class TurnStarted(_Event, frozen=True):
    """The user's words are taken; ``attached`` names what goes with them."""

    title: str
    words: str
    model: str
    attached: tuple[str, ...] = ()
    mode: Mode = "review"


class Text(_Event, frozen=True):
    """More of the answer; ``restart`` says to forget what this round has shown so far."""

    text: str
    restart: bool = False


class Thinking(_Event, frozen=True):
    """More of the model's reasoning."""

    text: str


class ToolStarted(_Event, frozen=True):
    """A call begins: ``name`` of the tool, ``target`` it works on."""

    id: str
    name: str
    target: str


class ToolOutput(_Event, frozen=True):
    """A running command wrote something."""

    id: str
    text: str


class ToolFinished(_Event, frozen=True):
    """A call ended: ``figure`` such as ``+3 −1``, ``message`` if it failed or was refused."""

    id: str
    name: str
    target: str
    is_error: bool
    figure: str
    seconds: float
    message: str = ""


class EditApplied(_Event, frozen=True):
    """A file reads differently now; ``diff`` is unified and whole."""

    id: str
    path: str
    added: int
    removed: int
    diff: str
    created: bool
    verified: bool


class Checking(_Event, frozen=True):
    """A check of the project runs, such as ``mypy``."""

    what: str


class HunksChanged(_Event, frozen=True):
    """Other changes of files wait for a verdict than before: after an edit, or after a verdict.

    Attributes:
        pending: How many, of all sessions of this workspace.
        files: Paths that have some.
    """

    pending: int
    files: tuple[str, ...]


class PermissionAsked(_Event, frozen=True):
    """The user is being asked; ``detail`` is the exact text that would run, or the diff."""

    id: str
    question: str
    title: str
    detail: str
    reason: str


class PermissionAnswered(_Event, frozen=True):
    """What the user said; ``unanswered`` (nobody did, in time) is as good as ``no``.

    ``beforehand`` and ``uncovered`` are of ``run --allow-commands``: yes for once, and no. With
    ``hunks``, only those of an edit that are named are applied.
    """

    id: str
    question: str
    answer: Said
    hunks: tuple[str, ...] = ()


class UsageReported(_Event, frozen=True):
    """Tokens and cost of one model call; ``total`` and ``total_cost`` of the turn so far."""

    round: int
    usage: Usage
    cost: float | None
    total: Usage
    total_cost: float | None


class Steered(_Event, frozen=True):
    """The user's words in the middle of a turn.

    Attributes:
        text: As typed.
        delivered: True: they are in the request that goes out now. False: they did not reach the
            model, and stand in the draft of ``TurnFinished``.
    """

    text: str
    delivered: bool


class Compacted(_Event, frozen=True):
    """Older parts of the conversation are shorter from the next request on.

    Attributes:
        layer: What was done, such as ``digest``, ``regions`` or ``slide``.
        before: Tokens of the prompt before.
        after: The same after it.
        note: More for the user; often empty.
    """

    layer: str
    before: int
    after: int
    note: str


class Notice(_Event, frozen=True):
    """Something the user should know; the turn goes on."""

    level: Literal["info", "warning", "error"]
    message: str


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits for the running turn."""

    id: str
    title: str
    text: str


class QueueChanged(_Event, frozen=True):
    """What waits now; ``held`` says why none of it begins, and is empty if it goes on."""

    seq: int
    held: str
    waiting: tuple[Queued, ...]


class TodoChanged(_Event, frozen=True):
    """The list of what is to be done, whole, after the model has changed it."""

    items: tuple[TodoItem, ...]


class FileChanged(msgspec.Struct, frozen=True, rename="camel"):
    """Lines added and removed in one file by a whole turn."""

    path: str
    added: int
    removed: int


class TurnFinished(_Event, frozen=True):
    """How the turn ended.

    Attributes:
        ending: Done, cancelled, failed, limit of rounds, the same call again and again, or a
            budget that the next call could pass.
        message: For the user, in plain words; when it is done only what no answer says, such as
            what the user's own ``/compact`` came to.
        answer: The model's last words.
        draft: The user's words, given back if they never reached the model; with those of the
            middle of the turn.
        usage: Tokens of all its calls; ``reported`` is false if any of them is an estimate.
        retryable: The endpoint could not be reached: the same words may go through later.
        outgrown: The conversation fits no request any more; a new session takes the task along.
        figures: Of the turn, under the names of ``context.measures``: OpenTelemetry's.
        verified: How its changes stand: by what they are verified, that they are not, or how many
            new errors stay; empty if it changed no file.
        to_review: Changes that wait for a verdict now, of all turns and sessions.
    """

    ending: Ending
    message: str
    answer: str
    draft: str
    rounds: int
    usage: Usage
    cost: float | None
    seconds: float
    changes: tuple[FileChanged, ...] = ()
    retryable: bool = False
    outgrown: bool = False
    figures: Mapping[str, Any] = {}
    to_review: int = 0
    verified: str = ""


Event: TypeAlias = (
    TurnStarted
    | Text
    | Thinking
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | EditApplied
    | Checking
    | HunksChanged
    | PermissionAsked
    | PermissionAnswered
    | UsageReported
    | Steered
    | Compacted
    | Notice
    | QueueChanged
    | TodoChanged
    | TurnFinished
)

Listener: TypeAlias = Callable[[Event], None]
