"""The user's rules (``deny`` over ``ask`` over ``allow``), and access beyond the sandbox."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import msgspec

from indwell.policy.paths import listed_matching_glob, matching_glob
from indwell.settings.credentials import SECRETS

FileEffect: TypeAlias = Literal["read", "edit"]
Subject: TypeAlias = Literal["read", "edit", "tool"]
_ALSO = {"write": "edit"}  # Both subjects have the same meaning.
_SUBJECTS: tuple[Subject, ...] = get_args(Subject)
ANY_HOST = "*"
ShellLanguage: TypeAlias = Literal["bash", "powershell"]
"""The languages of command texts that the policy reads."""


class PatternRules(msgspec.Struct, frozen=True):
    """The user's patterns, grouped by decision.

    A pattern applies to commands, such as ``git push *`` (see ``commands.patterns``), to files
    that tools read or change (``read: docs/**``, ``edit: src/**``), or to a tool by name (``tool:
    write_file``).
    """

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def for_commands(self) -> PatternRules:
        """The patterns for commands only."""
        if not any(map(_subject_of, (*self.allow, *self.ask, *self.deny))):
            return self
        allow, ask, deny = (
            tuple(one for one in patterns if not _subject_of(one))
            for patterns in (self.allow, self.ask, self.deny)
        )
        return PatternRules(allow, ask, deny)


def globs_of(subject: Subject, patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the globs of the patterns for this subject.

    A glob that begins with ``!`` is dropped: rules have no exceptions.
    """
    rests = (_rest(one) for one in patterns if _subject_of(one) == subject)
    return tuple(rest for rest in rests if not rest.startswith("!"))


def is_for_files(pattern: str) -> bool:
    """Return whether a pattern applies to files, not to commands or tools."""
    return _subject_of(pattern) in {"read", "edit"}


def file_rule(
    effect: Literal["read", "edit"], paths: Iterable[str], patterns: tuple[str, ...]
) -> str:
    """Return the first pattern that matches one of ``paths``, or an empty text if none does."""
    globs = globs_of(effect, patterns)
    if not globs:
        return ""
    found = filter(None, (matching_glob(path, globs) for path in paths))
    return next((f"{effect}: {glob}" for glob in found), "")


def covers_files(
    effect: Literal["read", "edit"], paths: tuple[str, ...], allow: tuple[str, ...]
) -> str:
    """Return the pattern that allows the first path if all are allowed, or an empty text."""
    globs = globs_of(effect, allow)
    if not globs or not paths:
        return ""
    found = [listed_matching_glob(path, globs) for path in paths]
    return f"{effect}: {found[0]}" if all(found) else ""


def tool_rule(tool: str, patterns: Iterable[str]) -> str:
    """Return the first pattern that matches the name of this tool, or an empty text."""
    name = tool.casefold()
    found = (one for one in globs_of("tool", patterns) if fnmatch.fnmatchcase(name, one.casefold()))
    return next((f"tool: {one}" for one in found), "")


def aimless(rules: PatternRules, tools: Iterable[str]) -> str:
    """Return a warning about rules that name unknown tools, or an empty text if there are none."""
    names = tuple(tools)
    patterns = dict.fromkeys(globs_of("tool", (*rules.allow, *rules.ask, *rules.deny)))
    lost = [
        one
        for one in patterns
        # A tool with such a name belongs to an MCP server, which may start later.
        if "__" not in one and not any(tool_rule(name, (f"tool: {one}",)) for name in names)
    ]
    if not lost:
        return ""
    named = ", ".join(f"'tool: {one}'" for one in lost)
    return f"your rules name unknown tools: {named}; the tools are {', '.join(names)}"


@lru_cache(maxsize=64)
def own_globs(deny: tuple[str, ...]) -> tuple[str, ...]:
    """Return the user's own globs of ``deny``; such files are denied without a question."""
    if deny[: len(SECRETS)] != SECRETS:
        return deny
    spared = tuple(one for one in deny if one.startswith("!"))
    return (*(one for one in deny[len(SECRETS) :] if not one.startswith("!")), *spared)


@lru_cache(maxsize=4096)  # The result is cached, because each decision needs the parsed patterns.
def _subject_of(pattern: str) -> Subject | None:
    head, colon, _ = pattern.partition(":")
    word = head.strip().casefold()
    word = _ALSO.get(word, word)
    return next((one for one in _SUBJECTS if colon and word == one), None)


def _rest(pattern: str) -> str:
    return pattern.partition(":")[2].strip()


class Widening(msgspec.Struct, frozen=True):
    """Access beyond the sandbox's default, or less than the default, for one call.

    Attributes:
        hosts: Hosts the command may reach through the proxy, such as ``github.com``; ``ANY_HOST``
            for all. An empty list means no network (SBX-20).
        shows_secrets: The command may read files that the sandbox otherwise hides.
        writes_protected: The command may change protected workspace files (``package.json`` …), as
            a git checkout does, but not git's own configuration and hooks.
        installs: The command may change programs that package managers install into the workspace
            (`.venv/bin`, `node_modules/.bin`), as `pip install` does.
        unconfined: The command runs outside the sandbox, with all of the user's permissions.
        reads_only: A restriction: the command was allowed without a question, so it may write
            nowhere.
        keeps_git: A restriction: the command was allowed without a question and runs no git, so it
            may not change `.git`.
    """

    hosts: tuple[str, ...] = ()
    shows_secrets: bool = False
    writes_protected: bool = False
    unconfined: bool = False
    reads_only: bool = False
    keeps_git: bool = False
    installs: bool = False

    @property
    def words(self) -> str:
        """The further access as a phrase, such as ``with network to github.com``; may be empty."""
        if self.unconfined:
            return "outside the sandbox"
        hosts = "any host" if ANY_HOST in self.hosts else ", ".join(self.hosts)
        parts = [f"with network to {hosts}"] if hosts else []
        if self.shows_secrets:
            parts.append("with your secret files readable")
        if self.writes_protected:
            parts.append("with protected files of the workspace writable")
        if self.installs:
            parts.append("with the workspace's installed programs writable")
        return " and ".join(parts)


NOTHING_MORE = Widening()
