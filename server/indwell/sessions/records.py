"""The record types of a session's log, one JSON record per line.

Some records are only shown, never sent to the model, such as decisions (H61). Pure: times are text
(ISO 8601, UTC).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec

from indwell.context.history import MessageSplice
from indwell.context.task_state import PlanState, TodoItem
from indwell.messages import (
    Anchors,
    CacheLife,
    Effort,
    Message,
    ToolChoice,
    ToolSpec,
    Usage,
    Verbosity,
)
from indwell.settings.model import Mode

Ending: TypeAlias = Literal[
    "done", "cancelled", "failed", "limit", "repeated", "budget", "interrupted"
]
"""How a turn ended; ``interrupted``: Indwell ended first, for example at a window's reload."""
ENDED = "Indwell ended while this turn ran; `/continue` continues it"
ENDED_BEFORE = "Indwell ended while this turn ran"  # Older logs record this message as a failure.
Purpose: TypeAlias = Literal["work", "summary"]
# The note in the log of an imported conversation begins with this text.
IMPORTED = "imported from "
# A log keeps this many characters of a diff per call; the review ledger has the whole diff.
DIFF_CHARACTERS = 100_000
# A log keeps this many characters of an error message per call; the result has the whole message.
FAILURE_CHARACTERS = 2_000


class Titled(msgspec.Struct, frozen=True, tag="titled"):
    """The user's title for the session; empty to remove the title. The newest record is used."""

    title: str
    at: str


class CallEnded(msgspec.Struct, frozen=True, tag="callEnded", omit_defaults=True):
    """A tool call ended; the record has what clients show, except the result.

    Attributes:
        turn: The session's turn.
        tool_use_id: Id of the call.
        target: The file, command or other target.
        figure: A short count, such as ``+3 −1``.
        seconds: Duration.
        at: Time of the end.
        diff: Unified diff of the call's edits; a long diff is cut after a whole line.
        tool: Name of the tool, or empty in older logs, like ``failed`` and ``within``.
        failed: Beginning of the error message, or empty if the call succeeded.
        within: Id of the ``agent`` call whose sub-agent made this call, otherwise empty.
    """

    turn: int
    tool_use_id: str
    target: str
    figure: str
    seconds: float
    at: str
    diff: str = ""
    tool: str = ""
    failed: str = ""
    within: str = ""


class TodoSet(msgspec.Struct, frozen=True, tag="todoSet"):
    """The model's to-do list as a whole."""

    turn: int
    items: tuple[TodoItem, ...]
    at: str


class CommandSet(msgspec.Struct, frozen=True, tag="commandSet"):
    """The state of a background command as last reported to the model.

    Attributes:
        turn: The turn of the report.
        id: The command's id, such as ``b1``.
        command: The command's text.
        runs: Whether the command was reported as running.
        at: Time of the report.
    """

    turn: int
    id: str
    command: str
    runs: bool
    at: str


class PlanSet(msgspec.Struct, frozen=True, tag="planSet"):
    """The current plan; the newest record is used.

    Attributes:
        turn: The turn in which the model proposed the plan, or after which the user answered.
        state: The state of the plan, such as ``proposed`` or ``approved``.
        text: The whole plan.
        at: Time of the record.
        path: Path of the plan's document, or empty if missing.
    """

    turn: int
    state: PlanState
    text: str
    at: str
    path: str = ""


class FeatureState(msgspec.Struct, frozen=True, tag="featureState"):
    """The whole state of a feature without its own record type; the newest record is used.

    Attributes:
        turn: The turn in which the state changed.
        feature: The name of the feature.
        state: JSON in a format private to the feature.
        at: Time of the record.
    """

    turn: int
    feature: str
    state: msgspec.Raw
    at: str


class Inherited(msgspec.Struct, frozen=True, tag="inherited"):
    """A record that the first message of this session includes another session's task."""

    session: str
    at: str


Told: TypeAlias = Titled | CallEnded | TodoSet | PlanSet | CommandSet | FeatureState | Inherited


class FileLines(msgspec.Struct, frozen=True):
    """The number of lines that a whole turn added and removed in one file."""

    path: str
    added: int
    removed: int


def kept_diff(diff: str) -> str:
    """Cut a diff to the size a log keeps, after a whole line."""
    if len(diff) <= DIFF_CHARACTERS:
        return diff
    return diff[: diff.rfind("\n", 0, DIFF_CHARACTERS) + 1]


def kept_failure(text: str) -> str:
    """Cut an error message to the size a log keeps; never empty."""
    return text[:FAILURE_CHARACTERS].strip() or "failed"


Verdict: TypeAlias = Literal["allow", "ask", "deny"]


