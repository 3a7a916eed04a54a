"""The events of a turn, as a closed union: everything that a user interface needs.

Each event is a frozen struct; as JSON its ``type`` is the camel-cased class name. Times are in
seconds, costs in US dollars (None if the price is unknown), paths as shown to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.task_state import PlanState, TodoItem
from indwell.messages import Usage
from indwell.policy.approvals import Said
from indwell.sessions.records import Ending
from indwell.settings.model import Mode


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class _OfTurn(msgspec.Struct, frozen=True, tag_field="type", tag=_tag, rename="camel"):
    """Base with the number of the turn in its session, from 1."""

    turn: int


class OfAgent(_OfTurn, frozen=True, kw_only=True):
    """Base of all events.

    ``agent`` is the id of the call that started the sub-agent; empty for the main agent. A
    sub-agent emits only tools, edits, questions, usage and notices.
    """

    agent: str = ""


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits for the running turn."""

    id: str
    title: str
    text: str


class BackgroundCommand(msgspec.Struct, frozen=True, rename="camel"):
    """A background command.

    Attributes:
        id: Such as ``b1``; unique in the session.
        command: Its text.
        state: Whether it runs, has ended by itself, or was stopped.
        exit_code: The exit code once it has ended; negative for a signal.
        seconds: How long it has run.
        tail: The last lines of its output, for lists.
        path: The file of its output; empty if the output was not kept.
        by: Who stopped it, ``model`` or ``user``; empty if nobody did.
    """

    id: str
    command: str
    state: Literal["running", "ended", "stopped"]
    exit_code: int | None
    seconds: float
    tail: str
    path: str = ""
    by: str = ""


class FileChanged(msgspec.Struct, frozen=True, rename="camel"):
    """Lines added and removed in one file by a whole turn."""

    path: str
    added: int
    removed: int


class TurnStarted(OfAgent, frozen=True):
    """The turn has received the user's words; ``attached`` names what goes with them.

    ``mode`` is null only in events read back from an old log.
    """

    title: str
    words: str
    model: str
    attached: tuple[str, ...] = ()
    mode: Mode | None = "review"


class Attached(OfAgent, frozen=True):
    """Context that went to the model with a message; sent only when a session is read back.

    Attributes:
        source: Where it comes from, such as ``environment``.
        text: The whole text; the media type of a picture.
        label: The name of a picture; empty for text.
    """

    source: str
    text: str
    label: str = ""


class TextAdded(OfAgent, frozen=True, tag="text"):
    """More of the answer; with ``restart`` forget the shown text of this round."""

    text: str
    restart: bool = False


class ThinkingAdded(OfAgent, frozen=True, tag="thinking"):
    """More of the model's reasoning."""

    text: str


class PromptRead(OfAgent, frozen=True):
    """The share of the prompt that the endpoint has read, from 0 to 1; some endpoints report it."""

    share: float


class ToolStarted(OfAgent, frozen=True):
    """A call begins: ``name`` of the tool, ``target`` it works on.

    ``arguments`` is what the model wrote (JSON text); empty until a session is read back.
    """

    id: str
    name: str
    target: str
    arguments: str = ""


class ToolOutput(OfAgent, frozen=True):
    """A running command wrote something."""

    id: str
    text: str


class ToolFinished(OfAgent, frozen=True):
    """A call ended: ``figure`` such as ``+3 −1``, ``message`` if it failed or was refused.

    Attributes:
        seconds: How long it took; null only in events read back from an old log.
        result: What the model got; null until a session is read back. The results of one reply
            come together, so a call may have ended without a result in the log.
    """

    id: str
    name: str
    target: str
    is_error: bool
    figure: str
    seconds: float | None
    message: str = ""
    result: str | None = None


class EditApplied(OfAgent, frozen=True):
    """A file reads differently now; ``diff`` is unified and whole."""

    id: str
    path: str
    added: int
    removed: int
    diff: str
    created: bool
    verified: bool


class Checking(OfAgent, frozen=True):
    """A check of the project runs, such as ``mypy``, or a hook that takes long."""

    what: str


class HunksChanged(OfAgent, frozen=True):
    """The set of changes that await review has changed, after an edit or a verdict.

    Attributes:
        pending: Number of these changes, in all sessions of this workspace.
        files: Paths with such changes.
    """

    pending: int
    files: tuple[str, ...]


class PermissionAsked(OfAgent, frozen=True):
    """The user is asked; ``detail`` is the exact text that would run, or the diff."""

    id: str
    question: str
    title: str
    detail: str
    reason: str


class PermissionAnswered(OfAgent, frozen=True):
    """The user's answer; ``unanswered`` (nobody answered in time) has the effect of ``no``.

    ``beforehand`` and ``uncovered`` come from ``run --allow-commands``: a yes for once, and a no.
    With ``hunks``, only the named hunks of an edit are applied.
    """

    id: str
    question: str
    answer: Said
    hunks: tuple[str, ...] = ()


