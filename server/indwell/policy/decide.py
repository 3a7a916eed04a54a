"""The one decision: may this call run, must the user be asked, or is it denied?

deny > ask > allow; an error is a denial. Pure: paths come in as the model wrote them and as they
resolve, and both are checked.
"""

from __future__ import annotations

from shlex import quote
from typing import Literal, TypeAlias

import msgspec

from indwell.policy.commands.dangerous import why_dangerous
from indwell.policy.commands.judge import Situation, judge
from indwell.policy.commands.verdict import Part
from indwell.policy.paths import is_beneath, is_protected, matches_any
from indwell.policy.rules import Rules
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.settings.model import Mode

Effect: TypeAlias = Literal["read", "edit", "run"]
"""What a tool does to the world; policy, log and parallelism go by it."""


COMMAND_LIMIT = 8_000  # characters that a person can be expected to look at


class Asked(msgspec.Struct, frozen=True):
    """One call, as the policy sees it.

    Attributes:
        tool: Name of the tool.
        effect: Read, edit or run.
        paths: Every path of the call, relative to the workspace where it lies in it: as written
            and as resolved.
        resolved: Where the paths lead, absolute.
        command: The shell text; empty unless it runs something.
        cwd: Where it would run, relative to the workspace.
        arguments: The whole call as JSON text: what an approval is bound to.
        has_other_names: A file that would be changed is known elsewhere by other names (hard
            links), and nobody can say by which.
        wants: What a command is to do beyond the sandbox, as the model asked for it.
    """

    tool: str
    effect: Effect
    paths: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    command: str = ""
    cwd: str = ""
    arguments: str = ""
    has_other_names: bool = False
    wants: Widening = NOTHING_MORE


class Allow(msgspec.Struct, frozen=True):
    """Run it, with ``widening`` beyond the sandbox; ``by`` is the rule that won, for the log."""

    by: str = ""
    widening: Widening = NOTHING_MORE


class Ask(msgspec.Struct, frozen=True):
    """Ask the user.

    Attributes:
        reason: Shown.
        rule: What a standing answer would store; empty if none can be given.
        by: The rule that won, for the log.
        widening: What a yes allows beyond the sandbox, for this one call.
        risky: The parts of a command that are the reason.
    """

    reason: str
    rule: str
    by: str = ""
    widening: Widening = NOTHING_MORE
    risky: tuple[Part, ...] = ()


class Deny(msgspec.Struct, frozen=True):
    """Do not run it; ``reason`` goes to the model, ``by`` is the rule that won, for the log."""

    reason: str
    by: str = ""


Decision: TypeAlias = Allow | Ask | Deny


class Policy(msgspec.Struct, frozen=True):
    """What decisions go by.

    Attributes:
        mode: How much the user wants to be asked.
        deny: Globs of files whose contents never reach the model.
        granted: Exact rules that the user gave, for this session or for always.
        own: Absolute folders of Indwell itself: settings, permissions, sessions. No tool goes
            there, also when the workspace holds them.
        readable: Absolute folders beneath ``own`` that may be read all the same.
        rules: The user's rules.
        restricted: Absolute folders of the workspace that the user does not trust: nothing in them
            is changed or run.
        roots: The workspace's folders, absolute.
        writes_confined: Commands run in a sandbox that keeps their writes in the workspace.
    """

    mode: Mode
    deny: tuple[str, ...] = ()
    granted: frozenset[str] = frozenset()
    own: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    rules: Rules = Rules()
    restricted: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    writes_confined: bool = False


def decide(asked: Asked, policy: Policy) -> Decision:
    """Decide on one call."""
    denied = next((path for path in asked.paths if matches_any(path, policy.deny)), None)
    if denied is not None:
        return Deny(
            f"{denied!r} matches a deny rule for secrets; do without it, or ask the user for what "
            "is needed from it"
        )
    if is_own(asked, policy):
        return Deny("settings, permissions and sessions of Indwell itself are the user's alone")
    if asked.effect != "read" and _is_restricted(asked, policy):
        return Deny(
            "the user has not said that this folder is to be trusted, so nothing in it is changed "
            "or run; reading and answering works",
            by="restricted folder",
        )
    match asked.effect:
        case "read":
            return Allow()
        case "edit":
            return _decide_edit(asked, policy)
        case "run":
            return _decide_run(asked, policy)