class Decided(msgspec.Struct, frozen=True, tag="decided", omit_defaults=True):
    """The permission decision on a tool call; allowed reads are not recorded.

    Attributes:
        what: The command, or the paths.
        cwd: Working directory of a command.
        decision: The policy's decision.
        rule: The name of the rule that decided.
        reason: The reason for the policy's question or denial.
        answer: The user's answer, if asked.
        widening: The call's access beyond the sandbox, in words.
        sandbox: The sandbox of an allowed command, in words.
        agent: Name of the sub-agent that made the call, or empty for the main agent.
        ending: The ending of a check, because checks have no result; recorded when the check ends.
        within: Id of the ``agent`` call whose sub-agent made this call, or empty for the main
            agent, and in older logs.
    """

    turn: int
    tool_use_id: str
    tool: str
    what: str
    decision: Verdict
    at: str
    cwd: str = ""
    rule: str = ""
    reason: str = ""
    answer: str = ""
    widening: str = ""
    sandbox: str = ""
    ending: str = ""
    agent: str = ""
    within: str = ""


class SessionStarted(msgspec.Struct, frozen=True, tag="sessionStarted"):
    """The first record, which identifies the session."""

    session: str
    workspace: str
    model: str
    at: str
    format: Annotated[int, msgspec.Meta(ge=1)] = 1


class Prefixed(msgspec.Struct, frozen=True, tag="prefixed"):
    """The prefix of every request, recorded so that a resumed session sends the same bytes (H13).

    Attributes:
        system: The text of each system block.
        tools: A digest of the tools' schemas.
        at: The time from which on the prefix is used; the newest record is used.
        specs: The tools in full, or empty in older logs.
    """

    system: tuple[str, ...]
    tools: str
    at: str
    specs: tuple[ToolSpec, ...] = ()


def prefixed(system: tuple[str, ...], specs: tuple[ToolSpec, ...], at: str) -> Prefixed:
    """Create the record of a prefix, with the digest of its tools."""
    return Prefixed(system, tools_digest(specs), at, specs)


def tools_digest(tools: Iterable[ToolSpec]) -> str:
    """Return the digest of the tools' bytes in a request."""
    return hashlib.blake2b(msgspec.json.encode(tuple(tools)), digest_size=16).hexdigest()


class TurnStartRecord(msgspec.Struct, frozen=True, tag="turnStarted", omit_defaults=True):
    """The beginning of a turn, with the user's message as typed.

    Attributes:
        turn: The session's turn.
        words: The message of the user, or of a code action.
        at: Time of the record.
        title: A short title for lists, or empty in older logs, like ``attached`` and ``mode``.
        attached: The attachments, each as a short text.
        mode: The mode when the turn began.
    """

    turn: int
    words: str
    at: str
    title: str = ""
    attached: tuple[str, ...] = ()
    mode: Mode | None = None


class SteeringRecord(msgspec.Struct, frozen=True, tag="steered"):
    """A message that the user sent during a turn, as typed; on disk before delivery.

    After delivery, a ``MessageRecord`` has the message, too. An undelivered message is in
    ``TurnEndRecord.words``.
    """

    turn: int
    words: str
    at: str


class MessageRecord(msgspec.Struct, frozen=True, tag="said"):
    """Blocks added to the conversation; consecutive records of one role form one message."""

    message: Message
    at: str


class Intent(msgspec.Struct, frozen=True, tag="intent"):
    """A record that a write, edit or command is about to begin; on disk before that (H59)."""

    turn: int
    tool_use_id: str
    tool: str
    arguments: str
    at: str


class RequestRecord(msgspec.Struct, frozen=True, tag="sent"):
    """A request as sent. With the records before it, the request can be rebuilt.

    Attributes:
        number: Number of the request in the session, 1-based.
        model: The endpoint's name of the model.
        max_output: Most tokens of the reply.
        tool_choice, cache_key, effort, verbosity, cache_life: See ``messages.Request``.
        window: The model's context window in tokens, input and output.
        tail: Messages that are not in the log yet; a ``MessageRecord`` adds these once there is an
            answer.
        anchors: Positions of the cache anchors.
        pictures: Whether the model accepts pictures; if not, text replaced them.
        alone: The system prompt of a request outside the conversation, such as a summary by the
            small model: ``tail`` is the whole request, without tools. With None, the request
            continues the conversation in the log.
        tokens: Estimated size in tokens, or 0 in older logs.
        purpose: Whether the request is for the task itself, or for a summary.
    """

    turn: int
    number: int
    model: str
    max_output: int
    tool_choice: ToolChoice
    cache_key: str
    window: int
    tail: tuple[Message, ...]
    anchors: Anchors
    pictures: bool
    at: str
    alone: tuple[str, ...] | None = None
    tokens: int = 0
    purpose: Purpose = "work"
    effort: Effort = ""
    verbosity: Verbosity = ""
    cache_life: CacheLife = ""


