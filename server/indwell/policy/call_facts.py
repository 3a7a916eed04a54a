"""Describes a tool call, the policy and its decisions, and the rules that approvals store."""

from __future__ import annotations

from shlex import quote
from typing import Literal, TypeAlias

import msgspec

from indwell.policy.commands.verdict import CommandPart
from indwell.policy.rules import (
    ANY_HOST,
    NOTHING_MORE,
    PatternRules,
    ShellLanguage,
    Widening,
)
from indwell.policy.web_address import web_address
from indwell.settings.model import Mode

Effect: TypeAlias = Literal["read", "edit", "run", "external"]
"""The effect of a tool, on which permission, logging and parallel execution depend.

``external``: a program that is not part of Indwell does the work, and may do anything.
"""


class ForeignTool(msgspec.Struct, frozen=True):
    """A tool of an MCP server.

    Attributes:
        server: The name of the server.
        name: The name of the tool as the server spells it.
        digest: A digest of the server's definition, and of the tool's description and schema.
        claims: What the server claims about the effect; the user sees it, but no decision depends
            on it.
        is_changed: Whether description or schema differ from what the session saw first.
        is_near: Whether the server is on this machine, where it may change files.
    """

    server: str
    name: str
    digest: str
    claims: tuple[str, ...] = ()
    is_changed: bool = False
    is_near: bool = True


class CallFacts(msgspec.Struct, frozen=True):
    """What the policy knows about one tool call.

    Attributes:
        tool: Name of the tool.
        effect: Read, edit or run.
        paths: Every path of the call, as written and as resolved; a path in the workspace is
            relative.
        resolved: The targets of the paths, absolute.
        command: The shell command, or empty if the call runs none.
        cwd: The working directory, relative to the workspace.
        arguments: The whole call as JSON text, to which an approval is bound.
        has_other_names: Whether a file to be changed has other hard links, whose paths are unknown.
        wants: The access beyond the sandbox that the model requested.
        why: The model's reason for that request, which never affects the decision.
        leads_out: Whether a link in the workspace leads to a file outside, which the call would
            read.
        scripts: Workspace files that the command runs, each with the digest of its content.
        programs: Workspace files that the command runs through PATH, if no sandbox would confine
            the command; ``scripts`` lists them too.
        is_git: Whether the file to be changed belongs to a bare git repository, or would if its
            folder became one.
        unknown: Unlisted dot names at the root of a repository in the workspace, and 8.3 names that
            could mean such names. The file to be changed has such a name or lies beneath such a
            folder.
        is_private: Whether the workspace is a home folder, and the file is at a path where programs
            keep keys.
        address: The web page that the call fetches, or empty if it fetches none.
        batch_files: Names of batch files on PATH (Windows) among the command's words, in lower
            case.
        keeps: The owner of a memory that the call would store beyond the session, such as ``for
            you``, or empty if it stores nothing.
        background: Whether the command keeps running after the call has ended.
        foreign: The tool of an MCP server that the call is for.
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
    foreign: ForeignTool | None = None
    batch_files: tuple[str, ...] = ()
    address: str = ""


class Allow(msgspec.Struct, frozen=True):
    """Runs the call with the access in ``widening``; ``by`` is the deciding rule, for the log."""

    by: str = ""
    widening: Widening = NOTHING_MORE


class Ask(msgspec.Struct, frozen=True):
    """Ask the user for approval.

    Attributes:
        reason: The reason for the question; the user sees it.
        rule: The rule that a permanent approval would store, or empty if none is possible.
        by: The deciding rule, for the log.
        widening: The access beyond the sandbox that an approval grants to this one call.
        risky: The parts of the command that need approval.
    """

    reason: str
    rule: str
    by: str = ""
    widening: Widening = NOTHING_MORE
    risky: tuple[CommandPart, ...] = ()


class Deny(msgspec.Struct, frozen=True):
    """Refuses the call; the model sees ``reason``; ``by`` is the deciding rule, for the log."""

    reason: str
    by: str = ""


Decision: TypeAlias = Allow | Ask | Deny


class Policy(msgspec.Struct, frozen=True):
    """The user's rules, and what decisions need to know about the workspace.

    Attributes:
        mode: The mode, which decides how often the user is asked.
        deny: Globs of files whose contents never reach the model. If the list begins with the globs
            of ``SECRETS``, reading files of these globs only needs approval.
        granted: Exact rules of approvals for this session or for all sessions.
        own: Absolute folders of Indwell itself: settings, permissions, sessions. No tool may use
            them, even inside the workspace.
        readable: Absolute folders beneath ``own`` that tools may still read.
        rules: The user's rules.
        restricted: Absolute workspace folders that the user does not trust: tools may neither
            change nor run anything in them.
        roots: The workspace's folders, absolute.
        writes_confined: Whether commands run in a sandbox that keeps their writes in the workspace.
        sandbox: A short description for people of the sandbox for commands that the user approved.
        readers_sandbox: The description for commands that run without a question because they only
            read, or empty if it equals ``sandbox``.
        asks_for_all: Whether every command needs approval (Windows). Windows has no sandbox, and
            its programs parse their arguments by other rules than the shell.
        secret_files: Absolute workspace paths that lead to secret files; reading them needs
            approval if no sandbox hides them.
        obeyed: Absolute files and folders that git is configured to run or obey; these are
            protected, too.
        repositories: Absolute folders with git settings the user has not approved; without a
            sandbox, running git there needs approval.
        in_git: Protected files, in words, that a command put into git's index or commits without
            approval. A command that could send such files needs approval.
        git_unchecked: Changes to git's data, in words, that could not be checked. A command that
            could send such changes needs approval.
        harmless: Unlisted dot names that the user declares harmless.
        repository_roots: Absolute root folders of the workspace's repositories, where tools also
            look for settings.
        unknown_git: Absolute folders where git needs approval, because the user has not looked at
            the files that git would run or obey there.
        language: The language of command texts.
        web_hosts: Hosts whose pages the user lets the agent fetch without a question.
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
    readers_sandbox: str = ""
    asks_for_all: bool = False
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    in_git: tuple[str, ...] = ()
    git_unchecked: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()
    unknown_git: tuple[str, ...] = ()
    language: ShellLanguage = "bash"
    web_hosts: tuple[str, ...] = ()


