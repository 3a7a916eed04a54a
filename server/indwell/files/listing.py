"""What stands in a folder, and when files were changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from indwell.files.beneath import HAS_DIR_FD, locate, open_place, told


class Entry(msgspec.Struct, frozen=True, order=True):
    """One name in a folder; a link counts as no folder."""

    name: str
    is_folder: bool


def list_folder(path: Path, roots: Sequence[Path]) -> tuple[Entry, ...]:
    """The names in a folder beneath ``roots``, sorted.

    Raises:
        ToolError: Outside, missing, no folder, or not readable.
    """
    place = locate(path, roots)
    with told(place.path):
        if not HAS_DIR_FD:
            return _entries(place.path)
        descriptor = open_place(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            return _entries(descriptor)
        finally:
            os.close(descriptor)


def exists(path: Path) -> bool:
    """Does anything, be it a dangling link, stand at ``path``?"""
    return os.path.lexists(path)


def has_other_names(path: Path) -> bool:
    """Is a file known by further names (hard links), somewhere? Follows no link."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def modified_s(path: Path) -> float:
    """When a file was last changed, in seconds since 1970; 0 if it is gone. Follows no link."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def newest_first(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Sort by the time of the last change, then by name."""
    return tuple(sorted(paths, key=lambda path: (-modified_s(path), path)))


def _entries(folder: int | Path) -> tuple[Entry, ...]:
    with os.scandir(folder) as found:
        return tuple(
            sorted(
                Entry(name=one.name, is_folder=one.is_dir(follow_symlinks=False)) for one in found
            )
        )