class Wire(msgspec.Struct, frozen=True, tag="wire"):
    """One attempt to send a request.

    Attributes:
        number: Number of the preceding ``RequestRecord``.
        dialect: JSON of ``providers.wires.dialect.Dialect``.
        digest: Digest of the body's bytes, or empty if Indwell did not build the body.
        at: Time of the record.
    """

    number: int
    dialect: str
    digest: str
    at: str


class Spent(msgspec.Struct, frozen=True, tag="spent"):
    """Tokens and cost (US dollars, None if unknown) of one model call.

    ``expected`` is the number of prompt tokens that a cache should have served, in the endpoint's
    count. ``agent`` is the sub-agent that made the call, or empty for the main agent. ``stands_in``
    is true if the model replaced the session's model, which did not answer.
    """

    turn: int
    model: str
    usage: Usage
    cost: float | None
    at: str
    expected: int = 0
    agent: str = ""
    stands_in: bool = False

    @property
    def is_own(self) -> bool:
        """Return whether the session's own model was called, not a sub-agent's or a fallback."""
        return not (self.agent or self.stands_in)


class CompactionRecord(msgspec.Struct, frozen=True, tag="compacted"):
    """A compaction of the conversation, complete or partial.

    Attributes:
        turn: The number of the turn, or 0 between turns.
        layer: Name of the compaction layer.
        splices: The replaced messages; indices count before any splice is applied.
        before: Tokens of the whole prompt before the compaction.
        after: Tokens of the whole prompt after the compaction.
        spills: Files in the session's spill folder that hold all removed text.
        at: Time of the record.
        live: Number of messages before the compaction, or 0 if unknown.
        note: The message shown to the user.
    """

    turn: int
    layer: str
    splices: tuple[MessageSplice, ...]
    before: int
    after: int
    spills: tuple[str, ...]
    at: str
    live: int = 0
    note: str = ""


class Repaired(msgspec.Struct, frozen=True, tag="repaired", omit_defaults=True):
    """A repair of the log or conversation, such as a call without a result or a torn line.

    Attributes:
        what: A description of the repair.
        at: Time of the record.
        splices: The replaced messages, if any.
        live: Number of messages before the repair, or 0 if unknown.
    """

    what: str
    at: str
    splices: tuple[MessageSplice, ...] = ()
    live: int = 0


class TurnEndRecord(msgspec.Struct, frozen=True, tag="turnFinished"):
    """The end of a turn. ``words`` has the user's messages that never reached the model.

    ``seconds`` (None if unknown) and ``changes`` are as shown when the turn ended. ``outgrown``
    says that the conversation no longer fitted into a request.
    """

    turn: int
    ending: Ending
    at: str
    message: str = ""
    words: str = ""
    seconds: float | None = None
    changes: tuple[FileLines, ...] = ()
    outgrown: bool = False


def was_interrupted(record: TurnEndRecord) -> bool:
    """Return whether Indwell exited during the turn; older logs record that as a failure."""
    is_old = record.ending == "failed" and record.message == ENDED_BEFORE
    return is_old or record.ending == "interrupted"


class Rewound(msgspec.Struct, frozen=True, tag="rewound"):
    """A rewind: the conversation continues from an earlier turn, without the later turns.

    The rewind only concerns the conversation; files do not change.

    Attributes:
        turn: The last turn kept, or 0 if no turn is kept.
        model: The model used in that turn, or empty if unknown.
        at: Time of the record.
    """

    turn: int
    model: str
    at: str


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    """The preceding records are copies from another session, which has paid for their calls.

    The log has this record twice: after the log's first line, and, with ``whole`` set, after the
    copies.

    Attributes:
        session: The original session.
        turn: The last turn copied.
        model: The model used in that turn, or empty if unknown.
        at: Time of the record.
        spills: The sessions whose spill folders the copied texts name.
        whole: Whether all records have been copied.
    """

    session: str
    turn: int
    model: str
    at: str
    spills: tuple[str, ...]
    whole: bool


Record: TypeAlias = (
    SessionStarted
    | Prefixed
    | TurnStartRecord
    | SteeringRecord
    | MessageRecord
    | Intent
    | Decided
    | RequestRecord
    | Wire
    | Spent
    | CompactionRecord
    | Repaired
    | TurnEndRecord
    | Rewound
    | Forked
    | Told
)


def repairs(
    notes: Sequence[str], splices: tuple[MessageSplice, ...], live: int, *, at: str
) -> tuple[Repaired, ...]:
    """Build the records of one repair: one record for each note, the first with the splices."""
    first = notes[0] if notes else "repaired as before"
    head = Repaired(first, at, splices, live if splices else 0)
    return (head, *(Repaired(note, at) for note in notes[1:])) if notes or splices else ()
