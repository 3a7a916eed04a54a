"""Defines the events of a turn, as a closed union that contains all that a client shows.

Each event is a frozen struct; as JSON its ``type`` is the camel-cased class name. Times are in
seconds, and paths are as shown to the user. Costs are in US dollars, None if the price is unknown.
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
    """The base class of events in a turn; ``turn`` is the turn's number in the session, from 1."""

    turn: int


class OfAgent(_OfTurn, frozen=True, kw_only=True):
    """The base class of all events that a sub-agent may emit.

    ``agent`` is the id of the tool call that started the sub-agent, or empty for the main agent. A
    sub-agent emits only events about tools, edits, questions, usage and notices.
    """

    agent: str = ""


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A queued prompt that is sent after the running turn."""

    id: str
    title: str
    text: str


class BackgroundCommand(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a background command.

    Attributes:
        id: The command's id, such as ``b1``; unique in the session.
        command: The command's text.
        state: Whether the command is running, has ended by itself, or was stopped.
        exit_code: The exit code once the command has ended; negative for a signal.
        seconds: How long the command has run.
        tail: The last lines of the output, for lists.
        path: The file with the output, or empty if the output was not kept.
        by: Who stopped the command, ``model`` or ``user``, or empty if it ended by itself.
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
    """The number of lines that a whole turn added and removed in one file."""

    path: str
    added: int
    removed: int


class TurnStarted(OfAgent, frozen=True):
    """A turn has begun with the user's prompt; ``attached`` names the attachments.

    ``mode`` is null only in events read back from an old log.
    """

    title: str
    words: str
    model: str
    attached: tuple[str, ...] = ()
    mode: Mode | None = "review"


class Attached(OfAgent, frozen=True):
    """Context that was sent with a message; emitted only when a session is read from disk.

    Attributes:
        source: The source of the context, such as ``environment``.
        text: The whole text; for a picture, only the media type, such as ``image/png``.
        label: The name of a picture, or empty for text.
    """

    source: str
    text: str
    label: str = ""


class TextAdded(OfAgent, frozen=True, tag="text"):
    """More text of the answer was received; ``restart`` removes this round's earlier text."""

    text: str
    restart: bool = False


class ThinkingAdded(OfAgent, frozen=True, tag="thinking"):
    """More text of the model's reasoning was received."""

    text: str


class PromptRead(OfAgent, frozen=True):
    """The endpoint has processed a share of the prompt, from 0 to 1; few endpoints say so."""

    share: float


class ToolStarted(OfAgent, frozen=True):
    """A tool call begins: ``name`` is the tool, and ``target`` is the tool's file or text.

    ``arguments`` is the JSON text that the model wrote. The field is set only when a session is
    read from disk.
    """

    id: str
    name: str
    target: str
    arguments: str = ""


class ToolOutput(OfAgent, frozen=True):
    """A running command has written output."""

    id: str
    text: str


