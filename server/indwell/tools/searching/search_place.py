"""Resolves where a search starts: a folder, a file, or every root."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files import PathBeneath, exists, locate
from indwell.lazy_pattern import lazy_pattern
from indwell.tools.base import ToolContext
from indwell.tools.truncate import untorn
from indwell.workspace.paths import display, not_found, parse

EVERYWHERE = frozenset({"", "."})


class SearchPlace(msgspec.Struct, frozen=True):
    """A resolved file or folder to search, and its workspace root."""

    root: Path
    start: Path

    @property
    def parts(self) -> tuple[str, ...]:
        """The names from the root to the start."""
        return self.start.parts[len(self.root.parts) :]

    @property
    def argument(self) -> str:
        """The start relative to the root, in a form that is no option."""
        return "/".join((".", *self.parts))


async def search_places(context: ToolContext, path: str) -> tuple[SearchPlace, ...]:
    """Return where to search: all roots if ``path`` is empty or ``.``, else what it leads to.

    Raises:
        ToolError: The path is outside the workspace and the readable folders, is missing, or is
            neither a folder nor a regular file: reading a pipe would wait for its other end.
    """
    roots = context.workspace.roots
    if path in EVERYWHERE and len(roots) > 1:
        return tuple(SearchPlace(root, root) for root in roots)
    return (await asyncio.to_thread(_place, context, path or "."),)


def beneath(place: SearchPlace, folder: str) -> SearchPlace | None:
    """Return the folder that a pattern names literally; None if it is missing or behind a link.

    Blocks.
    """
    if not folder:
        return place
    start = place.start / folder
    if not start.is_dir() or os.path.realpath(start) != str(start):
        return None
    return SearchPlace(place.root, start)


def _place(context: ToolContext, path: str) -> SearchPlace:
    roots = context.workspace.roots
    place = _located(context, path)
    if not exists(place.path):
        raise not_found(place.path, roots)
    if not (place.path.is_dir() or place.path.is_file()):
        raise ToolError(
            f"{display(place.path, roots)!r} is a pipe, socket or device and cannot be searched; "
            "name a folder or file"
        )
    return SearchPlace(place.root, place.path)


def _located(context: ToolContext, path: str) -> PathBeneath:
    roots = context.workspace.roots
    try:
        return locate(context.resolve(path), roots)
    except ToolError:
        if not context.read_roots:
            raise
        return locate(parse(path, roots[0]), context.read_roots)


LINE_CHARS = 300  # H51
UNSAVED = " (not saved yet)"

_LIKE_A_RESULT = lazy_pattern(r"\[|\d+[:-]")
_BREAKS = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")  # tabs stay


def path_line(path: Path, roots: Sequence[Path]) -> str:
    """Return a path as one line that looks like no match (``3: …``) and no note (``[…]``)."""
    shown = display(path, roots)
    return f"./{shown}" if _LIKE_A_RESULT.match(shown) else shown


def text_line(data: bytes) -> str:
    r"""Return a line of a file, cut, with other programs' line ends as ``\x…``."""
    # No character has more than 4 bytes, so text beyond the cut is not decoded.
    text = data[: 4 * LINE_CHARS + 8].decode("utf-8", "replace").rstrip("\r")
    if len(text) > LINE_CHARS:
        text = f"{untorn(text[:LINE_CHARS])}…"
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def with_notes(lines: Sequence[str], notes: Sequence[str]) -> str:
    """Return results with notes in brackets below."""
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])


def counted(number: int, one: str, many: str) -> str:
    """Return a count in words: ``1 match``, ``2,000 matches``."""
    return f"1 {one}" if number == 1 else f"{number:,} {many}"
