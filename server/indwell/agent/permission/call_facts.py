"""Describes a tool call for the policy: the call's paths, other names of these, its command."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from indwell.agent.core.session import Session
from indwell.bounds.rules import Rules
from indwell.bounds.secrets import folders_above, other_names
from indwell.errors import ToolError
from indwell.files.beneath import locate
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import exists, has_other_names, is_file
from indwell.files.spelling import HERE, relative, slashed
from indwell.policy.call_facts import NO_FILE, CallFacts
from indwell.policy.commands.path_rules import Situation
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.decide import judged
from indwell.policy.file_rules import MOST_SCRIPTS, Bound, bound_files
from indwell.policy.guarded_paths import BARE, is_obeyed_by_git
from indwell.policy.paths import is_at_root_unknown, is_short_at_root
from indwell.sandbox.environment import program_within
from indwell.sandbox.starting import batch_files
from indwell.tools.base import ToolFacts
from indwell.workspace.paths import parse

SCRIPT_LIMIT_B = 1 << 20  # the limit of bytes for a script that a permission is bound to


async def call_facts(session: Session, rules: Rules, arguments: str, facts: ToolFacts) -> CallFacts:
    """Describe a call for the policy: each path as written and resolved, and hard links.

    Args:
        session: The session of the call.
        rules: The snapshot of the rules that decides on the call.
        arguments: The call's arguments as JSON, under Indwell's names.
        facts: The tool, effect, paths and command that the tool planned for the call.

    Raises:
        ToolError: A path is outside of the workspace and the readable folders.
    """
    roots = session.parts.workspace.roots
    places = [_resolved(session, written, facts) for written in facts.paths]
    resolved = [path for path, _ in places]
    linked = [path for path in resolved if has_other_names(path)]
    twins = await asyncio.to_thread(_twins, linked, roots, rules) if linked else ()
    paths = (*facts.paths, *(display(session, str(path)) for path in (*resolved, *twins)))
    return CallFacts(
        tool=facts.tool,
        effect=facts.effect,
        paths=tuple(dict.fromkeys(paths)),
        resolved=tuple(path.as_posix() for path in resolved),
        command=facts.command,
        cwd=facts.cwd,
        arguments=arguments,
        has_other_names=facts.effect == "edit" and bool(linked),
        wants=facts.wants,
        why=facts.why,
        leads_out=any(is_outside for _, is_outside in places),
        is_git=facts.effect == "edit" and any(_is_of_git(path, roots) for path in resolved),
        unknown=_unknown_at_roots(resolved, roots) if facts.effect == "edit" else (),
        is_private=any(map(rules.is_private, resolved)),
        keeps=facts.keeps,
        background=facts.background,
        address=facts.address,
        foreign=facts.foreign,
    )


async def with_scripts(session: Session, rules: Rules, asked: CallFacts) -> CallFacts:
    """Add digests of the command's scripts, so that a permission holds only for their content."""
    if asked.effect != "run":
        return asked
    from indwell.policy.commands.judge import judge  # noqa: PLC0415 - no start is to wait for it
    from indwell.policy.shell.parse import judged_text  # noqa: PLC0415 - as above

    roots = session.parts.workspace.roots
    names = tuple(root.as_posix() for root in roots)
    situation, text = Situation(cwd=asked.cwd, roots=names), asked.command
    if rules.policy.language == "bash":
        text = judged_text(text)
    else:
        situation = situation.in_powershell()
    if not text:
        return asked  # the policy denies the command in any case
    verdict = judge(text, situation)
    files = bound_files(verdict.parts, asked.cwd, names)
    scripts: tuple[tuple[str, str], ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    if verdict.widening.unconfined or rules.confine(asked.wants) is None:
        programs = await asyncio.to_thread(planted, verdict.parts, roots)
    if files != Bound():
        scripts = await asyncio.to_thread(_digests, session, files)
    bound = tuple((display(session, name), digest) for name, digest in programs)
    names = tuple(name for name, _ in bound)
    return msgspec.structs.replace(asked, scripts=(*scripts, *bound), programs=names)


async def with_batch_files(session: Session, rules: Rules, asked: CallFacts) -> CallFacts:
    """Record which of a command's programs are batch files."""
    if asked.effect != "run" or rules.policy.language != "powershell":
        return asked
    words = _bare_words(judged(asked, rules.policy).parts)
    # There are too many words to look up, so each word counts as a batch file.
    if len(words) > MOST_LOOKED_UP:
        return msgspec.structs.replace(asked, batch_files=tuple(word.lower() for word in words))
    found = await asyncio.to_thread(batch_files, words, session.parts.workspace.roots)
    return msgspec.structs.replace(asked, batch_files=found)


def display(session: Session, path: str) -> str:
    """Return a path for display, with ``/``, relative to the first root that contains it."""
    found = (relative(path, str(root)) for root in session.parts.workspace.roots)
    return next((one for one in found if one is not None), slashed(path))


def _resolved(session: Session, written: str, facts: ToolFacts) -> tuple[Path, bool]:
    """Resolve a path in the workspace or, for reading, in the readable folders.

    Returns:
        The path, and whether a link leads out of the workspace to a file that the user may allow.

    Raises:
        ToolError: The path is outside of the workspace and the readable folders.
    """
    workspace = session.parts.workspace
    try:
        return workspace.resolve(written), False
    except ToolError as outside:
        if facts.effect != "read":
            raise
        path = parse(written, workspace.roots[0])
        try:
            return locate(path, session.parts.readable.folders).path, False
        except ToolError:
            if facts.may_leave and any(map(path.is_relative_to, workspace.roots)):
                return locate(path, [Path(path.anchor)]).path, True
            raise outside from None


def _twins(paths: Sequence[Path], roots: Sequence[Path], rules: Rules) -> tuple[Path, ...]:
    return other_names(paths, roots, rules.secret_files())


def _is_of_git(path: Path, roots: Sequence[Path]) -> bool:
    """Return whether a file is in a bare git repository, or a folder that could become one."""
    return any(
        exists(folder / BARE)
        and (
            is_obeyed_by_git(path.relative_to(folder).as_posix())
            or all(exists(folder / name) for name in ("objects", "refs"))
        )
        for folder in folders_above(path, roots)
    )


def _unknown_at_roots(paths: Sequence[Path], roots: Sequence[Path]) -> tuple[str, ...]:
    """Return the parts of a path at a repository's root that begin with a dot and are unknown.

    On Windows, the result also contains missing 8.3 names; Windows resolves existing names.
    """
    short = (
        path.relative_to(folder).parts[0]
        for path in (paths if HERE == "win32" else ())
        for folder in folders_above(path, roots)
        if (folder in roots or exists(folder / ".git"))
        and not exists(folder / path.relative_to(folder).parts[0])
    )
    inner = (
        path.relative_to(folder)
        for path in paths
        for folder in folders_above(path, roots)
        if exists(folder / ".git")
    )
    found = (one.parts[0] for one in inner if is_at_root_unknown(one.as_posix()))
    return (*found, *filter(is_short_at_root, short))


def _digests(session: Session, files: Bound) -> tuple[tuple[str, str], ...]:
    """Return digests of the files that exist."""
    roots = session.parts.workspace.roots
    there = [name for name in files.names if is_file(Path(name))]
    found = [(display(session, name), _digest(Path(name), roots)) for name in there[:MOST_SCRIPTS]]
    if len(there) > MOST_SCRIPTS or not files.is_all:
        found.append(("other files", NO_FILE))
    return tuple(found)


def _digest(path: Path, roots: Sequence[Path]) -> str:
    try:
        data = read_bytes(path, roots, SCRIPT_LIMIT_B)
    except ToolError:
        return NO_FILE
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# The limit of words without a slash; each word is looked up in every folder of PATH.
MOST_LOOKED_UP = 100
PROGRAM_LIMIT_B = 1 << 24  # the limit of bytes for a program that a permission is bound to


def planted(parts: Iterable[CommandPart], roots: Sequence[Path]) -> tuple[tuple[str, str], ...]:
    """Return workspace programs that a command names without a path, with digests; blocks.

    PATH may contain an environment in the workspace. A sandboxed command could create a program
    ``git`` in the environment, and a later command would run that program with all permissions of
    the user.
    """
    found = (program_within(word, roots) for word in _bare_words(parts)[:MOST_LOOKED_UP])
    return tuple((str(path), _program_digest(path, roots)) for path in found if path is not None)


def _bare_words(parts: Iterable[CommandPart]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for part in parts for word in part.words if _is_bare(word)))


def _is_bare(word: str) -> bool:
    return (
        bool(word) and "/" not in slashed(word) and not word.startswith("-") and word.isprintable()
    )


def _program_digest(path: Path, roots: Sequence[Path]) -> str:
    """Return a digest of the program, or of a link's target outside the workspace."""
    end = os.path.realpath(path)
    try:
        data = read_bytes(Path(end), roots, PROGRAM_LIMIT_B)
    except ToolError:
        if any(map(Path(end).is_relative_to, roots)):
            return NO_FILE
        data = os.fsencode(end)
    return hashlib.blake2b(data, digest_size=16).hexdigest()
