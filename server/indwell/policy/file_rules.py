"""Applies rules for files, secrets and untrusted folders to the files that a command names."""

from __future__ import annotations

import pkgutil
import posixpath
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from indwell.files.spelling import is_absolute, quoted, relative, slashed
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.call_facts import CallFacts, Policy
from indwell.policy.commands.verdict import CommandPart, CommandVerdict
from indwell.policy.paths import could_be_beneath, is_inside, matching_glob
from indwell.policy.rules import FileEffect, file_rule, globs_of, is_for_files, own_globs
from indwell.policy.shell.items import joined
from indwell.policy.shell.words import STAR, UNKNOWN

MOST_SCRIPTS = 8  # A command has at most 8 scripts, because nobody would read a longer list.
MOST_CANDIDATES = 2_000  # A command has at most 2,000 candidate names, which take 5 ms to check.

# These characters replace text that is known only at run time.
_UNKNOWN = frozenset((STAR, UNKNOWN))
_IS_WORD = lazy_pattern(r"[^\s;&|<>()\"'$=`]*")


def named_files(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Return each word that may name a file; a path in the workspace is relative."""
    return tuple(_relative(path, roots) for path in named_paths(parts, cwd, roots))


def named_paths(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Return each word that may name a file, as an absolute path."""
    found = (
        joined(folder, word)
        for part in parts
        for folder in part.folders or ("",)
        for one in _operands(part)
        for word in _paths_in(one)
    )
    return tuple(dict.fromkeys(_absolute(path, cwd, roots) for path in found))


def _operands(part: CommandPart) -> tuple[str, ...]:
    """Return a command's words without a bare program name, because the shell finds it on PATH."""
    first = part.words[0] if part.words else ""
    after = part.text[len(first) : len(first) + 1]
    is_program = (
        "/" not in slashed(first) and part.text.startswith(first) and after in {"", " ", "\t"}
    )
    return part.words[1:] if is_program else part.words


class Bound(msgspec.Struct, frozen=True):
    """Workspace files that may decide what a command does, whether they exist or not.

    Attributes:
        names: Absolute paths.
        is_all: Whether the list is complete.
    """

    names: tuple[str, ...] = ()
    is_all: bool = True


def bound_files(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> Bound:
    """Return the workspace files that a command may run or obey.

    Examples are ``./build.sh``, ``make.py`` in ``timeout 9 python -W ignore make.py``, ``x`` in
    ``bash < x``, and the ``Makefile`` of ``make test``. Files that do not exist yet are included.
    """
    acting = [
        part for part in parts if part.rule != "removes"
    ]  # `rm` does not run the files that it removes.
    names = dict.fromkeys(name for part in acting for name in _inside(part, cwd, roots))
    is_known = all(map(_is_known, acting))
    return Bound(tuple(names)[:MOST_CANDIDATES], is_known and len(names) <= MOST_CANDIDATES)


def _is_known(part: CommandPart) -> bool:
    return bool(part.folders) and not any(map(_UNKNOWN.intersection, part.words))


def _candidates(words: Sequence[str]) -> tuple[str, ...]:
    """Return the texts in a command's words that may name a file that the command runs or obeys."""
    texts = [text for word in words for text in (*_paths_in(word), *_attached(word))]
    inner = (word for word in words if not _IS_WORD.fullmatch(word))
    texts += [token for word in inner for token in _TOKEN.findall(word)]
    texts = [text for text in texts if text and text != "."]
    own = project_files(texts)
    folders = [text for text in texts if "/" in text or not text.startswith("-")] if own else []
    return (*texts, *own, *(f"{folder}/{name}" for folder in folders for name in own))


def _attached(word: str) -> tuple[str, ...]:
    """Return the value attached to a one-letter option, such as ``sub`` in ``-Csub``."""
    is_option = len(word) > 2 and word[0] == "-" and word[1] != "-"  # noqa: PLR2004
    return (word[2:],) if is_option else ()


def _inside(part: CommandPart, cwd: str, roots: Sequence[str]) -> Iterator[str]:
    for text in _candidates(part.words):
        for folder in part.folders or ("",):
            path = _absolute(joined(folder, text), cwd, roots)
            if path.isprintable() and path not in roots and is_inside(path, tuple(roots)):
                yield path


def _paths_in(word: str) -> tuple[str, ...]:
    """Return a word, and its parts after ``=`` (an option's value) or ``:`` (a git revision)."""
    behind = (word.partition(mark)[2] for mark in ("=", ":") if "://" not in word or mark == "=")
    return (word, *filter(None, behind))


def _absolute(word: str, cwd: str, roots: Sequence[str]) -> str:
    plain = slashed(word)
    start = "" if is_absolute(plain) else cwd or (roots[0] if roots else "/")
    return posixpath.normpath(posixpath.join(start, plain))


def _relative(path: str, roots: Sequence[str]) -> str:
    found = (relative(path, root) for root in roots)
    return next((one for one in found if one is not None), path)


_TOKEN = lazy_pattern(r"[^\s;&|<>()\"'$=`]+")


def by_file_rules(verdict: CommandVerdict, asked: CallFacts, policy: Policy) -> CommandVerdict:
    """Make the verdict on a command stricter if the files named in the command's text require it.

    The text is enough because the sandbox limits what the programs themselves can reach.
    """
    if _acts_in_restricted(verdict, asked, policy):
        return CommandVerdict("deny", "restricted folder", "it names a folder that is not trusted")
    own = own_globs(policy.deny)
    if not own and not any(map(is_for_files, (*policy.rules.deny, *policy.rules.ask))):
        return verdict
    effects: tuple[FileEffect, ...] = ("read", "edit")
    named = named_files(verdict.parts, asked.cwd, policy.roots)
    # Words with unknown parts are left out.
    names = tuple(name for name in named if name.isprintable())
    secret = next((one for one in names if matching_glob(one, own)), "")
    if secret:
        by = f"deny: {matching_glob(secret, own)}"
        return CommandVerdict(
            "deny", by, f"the user keeps {quoted(secret)} from you", parts=verdict.parts
        )
    for effect in effects[: 1 if verdict.reads_only else 2]:
        by_rule = file_rule(effect, names, policy.rules.deny)
        if by_rule:
            return CommandVerdict(
                "deny",
                f"deny: {by_rule}",
                f"the user's rule {by_rule!r} denies a file that it names",
            )
        by_rule = file_rule(effect, names, policy.rules.ask)
        if by_rule and verdict.decision != "deny":
            reason = verdict.reason or "your rules ask about a file that it names"
            verdict = CommandVerdict(
                "ask", f"ask: {by_rule}", reason, parts=verdict.parts, widening=verdict.widening
            )
    is_known = len(names) == len(named) and all(part.folders for part in verdict.parts)
    is_sure = is_known or verdict.reads_only or verdict.decision != "allow"
    if is_sure or not globs_of("edit", (*policy.rules.deny, *policy.rules.ask)):
        return verdict
    reason = "the files that it names are known only at run time, and you have rules for files"
    return CommandVerdict(
        "ask", "ask: edit", reason, parts=verdict.parts, widening=verdict.widening
    )


def _acts_in_restricted(verdict: CommandVerdict, asked: CallFacts, policy: Policy) -> bool:
    """Return whether a command names an untrusted folder and does more than read there.

    Any git command counts, because even a reading command runs programs from the repository's
    settings.
    """
    if not policy.restricted:
        return False
    words = (word for part in verdict.parts for word in part.words)
    if verdict.reads_only and not any(map(_is_git, words)):
        return False
    tokens = CommandPart(asked.command, 0, 0, tuple(_TOKEN.findall(asked.command)), "ask", "")
    places = named_paths((*verdict.parts, tokens), asked.cwd, policy.roots)
    return any(could_be_beneath(place, policy.restricted) for place in places)


def _is_git(word: str) -> bool:
    return posixpath.basename(slashed(word)).lower() in {"git", "git.exe"}


_FILES = msgspec.json.decode(
    pkgutil.get_data(__name__, "project_files.json") or b"", type=dict[str, tuple[str, ...]]
)


def project_files(words: Sequence[str]) -> tuple[str, ...]:
    """Return the project files that the programs in a command obey.

    Every word may be the program, because a complete list of wrappers is impossible.
    """
    names = (name for word in words for name in _FILES.get(posixpath.basename(word), ()))
    return tuple(dict.fromkeys(names))