def is_own(asked: Asked, policy: Policy) -> bool:
    """Does a call lead into Indwell's own folders (but for reading what was kept for it)?"""
    return any(
        is_beneath(path, policy.own)
        and not (asked.effect == "read" and is_beneath(path, policy.readable))
        for path in asked.resolved
    )


def rule_of(asked: Asked) -> str:
    """The exact rule that a standing answer stores: this very call, never a pattern.

    Odd names stand in quotes, so that no folder's name can pass for part of a command.
    """
    if asked.effect == "run":
        more = f" {asked.wants.words}" if asked.wants.words else ""
        return f"{asked.tool} in {quote(asked.cwd or '.')}{more}: {asked.command}"
    return f"{asked.tool}: {', '.join(quote(path) for path in sorted(set(asked.paths)))}"


def _decide_edit(asked: Asked, policy: Policy) -> Decision:
    if policy.mode == "plan":
        return Deny("the mode is `plan`: nothing may be changed; describe the change instead")
    rule = rule_of(asked)
    protected = next((path for path in asked.paths if is_protected(path)), None)
    if protected is not None:
        # Never by a standing rule: what tools execute or trust is asked for each time (POL-01/02).
        return Ask(f"{protected!r} configures tools that run on this machine", rule="")
    if asked.has_other_names and rule not in policy.granted:
        return Ask("the file has other names (hard links), and changes under all of them", rule)
    if policy.mode == "ask" and rule not in policy.granted:
        return Ask("the mode is `ask`: each edit is confirmed", rule=rule)
    return Allow()


def _decide_run(asked: Asked, policy: Policy) -> Decision:
    if len(asked.command) > COMMAND_LIMIT:
        return Deny(
            f"a command of {len(asked.command):,} characters cannot be shown to the user; write a "
            "script to a file and run that",
            by="length",
        )
    danger = why_dangerous(asked.command)
    if danger:  # before any standing answer, and in every mode: nobody means it (H49)
        return Deny(
            f"the command {danger}; no answer allows that here. If the user wants it, they can "
            "run it in a terminal of their own",
            by="dangerous",
        )
    verdict = judge(asked.command, situation_of(asked, policy))
    if verdict.decision == "deny":
        return Deny(verdict.reason, by=verdict.rule)
    if policy.mode == "plan" and verdict.decision == "ask":
        return Deny(
            f"the mode is `plan`, in which only commands run that change nothing: {verdict.reason}; "
            "describe what you would run instead",
            by="plan",
        )
    widening = _joined(verdict.widening, asked.wants)
    if verdict.decision == "allow" and asked.wants == NOTHING_MORE:
        return Allow(by=verdict.rule)
    rule = rule_of(asked)
    if rule in policy.granted:
        return Allow(by=f"your answer: {rule}", widening=widening)
    reason = verdict.reason or f"it is to run {widening.words}"
    risky = tuple(part for part in verdict.parts if part.decision != "allow")
    return Ask(reason, rule, by=verdict.rule, widening=widening, risky=risky)


def situation_of(asked: Asked, policy: Policy) -> Situation:
    """What a command is judged by."""
    return Situation(
        rules=policy.rules,
        writes_confined=policy.writes_confined and policy.mode != "ask",
        reads_only=policy.mode == "plan",
        cwd=asked.cwd,
        roots=policy.roots,
        secrets=policy.deny,
    )


def _is_restricted(asked: Asked, policy: Policy) -> bool:
    places = (*asked.resolved, *([asked.cwd] if asked.cwd else []))
    return any(is_beneath(place, policy.restricted) for place in places)


def _joined(needed: Widening, wanted: Widening) -> Widening:
    return Widening(
        hosts=tuple(dict.fromkeys((*needed.hosts, *wanted.hosts))),
        shows_secrets=needed.shows_secrets or wanted.shows_secrets,
        unconfined=needed.unconfined or wanted.unconfined,
    )
