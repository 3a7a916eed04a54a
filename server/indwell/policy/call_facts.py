"""The facts of one tool call that policy decides on, and the rule that stores a standing answer."""

from __future__ import annotations

from shlex import quote
from typing import Literal, TypeAlias

import msgspec

from indwell.policy.commands.verdict import CommandPart
from indwell.policy.rules import PatternRules
from indwell.policy.widening import ANY_HOST, NOTHING_MORE, Widening
from indwell.settings.model import Mode

Effect: TypeAlias = Literal["read", "edit", "run"]
"""What a tool does to the world; policy, log and parallelism go by it."""


class CallFacts(msgspec.Struct, frozen=True):
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
        why: The model's words for that; nothing in them counts.
        leads_out: A link of the workspace leads to a file outside of it, which is to be read.
        scripts: Files of the workspace that the command runs, with digests of what they hold.
        programs: Files of the workspace that bare words of the command run, as PATH leads there,
            where no sandbox would hold it; they stand among the scripts too.
        is_git: A file that would be changed lies in a repository of git, whatever its folder is
            called.
        unknown: Names with a dot in front that no list holds, at the root of a repository within
            the workspace: what would be changed is one of them, or lies beneath it.
        is_private: A file lies where programs keep keys, in a home folder that is the workspace.
        keeps: For whom it would keep something beyond the session, such as ``for you``; empty if
            it keeps nothing.
        background: The command goes on when the call has ended.
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
    why: str = ""
    leads_out: bool = False
    scripts: tuple[tuple[str, str], ...] = ()
    is_git: bool = False
    programs: tuple[str, ...] = ()
    keeps: str = ""
    background: bool = False
    unknown: tuple[str, ...] = ()
    is_private: bool = False


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
    risky: tuple[CommandPart, ...] = ()


class Deny(msgspec.Struct, frozen=True):
    """Do not run it; ``reason`` goes to the model, ``by`` is the rule that won, for the log."""

    reason: str
    by: str = ""


Decision: TypeAlias = Allow | Ask | Deny


class Policy(msgspec.Struct, frozen=True):
    """What decisions go by.

    Attributes:
        mode: How much the user wants to be asked.
        deny: Globs of files whose contents never reach the model; those of ``SECRETS``, if they
            stand in front, are only asked for.
        granted: Exact rules that the user gave, for this session or for always.
        own: Absolute folders of Indwell itself: settings, permissions, sessions. No tool goes
            there, also when the workspace holds them.
        readable: Absolute folders beneath ``own`` that may be read all the same.
        rules: The user's rules.
        restricted: Absolute folders of the workspace that the user does not trust: nothing in them
            is changed or run.
        roots: The workspace's folders, absolute.
        writes_confined: Commands run in a sandbox that keeps their writes in the workspace.
        sandbox: How well commands are held here, in a few words for people.
        asks_for_all: Every command is asked for, as on Windows: nothing holds it there, and what it
            starts may read its words by other rules than bash.
        secret_files: Names in the workspace that lead to secret files, absolute: where no sandbox
            hides them, reading them is asked for.
        obeyed: Files and folders, absolute, that git is told to run or obey: protected as well.
        repositories: Folders with settings of git that nobody was asked about, absolute: without a
            sandbox, git may not even look there unasked.
        in_git: Protected files that a command brought into git's index or commits, in words, and
            that the user has not agreed to: what could send them is asked for.
        git_unchecked: What of git's data a command changed so that it could not be checked, in
            words: what could send it is asked for, too.
        harmless: Unknown dot names that the user declares harmless.
        repository_roots: Folders of the workspace's repositories, absolute: at their roots, too,
            tools look for settings.
    """

    mode: Mode
    deny: tuple[str, ...] = ()
    granted: frozenset[str] = frozenset()
    own: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    rules: PatternRules = PatternRules()
    restricted: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    writes_confined: bool = False
    sandbox: str = ""
    asks_for_all: bool = False
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    in_git: tuple[str, ...] = ()
    git_unchecked: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()


BY_ANSWER = "your answer: "  # what a decision by a standing answer begins with
NO_FILE = "nothing"  # in the place of a digest
_SHOWN = 16  # characters of a digest: 64 bits, more than anybody can search for a twin


def rule_of(asked: CallFacts, *, confined: bool = False, widening: Widening = NOTHING_MORE) -> str:
    """The rule in words; odd names stand in quotes, so that none can pass for part of a command.

    Args:
        asked: The call.
        confined: The answer was given for a command in the sandbox, and counts only there.
        widening: What it may do beyond the sandbox.
    """
    if asked.effect == "run":
        how = [", sandboxed"] if confined else []
        how += [f" {widening.words}"] if widening.words else []
        how += [f", {quote(name)} as of {digest[:_SHOWN]}" for name, digest in asked.scripts]
        return f"{asked.tool} in {quote(asked.cwd or '.')}{''.join(how)}: {asked.command}"
    return f"{asked.tool}: {', '.join(quote(path) for path in sorted(set(asked.paths)))}"


def may_stand(asked: CallFacts, widening: Widening) -> bool:
    """Can an answer to this be for more than one call?

    Not for what a program may change between two calls and then does with all that the user can
    do, and never for what the model asked for by itself (POL-16, SBX-21).
    """
    is_bounded = not (widening.unconfined or widening.shows_secrets or widening.writes_protected)
    if any(digest == NO_FILE for _, digest in asked.scripts):
        return False
    return is_bounded and ANY_HOST not in widening.hosts and asked.wants == NOTHING_MORE


def is_granted(
    asked: CallFacts, granted: frozenset[str], widening: Widening, *, confined: bool
) -> str:
    """The standing rule that allows this call; empty if there is none.

    One given without a sandbox holds inside of one, not the other way round.
    """
    if not may_stand(asked, widening):
        return ""
    ways = (False, True) if confined else (False,)
    rules = (rule_of(asked, confined=one, widening=widening) for one in ways)
    return next((rule for rule in rules if rule in granted), "")
