"""Record types that are shown in a session but not sent to the model, such as decisions (H61)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.context.plan import PlanState
from indwell.context.todo import TodoItem

DIFF_CHARACTERS = 100_000  # per call; the review ledger has the whole diff
FAILURE_CHARACTERS = 2_000  # per failed call; the result has the rest


class Titled(msgspec.Struct, frozen=True, tag="titled"):
    """The user's title for the session; empty removes the title. The newest record counts."""

    title: str
    at: str


class CallEnded(msgspec.Struct, frozen=True, tag="callEnded", omit_defaults=True):
    """A tool call ended: what was shown besides the result.

    Attributes:
        turn: The session's turn.
        tool_use_id: Id of the call.
        target: The file, command or other target.
        figure: A short count, such as ``+3 −1``.
        seconds: Duration.
        at: Time of the end.
        diff: Unified diff of its edits; a long one is cut after a whole line.
        tool: Name of the tool; empty in older logs, as are the two below.
        failed: Beginning of the error message; empty if the call succeeded.
        within: Id of the ``agent`` call whose sub-agent made this call; empty for the main agent.
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
    """The model's whole to-do list."""

    turn: int
    items: tuple[TodoItem, ...]
    at: str


class CommandSet(msgspec.Struct, frozen=True, tag="commandSet"):
    """The state of a background command as last reported to the model.

    Attributes:
        turn: The turn of the report.
        id: Such as ``b1``.
        command: The command's text.
        runs: Whether the command was reported as running.
        at: Time.
    """

    turn: int
    id: str
    command: str
    runs: bool
    at: str


class PlanSet(msgspec.Struct, frozen=True, tag="planSet"):
    """The current plan; the newest record counts.

    Attributes:
        turn: The turn in which the model proposed it, or after which the user answered.
        state: Such as ``proposed`` or ``approved``.
        text: The whole plan.
        at: Time.
        path: Path of the plan's document; empty if there is none.
    """

    turn: int
    state: PlanState
    text: str
    at: str
    path: str = ""


class FeatureState(msgspec.Struct, frozen=True, tag="featureState"):
    """The whole state of a feature without a record type of its own; the newest record counts.

    Attributes:
        turn: The turn in which the state changed.
        feature: The name of the feature.
        state: JSON in a format private to the feature.
        at: Time.
    """

    turn: int
    feature: str
    state: msgspec.Raw
    at: str


class Inherited(msgspec.Struct, frozen=True, tag="inherited"):
    """The first message of this session includes the task of another one, found in its log."""

    session: str
    at: str


Told: TypeAlias = Titled | CallEnded | TodoSet | PlanSet | CommandSet | FeatureState | Inherited


class FileLines(msgspec.Struct, frozen=True):
    """Lines added and removed in one file by a whole turn."""

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
        turn: The session's turn.
        tool_use_id: Id of the call.
        tool: Name of the tool.
        what: The command, or the paths.
        cwd: Working directory of a command.
        decision: The policy's decision.
        rule: The rule that decided.
        reason: Why the policy asks or denies.
        answer: The user's answer, if asked.
        widening: What the call may do beyond the sandbox, in words.
        sandbox: How an allowed command is sandboxed, in words.
        at: Time.
        agent: Name of the sub-agent that made the call; empty for the main agent.
        ending: How a check ended, as checks have no result; recorded at its end.
        within: Id of the ``agent`` call whose sub-agent made this call; empty for the main agent,
            and in older logs.
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
