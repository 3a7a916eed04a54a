"""How a command is decided on, with all of its parts: for people and for programs that ask."""

from __future__ import annotations

import msgspec

from indwell.policy.asked import Allow, Ask, Asked, Deny, Policy
from indwell.policy.commands.verdict import Effect
from indwell.policy.decide import decide
from indwell.policy.decide_command import COMMAND_LIMIT, judged


class ExplainedPart(msgspec.Struct, frozen=True):
    """One simple command, redirect or construct, and what is thought of it by itself."""

    text: str
    decision: Effect
    rule: str
    reason: str


class Explanation(msgspec.Struct, frozen=True):
    """What is decided on a command, by which rule, and what is thought of its parts.

    Attributes:
        decision: The decision.
        rule: The rule that won.
        reason: Why it is asked or denied; empty if it is allowed.
        parts: In the order of the source; none of a text that is too long to be read.
        widening: What it would do beyond the sandbox, in words.
    """

    decision: Effect
    rule: str
    reason: str
    parts: tuple[ExplainedPart, ...] = ()
    widening: str = ""


def explain_command(command: str, cwd: str, policy: Policy) -> Explanation:
    """Decide as for a call of ``bash``, and say why."""
    asked = Asked("bash", "run", command=command, cwd=cwd)
    decision = decide(asked, policy)
    parts: tuple[ExplainedPart, ...] = ()
    if len(command) <= COMMAND_LIMIT:
        verdict = judged(asked, policy)
        parts = tuple(
            ExplainedPart(one.text, one.decision, one.rule, one.reason) for one in verdict.parts
        )
    match decision:
        case Allow(by=by, widening=widening):
            return Explanation("allow", by, "", parts, widening.words)
        case Ask(by=by, reason=reason, widening=widening):
            return Explanation("ask", by, reason, parts, widening.words)
        case Deny(by=by, reason=reason):
            return Explanation("deny", by, reason, parts)
