"""Decides whether a tool call is allowed, denied, or needs the user's approval.

Deny wins over ask, and ask over allow; an error is a denial. This module does no I/O. Each path is
checked twice: as the model wrote it, and as resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from indwell.files.spelling import quoted
from indwell.policy.call_facts import (
    BY_ANSWER,
    Allow,
    Ask,
    CallFacts,
    Decision,
    Deny,
    Policy,
    covers_later_calls,
    is_granted,
    rule_of,
)
from indwell.policy.commands.dangerous import why_dangerous
from indwell.policy.commands.path_rules import Situation
from indwell.policy.commands.verdict import CommandPart, CommandVerdict
from indwell.policy.commands.verdict import Effect as CommandEffect
from indwell.policy.file_rules import by_file_rules
from indwell.policy.guarded_paths import is_bare, is_guarded
from indwell.policy.paths import (
    is_beneath,
    is_chat,
    is_inside,
    is_program,
    is_protected,
    is_short_at_root,
    is_unknown,
    loader_of,
    matching_glob,
)
from indwell.policy.rules import (
    NOTHING_MORE,
    ShellLanguage,
    Widening,
    covers_files,
    file_rule,
    own_globs,
    tool_rule,
)
from indwell.policy.web_address import is_named, web_address
from indwell.secrets import kinds_in

_UNKNOWN = (
    "{} begins with a dot and lies at the root of a repository, where tools look for their "
    "settings, and Indwell does not know which tool loads it; if nothing does, add the name to "
    "`harmless_names` of your own settings"
)

_SHORT = (
    "{} has the form of a short name of Windows, which may stand for a name that begins with a "
    "dot, and tools look for their settings there; write the long name"
)


def decide(asked: CallFacts, policy: Policy) -> Decision:
    """Return the decision for one tool call."""
    if (denied := _denied(asked, policy)) is not None:
        return denied
    # Memory needs a question in every mode and each time, because later sessions will read it.
    if asked.keeps:
        return Ask("nothing is remembered without your yes", rule="", by="memory")
    if by_name := tool_rule(asked.tool, policy.rules.ask):
        return _asked_by_name(_by_effect(asked, policy), by_name)
    return _by_effect(asked, policy)


def is_own(asked: CallFacts, policy: Policy) -> bool:
    """Return whether a call touches Indwell's own folders, apart from reading readable folders."""
    return any(
        is_beneath(path, policy.own)
        and not (asked.effect == "read" and is_inside(path, policy.readable))
        for path in asked.resolved
    )


def _denied(asked: CallFacts, policy: Policy) -> Deny | None:
    """Return the denial that applies in every mode and to every effect, or None."""
    for path in asked.paths:
        glob = matching_glob(path, own_globs(policy.deny))
        if glob:
            return Deny(
                f"{quoted(path)} matches {glob!r}, which the user keeps from you; do without it, "
                "or ask the user for what is needed from it",
                by=f"deny: {glob}",
            )
    if is_own(asked, policy):
        return Deny("settings, permissions and sessions of Indwell itself are the user's alone")
    if asked.effect != "read" and _is_restricted(asked, policy):
        return Deny(
            "the user has not trusted this folder, so nothing in it is changed or run; reading "
            "and answering works",
            by="restricted folder",
        )
    by_rule = tool_rule(asked.tool, policy.rules.deny)
    if not by_rule and (asked.effect == "read" or asked.effect == "edit"):  # noqa: PLR1714 - types
        by_rule = file_rule(asked.effect, asked.paths, policy.rules.deny)
    if by_rule:
        return Deny(f"the user's rule {by_rule!r} denies it; do without it", by=f"deny: {by_rule}")
    return None


def _asked_by_name(decision: Decision, rule: str) -> Decision:
    """Turn an allowed call into a question each time, because an ask rule names its tool."""
    match decision:
        case Deny():
            return decision
        case Ask():
            return msgspec.structs.replace(decision, rule="", by=f"ask: {rule}")
        case Allow(widening=widening):
            return Ask("your rules ask about this tool", "", by=f"ask: {rule}", widening=widening)


def _by_effect(asked: CallFacts, policy: Policy) -> Decision:
    if asked.address:
        return _decide_fetch(asked, policy)
    match asked.effect:
        case "read":
            return _decide_read(asked, policy)
        case "edit":
            return _decide_edit(asked, policy)
        case "run":
            return decide_command(asked, policy)
        case "external":
            return _decide_external(asked, policy)


