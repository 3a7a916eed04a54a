"""What the agent wanted to do in a session, what was decided on it, and what came of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import ToolResult
from indwell.sessions.branches import lived
from indwell.sessions.records import Intent, MessageRecord, Record, TurnStartRecord
from indwell.sessions.told import Decided, Verdict

End: TypeAlias = Literal["done", "failed", "denied", "refused", "unknown"]
"""Denied by a rule, refused by the user or for want of an answer. Unknown: the log has no result,
because the process was killed in the middle or is still at it."""

REFUSALS = frozenset(["no", "unanswered", "uncovered"])
"""Answers that allow nothing."""

DONE, FAILED = "done", "failed"  # how a call ended that has no result here and says no more

_Key: TypeAlias = tuple[int, str]
_ENDING = re.compile(r"exit code \d+$|timed out after |ended by ")


class Act(msgspec.Struct, frozen=True):
    """One call that changes or runs something, or that was asked for or denied.

    Attributes:
        turn: Of the session.
        id: Of the call.
        at: When it was decided on.
        tool: Its name.
        what: The command, or the paths; of logs without decisions the arguments.
        cwd: Where a command would run.
        decision: What the rules said; None: the log is of before decisions were written down.
        rule: The one that won.
        reason: Why it was asked or denied.
        answer: Of the user, if they were asked.
        widening: What it could do beyond the sandbox, in words.
        sandbox: How a command was held, in words, if it was let run.
        began: Is its beginning on record? Reads have none.
        end: What came of it.
        ending: How a command ended, or the first line of what the model was told if it failed.
        left: Is it in a turn that a rewind left behind?
        agent: The name of the sub-agent that wanted it; empty for the main one.
    """

    turn: int
    id: str
    at: str
    tool: str
    what: str
    cwd: str = ""
    decision: Verdict | None = None
    rule: str = ""
    reason: str = ""
    answer: str = ""
    widening: str = ""
    sandbox: str = ""
    began: bool = False
    end: End = "unknown"
    ending: str = ""
    left: bool = False
    agent: str = ""


def acts(records: Sequence[Record]) -> tuple[Act, ...]:
    """All of them in order, those of turns that were left behind too."""
    alive = {id(record) for record in lived(records)}
    found: list[Act] = []
    newest: dict[_Key, int] = {}
    results: dict[int, ToolResult] = {}
    for record in records:
        match record:
            case TurnStartRecord():
                newest.clear()  # a session that was taken back counts its turns anew
            case Decided():
                act = _decided(record, left=id(record) not in alive)
                at = newest.get((record.turn, record.tool_use_id))
                if at is not None and record.ending:
                    end: End = "failed" if record.ending == FAILED else "done"
                    ending = "" if record.ending == end else record.ending
                    ended = msgspec.structs.replace(found[at], end=end, ending=ending)
                    found[at] = ended
                elif at is not None and _is_open(found[at]) and found[at].what == act.what:
                    found[at] = act  # the answer to the question that was written down before
                else:
                    newest[record.turn, record.tool_use_id] = len(found)
                    found.append(act)
            case Intent():
                at = newest.get((record.turn, record.tool_use_id))
                if at is None:
                    newest[record.turn, record.tool_use_id] = len(found)
                    found.append(_undecided(record, left=id(record) not in alive))
                else:
                    found[at] = msgspec.structs.replace(found[at], began=True)
            case MessageRecord(message=message):
                results.update(
                    (newest[message.turn, block.tool_use_id], block)
                    for block in message.blocks
                    if isinstance(block, ToolResult) and (message.turn, block.tool_use_id) in newest
                )
            case _:
                pass
    return tuple(_ended(act, at, results) for at, act in enumerate(found))


def _is_open(act: Act) -> bool:
    """Was it asked for and, as far as the log goes, not answered? Then it never began."""
    return act.decision == "ask" and not act.answer and not act.began


def _decided(record: Decided, *, left: bool) -> Act:
    return Act(
        turn=record.turn,
        id=record.tool_use_id,
        at=record.at,
        tool=record.tool,
        what=record.what,
        cwd=record.cwd,
        decision=record.decision,
        rule=record.rule,
        reason=record.reason,
        answer=record.answer,
        widening=record.widening,
        sandbox=record.sandbox,
        left=left,
        agent=record.agent,
    )


def _undecided(record: Intent, *, left: bool) -> Act:
    return Act(
        turn=record.turn,
        id=record.tool_use_id,
        at=record.at,
        tool=record.tool,
        what=record.arguments,
        began=True,
        left=left,
    )


def _ended(act: Act, at: int, results: Mapping[int, ToolResult]) -> Act:
    result = results.get(at)
    if act.decision == "deny":
        return msgspec.structs.replace(act, end="denied")
    if act.answer in REFUSALS or _is_open(act):
        return msgspec.structs.replace(act, end="refused")
    if result is None:
        return act
    if result.is_error:
        told = result.text.strip().partition("\n")[0]
        return msgspec.structs.replace(act, end="failed", ending=told)
    return msgspec.structs.replace(act, end="done", ending=_ending(result.text))


def _ending(text: str) -> str:
    """How a command ended: the last line that is no note; what it printed stands before that."""
    lines = [line for line in text.splitlines() if line and not line.startswith("[")]
    return lines[-1] if lines and _ENDING.match(lines[-1]) else ""
