"""Defines ``read_file``: numbered lines of a file, as the editor shows it; or a picture (H45)."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import NotText, TooLarge, ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.spelling import quoted
from indwell.tools.arguments import PATHS, Given, of_struct, renamed
from indwell.tools.base import Outcome, Picture, Tool, ToolContext, ToolFacts
from indwell.tools.truncate import untorn
from indwell.workspace.base import Snapshot, TextStamp, digest
from indwell.workspace.disk import LargeFiles
from indwell.workspace.encoding.decoding import decode, nothing_declared
from indwell.workspace.large import LARGE_B, Large, LongLine, Page, page_of
from indwell.workspace.paths import display, parse
from indwell.workspace.text import binary_kind, count_lines, line_spans, shown

MAX_LINES = 2_000  # One result has at most 2,000 lines (H45).
LINE_CHARS = 2_000
# For lines of a large file, bytes are counted, not characters.
LINE_B = 2 * LINE_CHARS

PICTURE_B = 3_750_000  # The strictest large provider allows 5 MB as base64.


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``read_file``."""

    path: str
    offset: Annotated[int, msgspec.Meta(ge=1, description="first line, from 1")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="lines, at most 2000")] = MAX_LINES


def _understood(given: Given) -> Given:
    """Translate other agents' names; line 0 means the first line."""
    ours = renamed(given, PATHS)
    return {**ours, "offset": 1} if ours.get("offset") == 0 else ours


def make_read_file() -> Tool[ReadFile]:
    """Make the tool."""
    return Tool(
        name="read_file",
        description="Read a text file as numbered lines. Search a long file with grep first.",
        arguments=of_struct(ReadFile, _understood),
        effect="read",
        facts=lambda arguments: ToolFacts(
            tool="read_file", effect="read", paths=(arguments.path,), may_leave=True
        ),
        run=_run,
    )


async def _run(arguments: ReadFile, context: ToolContext) -> Outcome:
    try:
        path = context.resolve(arguments.path)
    except ToolError:
        judged = context.judged.get(arguments.path)
        if not context.readable.folders and judged is None:
            raise
        written = judged or parse(arguments.path, context.workspace.roots[0])
        return await asyncio.to_thread(_run_beneath, arguments, written, context)
    try:
        snapshot = await context.workspace.read(path)
    except NotText as found:
        return await read_picture(path, found, context)
    except TooLarge:
        page = await context.workspace.within(
            path, lambda large: _page(arguments, large, context.most_chars)
        )
        return _paged(arguments, page, context)
    return await asyncio.to_thread(_whole, arguments, snapshot, context)


def _run_beneath(arguments: ReadFile, path: Path, context: ToolContext) -> Outcome:
    """Read a file in the read-only folders, mostly a spilled text."""
    roots = context.readable.folders
    if arguments.path in context.judged and not any(map(path.is_relative_to, roots)):
        # Only the permitted path is open, which may be the target of a link.
        roots = (path.parent,)
    try:
        snapshot = _read_beneath(path, roots)
    except TooLarge:
        page = LargeFiles(roots).within(
            path,
            lambda large: _page(arguments, large, context.most_chars),
            nothing_declared,
            threading.Event(),
        )
        return _paged(arguments, page, context)
    return _whole(arguments, snapshot, context)


def _read_beneath(path: Path, roots: Sequence[Path]) -> Snapshot:
    data = read_bytes(path, roots, LARGE_B)
    decoded = decode(data)
    if decoded is None:
        kind = binary_kind(data) or "binary file"
        raise ToolError(f"{quoted(path)} is not a text but a {kind} of {len(data):,} bytes")
    return Snapshot(
        path=path,
        text=decoded.text,
        stamp=TextStamp(digest(decoded.text)),
        lossless=decoded.lossless,
        notes=decoded.notes,
    )


def _whole(arguments: ReadFile, snapshot: Snapshot, context: ToolContext) -> Outcome:
    """Return lines of a text in memory; only the requested lines are copied."""
    mark = snapshot.stamp.digest
    if not snapshot.text:
        context.seen.record_page(snapshot.path, mark, "", range(1, 2))
        return Outcome(text=f"{quoted(arguments.path)} is empty", figure="empty")
    n_lines = count_lines(snapshot.text)
    first, past = _first(arguments, n_lines)
    notes = [*past, *snapshot.notes]
    if snapshot.unsaved:
        notes.append("this is the editor's text, which is not saved yet")
    if not snapshot.lossless:
        notes.append("edit_file cannot edit this file")
    lines = islice(_lines(snapshot.text, first - 1), _limit(arguments))
    page = list(_fitting(lines, first, context.most_chars))
    outcome = _told(first, page, n_lines, notes)
    shown_lines = range(first, first + len(page))
    context.seen.record_page(snapshot.path, mark, snapshot.text, shown_lines)
    return outcome


