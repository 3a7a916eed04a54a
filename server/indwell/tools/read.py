"""``read_file``: numbered lines of a file, as the editor shows it (H45)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.files import read_bytes
from indwell.tools.base import Facts, Outcome, Tool, ToolContext
from indwell.workspace.base import Snapshot, Stamp, digest
from indwell.workspace.paths import parse
from indwell.workspace.text import decode, split_lines

MAX_LINES = 2_000  # H45
LINE_CHARS = 2_000
TOTAL_CHARS = 256_000
SPILL_LIMIT_B = 64 << 20


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``read_file``."""

    path: str
    offset: Annotated[int, msgspec.Meta(ge=1, description="first line, from 1")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="lines, at most 2000")] = MAX_LINES


def make_read_file() -> Tool[ReadFile]:
    """The tool."""
    return Tool(
        name="read_file",
        description=(
            "Read a text file as numbered lines (number, tab, line). Read before editing; search "
            "with grep first if it is long."
        ),
        arguments=ReadFile,
        effect="read",
        facts=lambda arguments: Facts(tool="read_file", effect="read", paths=(arguments.path,)),
        run=_run,
    )


async def _run(arguments: ReadFile, context: ToolContext) -> Outcome:
    snapshot = await _snapshot(arguments.path, context)
    context.seen.record(snapshot.path, snapshot.stamp.digest, snapshot.text)
    return await asyncio.to_thread(_render, arguments, snapshot)


async def _snapshot(path: str, context: ToolContext) -> Snapshot:
    """The file in the workspace, else beneath the folders that may only be read."""
    try:
        resolved = context.workspace.resolve(path)
    except ToolError:
        if not context.read_roots:
            raise
        written = parse(path, context.workspace.roots[0])
        return await asyncio.to_thread(_read_beneath, written, context.read_roots)
    return await context.workspace.read(resolved)


def _read_beneath(path: Path, roots: Sequence[Path]) -> Snapshot:
    decoded = decode(read_bytes(path, roots, SPILL_LIMIT_B))
    return Snapshot(
        path=path,
        text=decoded.text,
        stamp=Stamp(digest(decoded.text)),
        lossless=decoded.lossless,
    )


def _render(arguments: ReadFile, snapshot: Snapshot) -> Outcome:
    lines = split_lines(snapshot.text)
    if not lines:
        return Outcome(text=f"{arguments.path!r} is empty", figure="empty")
    first = arguments.offset - 1
    if first >= len(lines):
        raise ToolError(
            f"{arguments.path!r} has {len(lines)} lines; offset {arguments.offset} is past its end"
        )
    shown: list[str] = []
    room = TOTAL_CHARS
    for number in range(first, min(first + min(arguments.limit, MAX_LINES), len(lines))):
        line = f"{number + 1}\t{_cut_line(lines[number].rstrip(chr(13) + chr(10)))}"
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    stop = first + len(shown)
    notes = []
    if stop < len(lines):
        notes.append(
            f"lines {arguments.offset} to {stop} of {len(lines)}; go on with offset={stop + 1}"
        )
    if snapshot.unsaved:
        notes.append("this is the editor's text, which is not saved yet")
    if not snapshot.lossless:
        notes.append("bytes that are no text are shown as \\xNN; edit_file cannot edit this file")
    text = "\n".join(shown + [f"[{note}]" for note in notes])
    return Outcome(text=text, figure=f"{len(shown)} lines" if len(shown) != 1 else "1 line")


def _cut_line(line: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    return f"{line[:LINE_CHARS]}[… {len(line) - LINE_CHARS:,} more characters]"