class QuestionAsked(OfAgent, frozen=True):
    """The model asks the user a question, which is never about a permission.

    Attributes:
        id: The id of the call that asks.
        question: The visible text of the question, at most 1,000 characters.
        options: The answers to choose from, a line each.
    """

    id: str
    question: str
    options: tuple[str, ...] = ()


class QuestionAnswered(OfAgent, frozen=True):
    """The question was answered or withdrawn.

    Attributes:
        id: The id of the call that asked.
        answer: The chosen option, or the line that was asked for; empty if there is none. The
            user's other words come as ``Steered``.
    """

    id: str
    answer: str


class UsageReported(OfAgent, frozen=True):
    """Tokens and cost of one model call; ``total`` and ``total_cost`` of the turn so far."""

    round: int
    usage: Usage
    cost: float | None
    total: Usage
    total_cost: float | None


class Steered(OfAgent, frozen=True):
    """The user's words to the running turn.

    Attributes:
        text: The words as typed.
        delivered: Whether they are in the request that goes out now. Otherwise they did not reach
            the model, and are in the draft of ``TurnFinished``.
    """

    text: str
    delivered: bool


class Compacted(OfAgent, frozen=True):
    """Older parts of the conversation are shorter from the next request on.

    Attributes:
        layer: What was done, such as ``digest``, ``regions`` or ``slide``.
        before: Tokens of the prompt before.
        after: Tokens of the prompt afterwards.
        note: More information for the user; often empty.
    """

    layer: str
    before: int
    after: int
    note: str


class Notice(OfAgent, frozen=True):
    """Something the user should know; the turn continues."""

    level: Literal["info", "warning", "error"]
    message: str


class QueueChanged(OfAgent, frozen=True):
    """The prompts that wait; ``held`` says why none of them begins, and is empty otherwise."""

    seq: int
    held: str
    waiting: tuple[Queued, ...]


class TodoChanged(OfAgent, frozen=True):
    """The whole to-do list, after the model has changed it."""

    items: tuple[TodoItem, ...]


class PlanChanged(OfAgent, frozen=True):
    """The model's plan or its state has changed.

    Attributes:
        state: The state of the plan.
        text: Markdown, as the model wrote it or the user edited it; empty if missing.
        path: The document in which the user may edit it; empty if missing.
    """

    state: PlanState
    text: str
    path: str = ""


class CommandsChanged(OfAgent, frozen=True):
    """All background commands of the session, after one began, ended or was stopped."""

    commands: tuple[BackgroundCommand, ...]


class TurnFinished(OfAgent, frozen=True):
    """How the turn ended.

    Attributes:
        ending: Done, cancelled, failed, limit of rounds, repeated calls, or a budget that the next
            call could exceed.
        message: Plain words for the user. For a finished turn, only text that is not in the answer,
            such as the result of the user's own ``/compact``.
        answer: The model's last words.
        draft: The user's words that never reached the model, with words to the running turn.
        usage: Tokens of all its calls; ``reported`` is false if any of them is an estimate.
        retryable: Whether the endpoint could not be reached, so that the same words may succeed
            later.
        outgrown: Whether no request can hold the conversation; a new session continues the task.
        figures: Figures of the turn, named as in ``context.request.cache_health`` (OpenTelemetry).
        verified: How the changes are verified, that they are not, or how many new errors remain;
            empty if the turn changed no file.
        to_review: Number of changes that await review now, of all turns and sessions.
        seconds: How long it took; null only in events read back from an old log.
    """

    ending: Ending
    message: str
    answer: str
    draft: str
    rounds: int
    usage: Usage
    cost: float | None
    seconds: float | None
    changes: tuple[FileChanged, ...] = ()
    retryable: bool = False
    outgrown: bool = False
    figures: Mapping[str, Any] = {}
    to_review: int = 0
    verified: str = ""


Event: TypeAlias = (
    TurnStarted
    | Attached
    | TextAdded
    | ThinkingAdded
    | PromptRead
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | EditApplied
    | Checking
    | HunksChanged
    | PermissionAsked
    | PermissionAnswered
    | QuestionAsked
    | QuestionAnswered
    | UsageReported
    | Steered
    | Compacted
    | Notice
    | QueueChanged
    | TodoChanged
    | PlanChanged
    | CommandsChanged
    | TurnFinished
)

Listener: TypeAlias = Callable[[Event], None]


def usage_words(usage: Usage) -> str:
    """Tokens in, cached, out and thought; marked as estimated if the endpoint did not count."""
    estimated = "" if usage.reported else ", estimated"
    thinking = f" (about {usage.thinking:,} thinking)" if usage.thinking else ""
    tokens = f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out{thinking}"
    return f"{tokens}{estimated}"


def prompt_read_words(share: float) -> str:
    """The progress of the endpoint in reading the prompt, in words."""
    return f"reading the prompt, {share:.0%}".replace("%", " %")


def compaction_words(before: int, after: int, note: str) -> str:
    """The effect of a compaction, in words."""
    more = f"; {note}" if note else ""
    return f"earlier parts were shortened: {before:,} → {after:,} tokens{more}"


def to_review_words(number: int) -> str:
    """The number of changes that await review, in words."""
    return "1 change to review" if number == 1 else f"{number:,} changes to review"
