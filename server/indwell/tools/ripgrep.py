"""The program ``rg``: where it is, which files it goes through, and how paths reach it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import Place, exists, locate
from indwell.sandbox import find_program
from indwell.tools.base import ToolContext
from indwell.workspace.paths import display, missing, parse

WALK = ("--no-config", "--hidden", "--no-require-git", "--color=never")
"""Ignore files count, also outside of a git repository; hidden files are files like others. Links
are never followed: that is ripgrep's default."""


def ripgrep() -> str:
    """The program's path.

    Raises:
        ToolError: It is not installed.
    """
    found = find_program("rg")
    if found is None:
        raise ToolError(
            "ripgrep (rg) was not found beside Python or on PATH; install it with "
            "'pip install ripgrep' or the system's packages, or search with bash"
        )
    return str(found)


async def search_place(context: ToolContext, path: str) -> tuple[Path, Path]:
    """The root and the resolved path beneath it that a search starts from.

    Raises:
        ToolError: Outside the workspace and the folders that may be read, missing, or neither a
            folder nor a regular file: reading a pipe would wait for its other end.
    """
    place = await asyncio.to_thread(_place, context, path)
    if not await asyncio.to_thread(exists, place.path):
        raise missing(display(place.path, context.workspace.roots), place.path.name, ())
    if not await asyncio.to_thread(_can_be_searched, place.path):
        shown = display(place.path, context.workspace.roots)
        raise ToolError(
            f"{shown!r} is a pipe, socket or device and cannot be searched; name a folder or file"
        )
    return place.root, place.path


def _can_be_searched(path: Path) -> bool:
    return path.is_dir() or path.is_file()


def _place(context: ToolContext, path: str) -> Place:
    roots = context.workspace.roots
    try:
        return locate(context.workspace.resolve(path), roots)
    except ToolError:
        if not context.read_roots:
            raise
        return locate(parse(path, roots[0]), context.read_roots)
