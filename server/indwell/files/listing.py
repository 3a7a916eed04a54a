"""What stands in a folder, and when files were changed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from indwell.files.beneath import HAS_DIR_FD, locate, open_place, told

MOST_BESIDE = 10_000  # names of a folder that are looked at for twins of a file; takes about 5 ms


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
    return linked_mark(path) is not None


def linked_mark(path: Path) -> tuple[int, ...] | None:
    """What stays the same as long as a file keeps its names; None if it has only one, or is none.

    A link made, moved or taken away changes it, as a change of the text does. Follows no link.
    """
    try:
        found = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:  # noqa: PLR2004
        return None
    return (found.st_dev, found.st_ino, found.st_nlink, found.st_ctime_ns)


def names_of_file(path: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Other names (hard links) of a file that stand right in one of ``folders``; follows no link.

    Looks at ``MOST_BESIDE`` names of each folder at most.
    """
    try:
        kind = path.lstat()
    except OSError:
        return ()
    found: list[Path] = []
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            # The number of an entry comes with its name, so nothing else is looked at.
            twins = (one.name for one in islice(entries, MOST_BESIDE) if one.inode() == kind.st_ino)
            found += [folder / name for name in twins if folder / name != path]
    return tuple(found)


def is_file(path: Path) -> bool:
    """Does a plain file stand at ``path``, or a link to one?"""
    return path.is_file()


def same_file(one: Path, other: Path) -> bool:
    """Are these two names of one file? Follows no link."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


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
