"""Records that no request needs: decisions, and what a page of a session also shows (H61)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.context.plan import PlanState
from indwell.context.todo import TodoItem

DIFF_CHARACTERS = 100_000  # of one call; more is in the review ledger, and nobody reads it in a log
FAILURE_CHARACTERS = 2_000  # of why a call failed; its result has the rest


class Titled(msgspec.Struct, frozen=True, tag="titled"):
    """The user's title for the session; an empty one takes it away. The newest one counts."""

    title: str
    at: str


class CallEnded(msgspec.Struct, frozen=True, tag="callEnded", omit_defaults=True):
    """What was told of a call when it ended, besides its result.

    Attributes:
        turn: Of the session.
        tool_use_id: Of the call.
        target: What it worked on.
        figure: Such as ``+3 −1``.
        seconds: That it took.
        at: When it ended.
        diff: Of its edits, unified; cut behind a whole line if it is long.
        tool: Its name; empty in logs of before, as are the two below.
        failed: How the words of its failure begin; empty if it did not fail.
        within: The id of the ``agent`` call whose sub-agent made it; empty for the main one.
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
    """The list of what is to be done, whole, as the model has written it."""

    turn: int
    items: tuple[TodoItem, ...]
    at: str


class CommandSet(msgspec.Struct, frozen=True, tag="commandSet"):
    """What the model knows of a background command: that it runs, or that it has ended.

    Attributes:
        turn: In which it was told.
        id: Such as ``b1``.
        command: Its text.
        runs: As it was told.
        at: When.
    """

    turn: int
    id: str
    command: str
    runs: bool
    at: str


class PlanSet(msgspec.Struct, frozen=True, tag="planSet"):
    """The plan as it stands now; the newest one counts.

    Attributes:
        turn: In which the model proposed it, or after which the user said something of it.
        state: Where it stands.
        text: All of it.
        at: When.
        path: Of its document; empty if it has none.
    """

    turn: int
    state: PlanState
    text: str
    at: str
    path: str = ""


class FeatureState(msgspec.Struct, frozen=True, tag="featureState"):
    """The whole state of a feature that has no record of its own; the newest one counts.

    Attributes:
        turn: In which the state changed.
        feature: The name of the feature.
        state: JSON; only the feature knows its shape.
        at: When.
    """

    turn: int
    feature: str
    state: msgspec.Raw
    at: str


class Inherited(msgspec.Struct, frozen=True, tag="inherited"):
    """The first words of this session go with the task of another one, which stands in its log."""

    session: str
    at: str


Told: TypeAlias = Titled | CallEnded | TodoSet | PlanSet | CommandSet | FeatureState | Inherited


class FileLines(msgspec.Struct, frozen=True):
    """Lines added and removed in one file by a whole turn."""

    path: str
    added: int
    removed: int


def kept_diff(diff: str) -> str:
    """As much of a diff as a log keeps: whole lines."""
    if len(diff) <= DIFF_CHARACTERS:
        return diff
    return diff[: diff.rfind("\n", 0, DIFF_CHARACTERS) + 1]


def kept_failure(text: str) -> str:
    """As much of a failure as a log keeps beside the result; never empty."""
    return text[:FAILURE_CHARACTERS].strip() or "failed"


Verdict: TypeAlias = Literal["allow", "ask", "deny"]


class Decided(msgspec.Struct, frozen=True, tag="decided", omit_defaults=True):
    """Whether a call may run, by which rule, and what the user said; reads that may are left out.

    Attributes:
        turn: Of the session.
        tool_use_id: Of the call.
        tool: Its name.
        what: The command, or the paths.
        cwd: Where a command would run.
        decision: What the rules say.
        rule: The one that won.
        reason: Why it is asked or denied.
        answer: Of the user, if they were asked.
        widening: What it may do beyond the sandbox, in words.
        sandbox: How a command that may run is held, in words.
        at: When.
        agent: The name of the sub-agent that wanted it; empty for the main one.
        ending: Of a check, which has no result: how it ended; written when it has.
        within: The id of the ``agent`` call whose sub-agent wanted it; empty for the main one, and
            in logs of before.
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