def _decide_fetch(asked: CallFacts, policy: Policy) -> Decision:
    """Decide on fetching a web page; its address could carry data to the host."""
    address, rule = web_address(asked.address), rule_of(asked)
    if kinds_in(asked.address):
        return Ask("the address would send a secret to that host", rule="", by="secret")
    if is_named(address, policy.web_hosts):
        return Allow(by=f"web_hosts: {address.place.host}")
    if rule in policy.granted:
        return Allow(by=f"{BY_ANSWER}{rule}")
    reason = "it fetches a web page; the address itself can carry data to that host"
    if address.is_near:
        reason = "it reads from this machine or from your network"
    return Ask(reason, rule, by="web")


def _decide_read(asked: CallFacts, policy: Policy) -> Decision:
    if by_rule := file_rule("read", asked.paths, policy.rules.ask):
        return Ask("your rules ask about reading it", rule="", by=f"ask: {by_rule}")
    if asked.leads_out:
        target = asked.resolved[0] if asked.resolved else ""
        return Ask(f"a link leads out of the workspace, to {quoted(target)}", rule="", by="link")
    allowed = covers_files("read", asked.paths, policy.rules.allow)
    if allowed:
        return Allow(by=f"allow: {allowed}")
    return _asked_as_secret(asked, policy) or Allow()


def _decide_external(asked: CallFacts, policy: Policy) -> Decision:
    """Decide on a call of an MCP server's tool; the server's claims have no influence."""
    assert asked.foreign is not None
    reason = f"the MCP server {quoted(asked.foreign.server)} decides what it does"
    if policy.mode == "plan":
        return Ask(f"the mode is `plan`, and {reason}", rule="", by="plan")
    if (rule := rule_of(asked)) in policy.granted:
        return Allow(by=f"{BY_ANSWER}{rule}")
    if asked.foreign.is_changed:
        reason += "; its description has changed in this session"
    elif allowed := tool_rule(asked.tool, policy.rules.allow):
        return Allow(by=f"allow: {allowed}")
    return Ask(reason, rule, by="external")


def _decide_edit(asked: CallFacts, policy: Policy) -> Decision:
    if policy.mode == "plan":
        return Deny(
            "the mode is `plan`: nothing may be changed; describe the change instead", by="plan"
        )
    if by_rule := file_rule("edit", asked.paths, policy.rules.ask):
        return Ask("your rules ask about changing it", rule="", by=f"ask: {by_rule}")
    protected = _why_protected(asked, policy)
    if protected:
        # No earlier approval applies, because tools execute or trust protected files (POL-01/02).
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


def _why_protected(asked: CallFacts, policy: Policy) -> str:
    """Explain how the edit affects trust or programs that run, or return an empty text."""
    if any(is_beneath(path, policy.obeyed) for path in asked.resolved):
        return f"git runs or obeys {quoted(asked.paths[0])}"
    protected = next((path for path in asked.paths if is_guarded(path, policy.harmless)), None)
    if protected is not None:
        if is_chat(protected):
            return f"{quoted(protected)} is a chat: text in it may be sent as your words"
        if not is_protected(protected) and not is_bare(protected.rpartition("/")[2]):
            return _UNKNOWN.format(quoted(protected))
        by = loader_of(protected)
        named = f" (loaded by: {by})" if by else ""
        return f"{quoted(protected)} configures tools that run on this machine{named}"
    if any(is_unknown(one, policy.harmless) for one in asked.unknown):
        return _UNKNOWN.format(quoted(asked.paths[0]))
    if any(is_short_at_root(one, policy.harmless) for one in asked.unknown):
        return _SHORT.format(quoted(asked.paths[0]))
    return f"git runs or obeys {quoted(asked.paths[0])}" if asked.is_git else ""


def _asked_as_secret(asked: CallFacts, policy: Policy) -> Ask | None:
    """Return a question about a file that usually holds keys; the user is asked each time."""
    for path in asked.paths:
        if glob := matching_glob(path, policy.deny):
            reason = f"{quoted(path)} may hold secrets, which the model would see"
            return Ask(reason, rule="", by=f"secret: {glob}")
    if asked.is_private:
        said = quoted(asked.paths[0])
        reason = f"{said} lies where programs keep keys and tokens in your home folder"
        return Ask(reason, rule="", by="secret: home")
    return None


