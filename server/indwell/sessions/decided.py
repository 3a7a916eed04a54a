"""The record of a decision: what was asked, which rule decided it, and what the user said."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

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
