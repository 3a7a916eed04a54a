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
    """Base of events of one turn. ``turn`` is the turn's number in the session, from 1."""

    turn: int


class OfAgent(_OfTurn, frozen=True, kw_only=True):
    """Base of all events.

    ``agent`` is the id of the tool call that started the sub-agent; empty for the main agent. A
    sub-agent emits only events about tools, edits, questions, usage and notices.
    """

    agent: str = ""


class Queued(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits for the running turn."""

    id: str
    title: str
    text: str


class BackgroundCommand(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a background command.

    Attributes:
        id: The command's id, such as ``b1``; unique in the session.
        command: The command's text.
        state: Whether the command runs, has ended by itself, or was stopped.
        exit_code: The exit code once the command has ended; negative for a signal.
        seconds: How long the command has run.
        tail: The last lines of the output, for lists.
        path: The file with the output; empty if the output was not kept.
        by: Who stopped the command, ``model`` or ``user``; empty if it ended by itself.
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
    """The turn has received the user's words; ``attached`` names the things sent with the words.

    ``mode`` is null only in events read back from an old log.
    """

    title: str
    words: str
    model: str
    attached: tuple[str, ...] = ()
    mode: Mode | None = "review"


class Attached(OfAgent, frozen=True):
    """Context that the model got with a message; emitted only when a session is read from disk.

    Attributes:
        source: The source of the context, such as ``environment``.
        text: The whole text; the media type of a picture.
        label: The name of a picture; empty for text.
    """

    source: str
    text: str
    label: str = ""


class TextAdded(OfAgent, frozen=True, tag="text"):
    """More text of the answer; with ``restart``, clients remove this round's earlier text."""

    text: str
    restart: bool = False


class ThinkingAdded(OfAgent, frozen=True, tag="thinking"):
    """More text of the model's reasoning."""

    text: str


class PromptRead(OfAgent, frozen=True):
    """The share of the prompt that the endpoint has read, from 0 to 1; few endpoints report it."""

    share: float


class ToolStarted(OfAgent, frozen=True):
    """A tool call begins; ``name`` is the tool, ``target`` the file or text that the tool works on.

    ``arguments`` is the JSON text that the model wrote. It is set only when a session is read from
    disk.
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
    """A tool call ended; ``figure`` is a count such as ``+3 −1``, ``message`` an error or refusal.

    Attributes:
        seconds: How long the call took; null only in events of an old log.
        result: The result for the model; set only when a session is read from disk. The log gets
            the results of one reply together, so the result of an ended call may be missing.
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
    """A check of the project, such as ``mypy``, or a slow hook has started."""

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
    """The user's answer; ``unanswered`` (no answer in time) has the effect of ``no``.

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
        answer: The chosen option, or the typed line if the question asked for a line; otherwise
            empty. Other words of the user come as ``Steered``.
    """

    id: str
    answer: str


class UsageReported(OfAgent, frozen=True):
    """Tokens and cost of one model call; ``total`` and ``total_cost`` are the turn's so far."""

    round: int
    usage: Usage
    cost: float | None
    total: Usage
    total_cost: float | None


class Steered(OfAgent, frozen=True):
    """The user's words to the running turn.

    Attributes:
        text: The words as typed.
        delivered: Whether the words are in the request that goes out now. Words that did not reach
            the model are in the draft of ``TurnFinished``.
    """

    text: str
    delivered: bool


class Compacted(OfAgent, frozen=True):
    """Older parts of the conversation are shorter from the next request on.

    Attributes:
        layer: The method of compaction, such as ``digest``, ``regions`` or ``slide``.
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
    """The waiting prompts have changed; ``held`` says why no prompt begins, or is empty."""

    seq: int
    held: str
    waiting: tuple[Queued, ...]


class TodoChanged(OfAgent, frozen=True):
    """The model has changed the to-do list; the event has the whole list."""

    items: tuple[TodoItem, ...]


class PlanChanged(OfAgent, frozen=True):
    """The model's plan or its state has changed.

    Attributes:
        state: The state of the plan.
        text: Markdown, by the model or with the user's edits; empty without a plan.
        path: The document in which the user may edit the plan; empty without a document.
    """

    state: PlanState
    text: str
    path: str = ""


class CommandsChanged(OfAgent, frozen=True):
    """All background commands of the session, after a command began, ended or was stopped."""

    commands: tuple[BackgroundCommand, ...]


Remedy: TypeAlias = Literal["", "key", "model"]


class TurnFinished(OfAgent, frozen=True):
    """How the turn ended.

    Attributes:
        ending: Done, cancelled, failed, limit of rounds, repeated calls, or a budget that the next
            call could exceed.
        message: Plain words for the user. A finished turn has a message only for text that is not
            in the answer, such as the result of ``/compact``.
        answer: The model's last words.
        draft: The user's words that never reached the model, including words to the running turn.
        usage: Tokens of all model calls of the turn; ``reported`` is false if one of the numbers is
        an estimate.
        retryable: Whether the endpoint could not be reached, so that the same words may succeed
            later.
        outgrown: Whether no request can hold the conversation; a new session continues the task.
        remedy: What the user can change so that the same words succeed: the key, or the model;
            empty if neither helps.
        figures: Numbers about the turn, under the names of ``context.request.cache_health``
        (OpenTelemetry).
        verified: How the changes are verified, that no check verified the changes, or how many new
            errors remain; empty if the turn changed no file.
        to_review: Number of changes that await review now, of all turns and sessions.
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
    | CommandsChanged
    | TurnFinished
)

Listener: TypeAlias = Callable[[Event], None]


def usage_words(usage: Usage) -> str:
    """A phrase with the tokens of input, cache, output and reasoning, marked if estimated."""
    estimated = "" if usage.reported else ", estimated"
    thinking = f" (about {usage.thinking:,} thinking)" if usage.thinking else ""
    tokens = f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out{thinking}"
    return f"{tokens}{estimated}"


def prompt_read_words(share: float) -> str:
    """A sentence on how much of the prompt the endpoint has read."""
    return f"reading the prompt, {share:.0%}".replace("%", " %")


def compaction_words(before: int, after: int, note: str) -> str:
    """A sentence on the effect of a compaction."""
    more = f"; {note}" if note else ""
    return f"earlier parts were shortened: {before:,} → {after:,} tokens{more}"


def to_review_words(number: int) -> str:
    """A sentence with the number of changes that await review."""
    return "1 change to review" if number == 1 else f"{number:,} changes to review"