def _is_restricted(asked: CallFacts, policy: Policy) -> bool:
    places = (*asked.resolved, *([asked.cwd] if asked.cwd else []))
    return any(is_beneath(place, policy.restricted) for place in places)


# A "deny:" rule leads to a question if only running the command could show a match.
_OWN_RULES = ("ask:", "deny:")
_MOST_NAMED = 5  # A reason names at most 5 protected files.
COMMAND_LIMIT = 8_000  # A test checks that this number equals `shell.parse.LIMIT`.
ASKS_FOR_ALL = "no sandbox confines commands on this system, so Indwell asks about each one"


def decide_command(asked: CallFacts, policy: Policy) -> Decision:
    """Decide on a call that runs a command, after the checks for all calls."""
    text = _judged_text(asked.command, policy.language)
    if asked.command and not text:
        return Deny(
            f"a command of {len(asked.command):,} characters cannot be shown to the user; write a "
            "script to a file and run that",
            by="length",
        )
    if text != asked.command:
        return _decide_long(asked, policy, text)
    danger = _danger(asked.command, policy.language)
    if danger:  # Nobody intends such a command, so every mode denies it before any approval (H49).
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
        # The tables may wrongly call a command read-only, so the sandbox also blocks writes.
        widening = msgspec.structs.replace(
            widening,
            reads_only=verdict.reads_only,
            keeps_git=not (verdict.reads_only or verdict.by_user or _runs_git(verdict)),
        )
        return Allow(by=verdict.rule, widening=widening)
    is_lasting = covers_later_calls(asked, widening) and not _is_asked_each_time(verdict)
    confined = policy.writes_confined
    granted = is_granted(asked, policy.granted, widening, confined=confined) if is_lasting else ""
    if granted:
        return Allow(by=f"{BY_ANSWER}{granted}", widening=widening)
    rule = rule_of(asked, confined=confined, widening=widening) if is_lasting else ""
    by = verdict.rule if verdict.decision == "ask" else "more than the sandbox"
    reason = verdict.reason or f"it is to run {widening.words}"
    return Ask(reason, rule, by=by, widening=widening, risky=_risky(verdict))


def _danger(command: str, language: ShellLanguage) -> str:
    """Name the data that the command would destroy; return an empty text if there is none."""
    if language == "bash":
        return why_dangerous(command)
    from indwell.policy.commands.powershell.dangerous import (  # noqa: PLC0415 - for Windows
        why_dangerous_in_powershell,
    )

    return why_dangerous_in_powershell(command)


def _risky(verdict: CommandVerdict) -> tuple[CommandPart, ...]:
    return tuple(part for part in verdict.parts if part.decision != "allow")


def _may_send(verdict: CommandVerdict, widening: Widening, policy: Policy) -> bool:
    """Return whether a command could send data, given its extra access and the sandbox."""
    if widening.hosts or widening.unconfined:
        return True
    return not (policy.writes_confined or verdict.reads_only)


def _decide_long(asked: CallFacts, policy: Policy, text: str) -> Decision:
    """Decide on a command that is long because it writes a text: deny it, or ask."""
    decision = decide_command(msgspec.structs.replace(asked, command=text), policy)
    reason = f"it is {len(asked.command):,} characters long, most of them a text that it writes"
    match decision:
        case Deny():
            return decision
        case Ask():
            return msgspec.structs.replace(decision, rule="", reason=f"{decision.reason}; {reason}")
        case Allow(widening=widening):
            return Ask(reason, rule="", by="length", widening=widening)


def _judged_text(command: str, language: ShellLanguage) -> str:
    if len(command) <= COMMAND_LIMIT:
        return command
    if language != "bash":
        return ""
    from indwell.policy.shell.parse import judged_text  # noqa: PLC0415 - as below

    return judged_text(command)


def judged(asked: CallFacts, policy: Policy) -> CommandVerdict:
    """Judge a command under this policy: whether to allow, to ask or to deny."""
    return _judged(asked.command, _situation(asked, policy))


@lru_cache(maxsize=32)  # A question or an explanation judges the same call again.
def _judged(command: str, situation: Situation) -> CommandVerdict:
    from indwell.policy.commands.judge import judge  # noqa: PLC0415 - keeps startup fast

    return judge(command, situation)


