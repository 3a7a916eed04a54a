"""The decision on a command: what is thought of its parts, then the mode, then standing answers.

A part of ``decide``, which alone knows what holds for every call: whoever decides, asks that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from indwell.policy.asked import Allow, Ask, Asked, Decision, Deny, Policy
from indwell.policy.commands.dangerous import why_dangerous
from indwell.policy.commands.situation import Situation
from indwell.policy.commands.verdict import Part, Verdict
from indwell.policy.file_rules import by_file_rules
from indwell.policy.paths import is_program, is_protected
from indwell.policy.standing import BY_ANSWER, is_granted, may_stand, rule_of
from indwell.policy.widening import NOTHING_MORE, Widening

_OWN_RULES = ("ask:", "deny:")  # by the second something is asked that only a run can tell
_MOST_NAMED = 5  # protected files that a reason names
COMMAND_LIMIT = 8_000  # as `commands.long_texts.LIMIT`; a test keeps the two equal
ASKS_FOR_ALL = "nothing holds commands on this system, so each one is asked for"


def decide_command(asked: Asked, policy: Policy) -> Decision:
    """Decide on a call that runs something, and that no rule for all calls denies."""
    text = _judged_text(asked.command)
    if asked.command and not text:
        return Deny(
            f"a command of {len(asked.command):,} characters cannot be shown to the user; write a "
            "script to a file and run that",
            by="length",
        )
    if text != asked.command:
        return _decide_long(asked, policy, text)
    danger = why_dangerous(asked.command)
    if danger:  # before any standing answer, and in every mode: nobody means it (H49)
        return Deny(
            f"the command {danger}; no answer allows that here. If the user wants it, they can "
            "run it in a terminal of their own",
            by="dangerous",
        )
    verdict = by_file_rules(judged(asked, policy), asked, policy)
    if verdict.decision == "deny":
        return Deny(verdict.reason or "the user's rules deny it", by=verdict.rule)
    widening = _joined(verdict.widening, asked.wants)
    if verdict.decision == "allow":
        verdict = _by_place(verdict, policy)
    if policy.mode == "plan":
        return _planned(verdict, widening, is_held=policy.writes_confined)
    if (policy.in_git or policy.git_unchecked) and _may_send(verdict, widening, policy):
        reason = "; and ".join(_unsent(policy))
        by = "protected files in git"
        return Ask(reason, "", by=by, widening=widening, risky=_risky(verdict))
    if _runs_unasked(asked, verdict):
        # What the tables take for a reader may be none: then the sandbox keeps it from writing.
        widening = msgspec.structs.replace(
            widening,
            reads_only=verdict.reads_only,
            keeps_git=not (verdict.reads_only or verdict.by_user or _runs_git(verdict)),
        )
        return Allow(by=verdict.rule, widening=widening)
    stands = may_stand(asked, widening) and not _is_asked_each_time(verdict)
    confined = policy.writes_confined
    granted = is_granted(asked, policy.granted, widening, confined=confined) if stands else ""
    if granted:
        return Allow(by=f"{BY_ANSWER}{granted}", widening=widening)
    rule = rule_of(asked, confined=confined, widening=widening) if stands else ""
    by = verdict.rule if verdict.decision == "ask" else "more than the sandbox"
    reason = verdict.reason or f"it is to run {widening.words}"
    return Ask(reason, rule, by=by, widening=widening, risky=_risky(verdict))


def _risky(verdict: Verdict) -> tuple[Part, ...]:
    return tuple(part for part in verdict.parts if part.decision != "allow")


def _may_send(verdict: Verdict, widening: Widening, policy: Policy) -> bool:
    """Could it reach another machine? In the sandbox only with hosts, or with a way out of it."""
    if widening.hosts or widening.unconfined:
        return True
    return not (policy.writes_confined or verdict.reads_only)


def _decide_long(asked: Asked, policy: Policy, text: str) -> Decision:
    """The same for one that is long for the texts that it writes: with a question each time."""
    decision = decide_command(msgspec.structs.replace(asked, command=text), policy)
    reason = f"it is {len(asked.command):,} characters long, most of them a text that it writes"
    match decision:
        case Deny():
            return decision
        case Ask():
            return msgspec.structs.replace(decision, rule="", reason=f"{decision.reason}; {reason}")
        case Allow(widening=widening):
            return Ask(reason, rule="", by="length", widening=widening)


def _judged_text(command: str) -> str:
    if len(command) <= COMMAND_LIMIT:
        return command
    from indwell.policy.commands.long_texts import judged_text  # noqa: PLC0415 - as below

    return judged_text(command)


def judged(asked: Asked, policy: Policy) -> Verdict:
    """What is thought of a command under these rules."""
    return _judged(asked.command, _situation(asked, policy))


@lru_cache(maxsize=32)  # a call is looked at once more when it is answered, or explained
def _judged(command: str, situation: Situation) -> Verdict:
    from indwell.policy.commands.judge import judge  # noqa: PLC0415 - no start is to wait for it

    return judge(command, situation)


def _situation(asked: Asked, policy: Policy) -> Situation:
    return Situation(
        rules=policy.rules.for_commands,
        writes_confined=policy.writes_confined,
        reads_only=policy.mode == "plan",
        cwd=asked.cwd,
        roots=policy.roots,
        secrets=policy.deny,
        secret_files=policy.secret_files,
        obeyed=policy.obeyed,
        repositories=policy.repositories,
        restricted=policy.restricted,
        harmless=policy.harmless,
        repository_roots=policy.repository_roots,
    )


def _by_place(verdict: Verdict, policy: Policy) -> Verdict:
    """What is allowed is asked for all the same where the mode, or the machine, has it so."""
    if policy.asks_for_all:
        return msgspec.structs.replace(verdict, decision="ask", rule="shell", reason=ASKS_FOR_ALL)
    if policy.mode != "ask" or verdict.reads_only or verdict.by_user:
        return verdict
    reason = "the mode is `ask`: what may change files is confirmed"
    return msgspec.structs.replace(verdict, decision="ask", rule="mode ask", reason=reason)


def _runs_unasked(asked: Asked, verdict: Verdict) -> bool:
    """Is it allowed, and with no more than it has, or than a rule of the user's gives with it?

    Who allows `npm *` allows the network that it is known to need; never a run without a sandbox.
    """
    if verdict.decision != "allow" or asked.wants != NOTHING_MORE:
        return False
    more = verdict.widening
    is_bounded = not (more.unconfined or more.shows_secrets or more.writes_protected)
    return is_bounded and (verdict.by_user or not (more.hosts or more.installs))


def _planned(verdict: Verdict, widening: Widening, *, is_held: bool) -> Decision:
    """In `plan` a command runs if it only reads, or a sandbox holds it, whatever was allowed.

    The sandbox then lets it write nowhere, also if the mode is another when it begins to run.
    """
    is_harmless = verdict.reads_only or (is_held and verdict.is_held)
    if verdict.decision == "allow" and is_harmless and widening == NOTHING_MORE:
        return Allow(by=verdict.rule, widening=Widening(reads_only=True))
    reason = verdict.reason or "this one may change something"
    return Deny(
        f"the mode is `plan`, in which only commands run that change nothing: {reason}; describe "
        "what you would run instead",
        by="plan",
    )


def _runs_git(verdict: Verdict) -> bool:
    words = (word for part in verdict.parts for word in part.words)
    return any(word.rpartition("/")[2] == "git" for word in words)


def _is_asked_each_time(verdict: Verdict) -> bool:
    """Is it by the user's own rule, or about what no standing answer covers (POL-02, POL-13)?"""
    if verdict.rule.startswith(_OWN_RULES):
        return True
    return any(part.decision == "ask" and _touches_guarded(part) for part in verdict.parts)


def _touches_guarded(part: Part) -> bool:
    return (
        part.rule.startswith(_OWN_RULES)
        or part.rule in {"protected", "secret"}
        or any(is_protected(word) and not is_program(word) for word in part.words)
    )


def _unsent(policy: Policy) -> Iterator[str]:
    """Why nothing may be sent unasked."""
    if policy.in_git:
        named = ", ".join(policy.in_git[:_MOST_NAMED])
        yield f"it may send protected files that came into git unasked: {named}"
    if policy.git_unchecked:
        named = "; ".join(policy.git_unchecked[:_MOST_NAMED])
        yield f"it may send what nobody could check: {named}"


def _joined(needed: Widening, wanted: Widening) -> Widening:
    return Widening(
        hosts=tuple(dict.fromkeys((*needed.hosts, *wanted.hosts))),
        shows_secrets=needed.shows_secrets or wanted.shows_secrets,
        writes_protected=needed.writes_protected or wanted.writes_protected,
        unconfined=needed.unconfined or wanted.unconfined,
        installs=needed.installs or wanted.installs,
    )
