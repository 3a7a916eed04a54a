"""The facts of a call, as the policy sees them: every path by every name, what a command runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.agent.session import Session
from indwell.errors import ToolError
from indwell.files import has_other_names, locate, names_of_file, read_bytes
from indwell.messages import ToolUse
from indwell.policy.asked import Asked
from indwell.policy.commands.situation import Situation
from indwell.policy.decide import COMMAND_LIMIT
from indwell.policy.named_files import run_files
from indwell.tools.base import Facts
from indwell.workspace.paths import parse

SCRIPT_LIMIT_B = 1 << 20  # of a script that an answer is bound to; a larger one is no script
NO_FILE = "nothing"  # in the place of a digest


async def asked_of(session: Session, use: ToolUse, facts: Facts) -> Asked:
    """The facts with every path as written, as it resolves (FS-05), and by its other names.

    Raises:
        ToolError: A path leads out of the workspace and of the folders that may be read.
    """
    roots = session.parts.workspace.roots
    places = [_resolved(session, written, facts) for written in facts.paths]
    resolved = [path for path, _ in places]
    linked = [path for path in resolved if has_other_names(path)]
    twins = await asyncio.to_thread(_twins, linked, roots) if linked else ()
    paths = (*facts.paths, *(display(session, str(path)) for path in (*resolved, *twins)))
    return Asked(
        tool=facts.tool,
        effect=facts.effect,
        paths=tuple(dict.fromkeys(paths)),
        resolved=tuple(str(path) for path in resolved),
        command=facts.command,
        cwd=facts.cwd,
        arguments=use.arguments,
        has_other_names=facts.effect == "edit" and bool(linked),
        wants=facts.wants,
        why=facts.why,
        leads_out=any(is_outside for _, is_outside in places),
    )


async def with_scripts(session: Session, asked: Asked) -> Asked:
    """The same, bound to what the scripts hold that a command runs, as they are now."""
    if asked.effect != "run" or len(asked.command) > COMMAND_LIMIT:
        return asked
    from indwell.policy.commands.judge import judge  # noqa: PLC0415 - no start is to wait for it

    roots = session.parts.workspace.roots
    names = tuple(map(str, roots))
    verdict = judge(asked.command, Situation(cwd=asked.cwd, roots=names))
    files = run_files(verdict.parts, asked.cwd, names)
    if not files:
        return asked
    digests = await asyncio.to_thread(_digests, [roots[0] / name for name in files], roots)
    return msgspec.structs.replace(asked, scripts=tuple(zip(files, digests, strict=True)))


def display(session: Session, path: str) -> str:
    """A path as people read it: relative to the first root that holds it."""
    for root in session.parts.workspace.roots:
        if path == str(root):
            return "."
        if path.startswith(f"{root}/"):
            return path[len(str(root)) + 1 :]
    return path


def _resolved(session: Session, written: str, facts: Facts) -> tuple[Path, bool]:
    """Where a path leads: in the workspace or, for reading, in the folders that may be read.

    True with it: a link of the workspace leads out of it, to a file that may be asked for (FS-03).

    Raises:
        ToolError: It leads elsewhere.
    """
    workspace, read_roots = session.parts.workspace, session.parts.read_roots
    try:
        return workspace.resolve(written), False
    except ToolError as outside:
        if facts.effect != "read":
            raise
        path = parse(written, workspace.roots[0])
        try:
            return locate(path, read_roots).path, False
        except ToolError:
            if facts.may_leave and any(map(path.is_relative_to, workspace.roots)):
                return locate(path, [Path(path.anchor)]).path, True
            raise outside from None


def _twins(paths: Sequence[Path], roots: Sequence[Path]) -> tuple[Path, ...]:
    """Other names of files, in their own folders and in those above, up to the root."""
    found: list[Path] = []
    for path in paths:
        inside = [root for root in roots if path.is_relative_to(root)]
        folders = [one for one in path.parents if any(map(one.is_relative_to, inside))]
        found += names_of_file(path, folders)
    return tuple(found)


def _digests(paths: Sequence[Path], roots: Sequence[Path]) -> list[str]:
    return [_digest(path, roots) for path in paths]


def _digest(path: Path, roots: Sequence[Path]) -> str:
    try:
        data = read_bytes(path, roots, SCRIPT_LIMIT_B)
    except ToolError:
        return NO_FILE
    return hashlib.blake2b(data, digest_size=16).hexdigest()