BY_ANSWER = "your answer: "  # ``by`` begins with this prefix if an earlier approval decided.
NO_FILE = "nothing"  # This word replaces the digest of an unreadable file.
_SHOWN = 16  # A digest of 16 hex digits (64 bits) makes a second preimage infeasible.


def rule_of(asked: CallFacts, *, confined: bool = False, widening: Widening = NOTHING_MORE) -> str:
    """Return the rule that a permanent approval stores; unusual file names are quoted.

    Args:
        asked: The call.
        confined: Whether the approval is for a sandboxed command and applies only in the sandbox.
        widening: The access beyond the sandbox that the rule grants.
    """
    if asked.foreign is not None:
        return f"{asked.tool} with any arguments, as of {asked.foreign.digest[:_SHOWN]}"
    if asked.effect == "run":
        how = [", sandboxed"] if confined else []
        how += [f" {widening.words}"] if widening.words else []
        how += [f", {quote(name)} as of {digest[:_SHOWN]}" for name, digest in asked.scripts]
        return f"{asked.tool} in {quote(asked.cwd or '.')}{''.join(how)}: {asked.command}"
    if asked.address:
        return f"{asked.tool}: {web_address(asked.address).origin}"
    return f"{asked.tool}: {', '.join(quote(path) for path in sorted(set(asked.paths)))}"


def covers_later_calls(asked: CallFacts, widening: Widening) -> bool:
    """Return whether an approval of this call can also cover later calls.

    An approval covers only one call if the call may reach every host, secrets, protected files or
    the whole machine, if a script could not be read, or if the model itself requested the access
    (POL-16, SBX-21).
    """
    is_bounded = not (widening.unconfined or widening.shows_secrets or widening.writes_protected)
    if any(digest == NO_FILE for _, digest in asked.scripts):
        return False
    return is_bounded and ANY_HOST not in widening.hosts and asked.wants == NOTHING_MORE


def is_granted(
    asked: CallFacts, granted: frozenset[str], widening: Widening, *, confined: bool
) -> str:
    """Return the earlier approval that allows this call, or an empty text if there is none.

    An approval given without a sandbox also applies in a sandbox, but not the reverse.
    """
    if not covers_later_calls(asked, widening):
        return ""
    ways = (False, True) if confined else (False,)
    rules = (rule_of(asked, confined=one, widening=widening) for one in ways)
    return next((rule for rule in rules if rule in granted), "")