class ToolFinished(OfAgent, frozen=True):
    """A tool call ended: ``figure`` is a count (``+3 −1``), ``message`` an error or refusal.

    Attributes:
        seconds: How long the call took; null only in events of an old log.
        result: The result for the model; set only when a session is read from disk. The log stores
            the results of one reply together, so the result of a call may be missing.
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
    """The text of a file has changed; ``diff`` is the complete unified diff."""

    id: str
    path: str
    added: int
    removed: int
    diff: str
    created: bool
    verified: bool


class Checking(OfAgent, frozen=True):
    """A check of the project such as ``mypy``, or a slow hook, has started."""

    what: str


class HunksChanged(OfAgent, frozen=True):
    """The set of changes that await review has changed, after an edit or a verdict.

    Attributes:
        pending: The number of changes that await review, in all sessions of this workspace.
        files: The paths of files with changes that await review.
    """

    pending: int
    files: tuple[str, ...]


class PermissionAsked(OfAgent, frozen=True):
    """The user is asked for permission; ``detail`` is the exact command or diff."""

    id: str
    question: str
    title: str
    detail: str
    reason: str


class PermissionAnswered(OfAgent, frozen=True):
    """The user's answer about a permission; ``unanswered`` (no answer in time) means ``no``.

    The answers ``beforehand`` (yes, once) and ``uncovered`` (no) come from ``run
    --allow-commands``. With ``hunks``, only the named hunks of an edit are applied.
    """

    id: str
    question: str
    answer: Said
    hunks: tuple[str, ...] = ()


class QuestionAsked(OfAgent, frozen=True):
    """The model asks the user a question. Questions about permissions have a separate event.

    Attributes:
        id: The id of the tool call that asks the question.
        question: The visible text of the question, at most 1,000 characters.
        options: The answers to choose from, one line each.
    """

    id: str
    question: str
    options: tuple[str, ...] = ()


class QuestionAnswered(OfAgent, frozen=True):
    """The question was answered or withdrawn.

    Attributes:
        id: The id of the tool call that asked the question.
        answer: The chosen option, or the typed line if the question asked for a line. Any other
            answer is reported as ``Steered``, and this field is empty.
    """

    id: str
    answer: str


class UsageReported(OfAgent, frozen=True):
    """The tokens and cost of one model call; ``total`` and ``total_cost`` cover the turn so far."""

    round: int
    usage: Usage
    cost: float | None
    total: Usage
    total_cost: float | None


class Steered(OfAgent, frozen=True):
    """The user has sent a message to the running turn.

    Attributes:
        text: The message as typed.
        delivered: Whether the next request contains the message. A message that did not reach the
            model is in the draft of ``TurnFinished``.
    """

    text: str
    delivered: bool


class Compacted(OfAgent, frozen=True):
    """Older parts of the conversation are shorter from the next request on.

    Attributes:
        layer: The method of compaction, such as ``digest``, ``regions`` or ``slide``.
        before: The number of tokens in the prompt before the compaction.
        after: The number of tokens in the prompt afterwards.
        note: More information for the user; often empty.
    """

    layer: str
    before: int
    after: int
    note: str


class Notice(OfAgent, frozen=True):
    """A message for the user, such as a warning; the turn continues."""

    level: Literal["info", "warning", "error"]
    message: str


class QueueChanged(OfAgent, frozen=True):
    """The queued prompts have changed; ``held`` is the reason why no prompt begins, or empty."""

    seq: int
    held: str
    waiting: tuple[Queued, ...]


class TodoChanged(OfAgent, frozen=True):
    """The model has changed the to-do list; the event contains the whole list."""

    items: tuple[TodoItem, ...]


class PlanChanged(OfAgent, frozen=True):
    """The model's plan or its state has changed.

    Attributes:
        state: The state of the plan.
        text: The plan in Markdown, perhaps with the user's edits, or empty if there is no plan.
        path: The document in which the user may edit the plan, or empty if there is no document.
    """

    state: PlanState
    text: str
    path: str = ""


class TaskRow(msgspec.Struct, frozen=True, rename="camel"):
    """A task of the workspace, without its text.

    Attributes:
        id: The name of the task, such as ``t3``.
        title: One line for people.
        state: How far the task is; ``waiting``: the task starts as soon as it can.
        after: The tasks that must be done before this task.
        waits_for: The tasks of ``after`` that are not done yet.
        session: The session that works on the task, or empty if the task has not run.
        ending: How the task's session ended, in words for the user, or empty if the task is done.
    """

    id: str
    title: str
    state: Literal["open", "waiting", "running", "done", "failed", "stopped"]
    after: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    session: str = ""
    ending: str = ""


class TasksChanged(OfAgent, frozen=True):
    """The tasks of the workspace have changed; the event has all tasks."""

    tasks: tuple[TaskRow, ...]


class CommandsChanged(OfAgent, frozen=True):
    """A background command began, ended or was stopped; the event lists all commands."""

    commands: tuple[BackgroundCommand, ...]


Remedy: TypeAlias = Literal["", "key", "model"]


class TurnFinished(OfAgent, frozen=True):
    """A turn has ended.

    Attributes:
        ending: How the turn ended: done, cancelled, failed, or stopped by a limit of rounds, by
            repeated calls or by a budget.
        message: A message for the user. A turn that is done has a message only for text that is not
            in the answer, such as the result of ``/compact``.
        answer: The model's last text.
        draft: The user's text that never reached the model, including messages to the running turn.
        usage: The tokens of all model calls of the turn; ``reported`` is false if a number is an
            estimate.
        retryable: Whether the endpoint could not be reached, so that the same prompt may succeed
            later.
        outgrown: Whether no request can hold the conversation; a new session continues the task.
        remedy: What the user can change so that the same prompt succeeds: the key or the model, or
            empty if neither helps.
        figures: Numbers about the turn, under the names of ``context.request.cache_health``
            (OpenTelemetry).
        verified: How the changes are verified, that no check verified the changes, or how many new
            errors remain, or empty if the turn changed no file.
        to_review: The number of changes that await review now, of all turns and sessions.
        seconds: How long the turn took; null only in events of an old log.
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
    remedy: Remedy = ""
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
    | TasksChanged
    | CommandsChanged
    | TurnFinished
)

Listener: TypeAlias = Callable[[Event], None]


def usage_words(usage: Usage) -> str:
    """Return a phrase with the tokens of input, cache, output and reasoning."""
    estimated = "" if usage.reported else ", estimated"
    thinking = f" (about {usage.thinking:,} thinking)" if usage.thinking else ""
    tokens = f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out{thinking}"
    return f"{tokens}{estimated}"


def prompt_read_words(share: float) -> str:
    """Return a sentence on how much of the prompt the endpoint has read."""
    return f"reading the prompt, {share:.0%}".replace("%", " %")


def compaction_words(before: int, after: int, note: str) -> str:
    """Return a sentence on how much a compaction saved."""
    more = f"; {note}" if note else ""
    return f"earlier parts were shortened: {before:,} → {after:,} tokens{more}"


def to_review_words(number: int) -> str:
    """Return a sentence with the number of changes that await review."""
    return "1 change to review" if number == 1 else f"{number:,} changes to review"
