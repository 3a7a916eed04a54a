"""Resolves where a search starts: a folder, a file, or every root."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files import PathBeneath, exists, locate
from indwell.tools.base import ToolContext
from indwell.workspace.paths import display, missing, parse

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
        raise missing(display(place.path, roots), place.path.name, ())
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
