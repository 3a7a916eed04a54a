"""Audit trail of a session: each tool call, its permission decision and its outcome. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolResult
from indwell.sessions.branches import lived
from indwell.sessions.records import (
    Decided,
    Intent,
    MessageRecord,
    Record,
    TurnStartRecord,
    Verdict,
)

End: TypeAlias = Literal["done", "failed", "denied", "refused", "unknown"]
"""How a call ended. ``denied``: a rule denied the call.

``refused``: the user refused the call, or did not answer. ``unknown``: the log has no result,
because the process was killed or the call is still running.
"""

REFUSALS = frozenset(["no", "unanswered", "uncovered"])
"""Answers that refuse a call."""

DONE, FAILED = "done", "failed"  # The log of a sub-agent's call does not contain the call's result.

_Key: TypeAlias = tuple[int, str]
_ENDING = lazy_pattern(r"exit code \d+$|timed out after |ended by ")


class Act(msgspec.Struct, frozen=True):
    """One tool call that changed or ran something, needed an approval, or was denied.

    Attributes:
        turn: The session's turn.
        id: Id of the call.
        at: Time of the decision.
        tool: Name of the tool.
        what: The command, or the paths; in logs without decisions, the arguments.
        cwd: Working directory of a command.
        decision: The policy's decision, or None in logs from before decisions were recorded.
        rule: The name of the rule that decided.
        reason: The reason for the policy's question or denial.
        answer: The user's answer, if asked.
        widening: The call's access beyond the sandbox, in words.
        sandbox: The sandbox of an allowed command, in words.
        began: Whether the log says that the call began; never true for reads.
        end: The outcome.
        ending: The ending of a command; for a failure, the first line of the result.
        left: Whether a rewind removed the call's turn from the conversation.
        agent: Name of the sub-agent that made the call, or empty for the main agent.
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
    """Return all acts in order, including those of turns that a rewind abandoned."""
    alive = {id(record) for record in lived(records)}
    found: list[Act] = []
    newest: dict[_Key, int] = {}
    results: dict[int, ToolResult] = {}
    for record in records:
        match record:
            case TurnStartRecord():
                newest.clear()  # Turn numbers repeat after a rewind.
            case Decided():
                act = _decided(record, left=id(record) not in alive)
                at = newest.get((record.turn, record.tool_use_id))
                if at is not None and record.ending:
                    end: End = "failed" if record.ending == FAILED else "done"
                    ending = "" if record.ending == end else record.ending
                    ended = msgspec.structs.replace(found[at], end=end, ending=ending)
                    found[at] = ended
                elif at is not None and _is_open(found[at]) and found[at].what == act.what:
                    found[at] = act  # The record has the answer to the question recorded earlier.
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
    """Return whether the log has the permission question but no answer, so the call never began."""
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
    """Return how a command ended: the last line of the result outside of notes in brackets."""
    lines = [line for line in text.splitlines() if line and not line.startswith("[")]
    return lines[-1] if lines and _ENDING.match(lines[-1]) else ""
