"""The one decision: may this call run, must the user be asked, or is it denied?

deny > ask > allow; an error is a denial. Pure: paths come in as the model wrote them and as they
resolve, and both are checked.
"""

from __future__ import annotations

import msgspec

from indwell.policy.asked import Allow, Ask, Asked, Decision, Deny, Effect, Policy
from indwell.policy.decide_command import decide_command
from indwell.policy.file_rules import own_globs
from indwell.policy.guarded import BARE, is_guarded
from indwell.policy.paths import (
    is_beneath,
    is_chat,
    is_inside,
    is_protected,
    is_unknown,
    loader_of,
    matching_glob,
)
from indwell.policy.rules import covers_files, file_rule, tool_rule
from indwell.policy.standing import BY_ANSWER, rule_of
from indwell.settings.model import Mode

__all__ = [
    "Allow",
    "Ask",
    "Asked",
    "Decision",
    "Deny",
    "Effect",
    "Mode",
    "Policy",
    "decide",
    "rule_of",
]

_UNKNOWN = (
    "{!r} begins with a dot and lies at the root of a repository, where tools look for their "
    "settings, and Indwell does not know which tool loads it; if nothing does, add the name to "
    "`harmless_names` of your own settings"
)


def decide(asked: Asked, policy: Policy) -> Decision:
    """Decide on one call."""
    denied = _denied(asked, policy)
    if denied is not None:
        return denied
    if asked.keeps:  # in every mode, and never by a standing answer: it speaks in later sessions
        return Ask("nothing is remembered without your yes", rule="", by="memory")
    by_name = tool_rule(asked.tool, policy.rules.ask)
    if by_name:
        return _asked_by_name(_by_effect(asked, policy), by_name)
    return _by_effect(asked, policy)


def is_own(asked: Asked, policy: Policy) -> bool:
    """Does a call lead into Indwell's own folders (but for reading what was kept for it)?"""
    return any(
        is_beneath(path, policy.own)
        and not (asked.effect == "read" and is_inside(path, policy.readable))
        for path in asked.resolved
    )


def _denied(asked: Asked, policy: Policy) -> Deny | None:
    """What holds for every call, before anything else is looked at."""
    for path in asked.paths:
        glob = matching_glob(path, own_globs(policy.deny))
        if glob:
            return Deny(
                f"{path!r} matches {glob!r}, which the user keeps from you; do without it, or ask "
                "the user for what is needed from it",
                by=f"deny: {glob}",
            )
    if is_own(asked, policy):
        return Deny("settings, permissions and sessions of Indwell itself are the user's alone")
    if asked.effect != "read" and _is_restricted(asked, policy):
        return Deny(
            "the user has not said that this folder is to be trusted, so nothing in it is changed "
            "or run; reading and answering works",
            by="restricted folder",
        )
    by_rule = tool_rule(asked.tool, policy.rules.deny)
    if not by_rule and asked.effect != "run":
        by_rule = file_rule(asked.effect, asked.paths, policy.rules.deny)
    if by_rule:
        return Deny(f"the user's rule {by_rule!r} denies it; do without it", by=f"deny: {by_rule}")
    return None


def _asked_by_name(decision: Decision, rule: str) -> Decision:
    """The same, but not without a question each time: a rule names the tool."""
    match decision:
        case Deny():
            return decision
        case Ask():
            return msgspec.structs.replace(decision, rule="", by=f"ask: {rule}")
        case Allow(widening=widening):
            reason = "your rules ask about this tool"
            return Ask(reason, rule="", by=f"ask: {rule}", widening=widening)


def _by_effect(asked: Asked, policy: Policy) -> Decision:
    match asked.effect:
        case "read":
            return _decide_read(asked, policy)
        case "edit":
            return _decide_edit(asked, policy)
        case "run":
            return decide_command(asked, policy)


def _decide_read(asked: Asked, policy: Policy) -> Decision:
    by_rule = file_rule("read", asked.paths, policy.rules.ask)
    if by_rule:
        return Ask("your rules ask about reading it", rule="", by=f"ask: {by_rule}")
    if asked.leads_out:
        target = asked.resolved[0] if asked.resolved else ""
        return Ask(f"a link leads out of the workspace, to {target!r}", rule="", by="link")
    allowed = covers_files("read", asked.paths, policy.rules.allow)
    if allowed:
        return Allow(by=f"allow: {allowed}")
    return _asked_as_secret(asked, policy) or Allow()


def _decide_edit(asked: Asked, policy: Policy) -> Decision:
    if policy.mode == "plan":
        return Deny(
            "the mode is `plan`: nothing may be changed; describe the change instead", by="plan"
        )
    by_rule = file_rule("edit", asked.paths, policy.rules.ask)
    if by_rule:
        return Ask("your rules ask about changing it", rule="", by=f"ask: {by_rule}")
    protected = _why_protected(asked, policy)
    if protected:
        # Never by a standing rule: what tools execute or trust is asked for each time (POL-01/02).
        return Ask(protected, rule="", by="protected")
    rule = rule_of(asked)
    answered = Allow(by=f"{BY_ANSWER}{rule}") if rule in policy.granted else None
    if asked.has_other_names:
        reason = "the file has other names (hard links), and changes under all of them"
        return answered or Ask(reason, rule, by="other names")
    allowed = covers_files("edit", asked.paths, policy.rules.allow)
    if allowed:
        return Allow(by=f"allow: {allowed}")
    secret = _asked_as_secret(asked, policy)
    if secret is not None:
        return secret
    if policy.mode == "ask":
        return answered or Ask("the mode is `ask`: each edit is confirmed", rule, by="mode ask")
    return Allow(by=f"mode {policy.mode}")


def _why_protected(asked: Asked, policy: Policy) -> str:
    """Why changing it changes what runs or is trusted; empty if it does not."""
    if any(is_beneath(path, policy.obeyed) for path in asked.resolved):
        return f"git runs or obeys {asked.paths[0]!r}"
    protected = next((path for path in asked.paths if is_guarded(path, policy.harmless)), None)
    if protected is not None:
        if is_chat(protected):
            return f"{protected!r} is a chat: what is written there may go out as your words"
        if not is_protected(protected) and protected.rpartition("/")[2] != BARE:
            return _UNKNOWN.format(protected)
        by = loader_of(protected)
        named = f" (loaded by: {by})" if by else ""
        return f"{protected!r} configures tools that run on this machine{named}"
    if any(is_unknown(one, policy.harmless) for one in asked.unknown):
        return _UNKNOWN.format(asked.paths[0])
    return f"git runs or obeys {asked.paths[0]!r}" if asked.is_git else ""


def _asked_as_secret(asked: Asked, policy: Policy) -> Ask | None:
    """The question about a file that holds keys by custom; each time anew."""
    for path in asked.paths:
        glob = matching_glob(path, policy.deny)
        if glob:
            reason = f"{path!r} may hold secrets, which the model would see"
            return Ask(reason, rule="", by=f"secret: {glob}")
    if asked.is_private:
        reason = f"{asked.paths[0]!r} lies where programs keep keys and tokens in your home folder"
        return Ask(reason, rule="", by="secret: home")
    return None


def _is_restricted(asked: Asked, policy: Policy) -> bool:
    places = (*asked.resolved, *([asked.cwd] if asked.cwd else []))
    return any(is_beneath(place, policy.restricted) for place in places)