def _page(arguments: ReadFile, large: Large, room: int) -> Page:
    page = page_of(large, arguments.offset - 1, _limit(arguments), line_b=LINE_B, total_b=room)
    first, _ = _first(arguments, page.n_lines)
    if first == arguments.offset:
        return page
    return page_of(large, first - 1, _limit(arguments), line_b=LINE_B, total_b=room)


def _paged(arguments: ReadFile, page: Page, context: ToolContext) -> Outcome:
    """Return lines of a file that is not in memory."""
    context.seen.record(page.path, page.digest, None)
    first, past = _first(arguments, page.n_lines)
    lines = list(_fitting(map(_cut_bytes, page.lines), first, context.most_chars))
    return _told(
        first, lines, page.n_lines, [*past, f"a file of {page.size_b:,} bytes", *page.notes]
    )


SHOWN_AT_END = 50  # the number of shown lines if a requested range begins after the file's end


def _first(arguments: ReadFile, n_lines: int) -> tuple[int, tuple[str, ...]]:
    """Return the first line to show, and a note if the range goes past the end of the file."""
    first, last = arguments.offset, arguments.offset + arguments.limit - 1
    many = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
    if first > n_lines:
        note = f"the file has {many}, and line {first:,} is past its end: these are the last ones"
        return max(1, n_lines - min(_limit(arguments), SHOWN_AT_END) + 1), (note,)
    if first > 1 and last > n_lines and arguments.limit < MAX_LINES:
        return first, (f"the file has {many}, so line {last:,} is past its end",)
    return first, ()


def _told(first: int, lines: list[str], n_lines: int, notes: list[str]) -> Outcome:
    last = first + len(lines) - 1
    if last < n_lines:
        notes.insert(0, f"lines {first} to {last} of {n_lines:,}; go on with offset={last + 1}")
    text = "\n".join([*lines, *(f"[{note}]" for note in notes)])
    return Outcome(text=text, figure=f"{len(lines)} lines" if len(lines) != 1 else "1 line")


def _lines(text: str, first: int) -> Iterator[str]:
    for start, stop in line_spans(text, first):
        end = text[max(start, stop - 2) : stop]
        n_chars = stop - start - len(end) + len(end.rstrip("\r\n"))
        line = text[start : start + min(n_chars, LINE_CHARS)]
        if n_chars <= LINE_CHARS:
            yield shown(line)
        else:
            line = untorn(line)
            yield f"{shown(line)}[… {n_chars - len(line):,} more characters]"


def _cut_bytes(line: LongLine) -> str:
    if not line.more_b:
        return shown(line.text)
    text = untorn(line.text)
    more_b = line.more_b + len(line.text[len(text) :].encode())
    return f"{shown(text)}[… {more_b:,} more bytes]"


def _fitting(lines: Iterator[str], first: int, room: int) -> Iterator[str]:
    """Yield numbered lines, up to ``room`` characters."""
    for number, line in enumerate(lines, first):
        numbered = f"{number}\t{line}"
        room -= len(numbered) + 1
        if room < 0 and number > first:
            return
        yield numbered


def _limit(arguments: ReadFile) -> int:
    return min(arguments.limit, MAX_LINES)


async def read_picture(path: Path, found: NotText, context: ToolContext) -> Outcome:
    """Return the file as a picture.

    Raises:
        NotText: The file is not a picture, or the model does not accept pictures; the error is
            ``found``.
        ToolError: The picture is too large for a request.
    """
    if not found.media_type or not context.takes_pictures:
        raise found
    roots = (*context.workspace.roots, *context.readable.folders)
    data = await asyncio.to_thread(read_bytes, path, roots, PICTURE_B)
    encoded = await asyncio.to_thread(base64.b64encode, data)
    name = display(path, context.workspace.roots)
    return Outcome(
        text=f"{name} is a picture ({found.media_type}, {len(data):,} bytes); it is shown below",
        figure="picture",
        pictures=(Picture(media_type=found.media_type, data=encoded.decode()),),
    )