def _situation(asked: CallFacts, policy: Policy) -> Situation:
    situation = Situation(
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
        unknown_git=policy.unknown_git,
        harmless=policy.harmless,
        repository_roots=policy.repository_roots,
        batch_files=asked.batch_files,
    )
    return situation if policy.language == "bash" else situation.in_powershell()


def _by_place(verdict: CommandVerdict, policy: Policy) -> CommandVerdict:
    """Turn an allowed command into a question if the mode or the system requires it."""
    if policy.asks_for_all:
        return msgspec.structs.replace(verdict, decision="ask", rule="shell", reason=ASKS_FOR_ALL)
    if policy.mode != "ask" or verdict.reads_only or verdict.by_user:
        return verdict
    reason = "the mode is `ask`: you confirm commands that may change files"
    return msgspec.structs.replace(verdict, decision="ask", rule="mode ask", reason=reason)


def _runs_unasked(asked: CallFacts, verdict: CommandVerdict) -> bool:
    """Return whether a command runs unasked, with no more access than a user's rule grants."""
    if verdict.decision != "allow" or asked.wants != NOTHING_MORE:
        return False
    more = verdict.widening  # a rule such as `npm *` also grants npm's network access
    is_bounded = not (more.unconfined or more.shows_secrets or more.writes_protected)
    return is_bounded and (verdict.by_user or not (more.hosts or more.installs))


def _planned(verdict: CommandVerdict, widening: Widening, *, is_held: bool) -> Decision:
    """Decide in `plan` mode: allow only read-only commands, and commands in a sandbox.

    The sandbox then blocks all writes of the command, even if the mode changes before the start.
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


def _runs_git(verdict: CommandVerdict) -> bool:
    words = (word for part in verdict.parts for word in part.words)
    return any(word.rpartition("/")[2] == "git" for word in words)


def _is_asked_each_time(verdict: CommandVerdict) -> bool:
    """Return whether a rule or a guarded file needs a question each time (POL-02, POL-13)."""
    if verdict.rule.startswith(_OWN_RULES):
        return True
    return any(part.decision == "ask" and _touches_guarded(part) for part in verdict.parts)


def _touches_guarded(part: CommandPart) -> bool:
    return (
        part.rule.startswith(_OWN_RULES)
        or part.rule in {"protected", "secret"}
        or any(is_protected(word) and not is_program(word) for word in part.words)
    )


def _unsent(policy: Policy) -> Iterator[str]:
    """Yield the reasons why sending data needs approval: guarded files that could be sent."""
    if policy.in_git:
        named = ", ".join(policy.in_git[:_MOST_NAMED])
        yield f"it may send protected files that came into git without your approval: {named}"
    if policy.git_unchecked:
        named = "; ".join(policy.git_unchecked[:_MOST_NAMED])
        yield f"it may send changes that could not be checked: {named}"


def _joined(needed: Widening, wanted: Widening) -> Widening:
    return Widening(
        hosts=tuple(dict.fromkeys((*needed.hosts, *wanted.hosts))),
        shows_secrets=needed.shows_secrets or wanted.shows_secrets,
        writes_protected=needed.writes_protected or wanted.writes_protected,
        unconfined=needed.unconfined or wanted.unconfined,
        installs=needed.installs or wanted.installs,
    )


class ExplainedPart(msgspec.Struct, frozen=True):
    """One simple command, redirect or construct of a command, with the decision on this part."""

    text: str
    decision: CommandEffect
    rule: str
    reason: str


class Explanation(msgspec.Struct, frozen=True):
    """The decision on a command, the deciding rule, and the decision on each part.

    Attributes:
        decision: The decision.
        rule: The deciding rule.
        reason: The reason for a denial or a question, or empty if the command is allowed.
        parts: The parts in source order, or empty for a command longer than ``COMMAND_LIMIT``.
        widening: The access that the command needs beyond the sandbox, in words.
    """

    decision: CommandEffect
    rule: str
    reason: str
    parts: tuple[ExplainedPart, ...] = ()
    widening: str = ""


def explain_command(command: str, cwd: str, policy: Policy) -> Explanation:
    """Decide on a command as for a ``bash`` call, and explain the decision."""
    asked = CallFacts("bash", "run", command=command, cwd=cwd)
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
