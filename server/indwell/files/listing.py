"""Lists folders, finds the newest files, and gives marks that tell whether files changed."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from indwell.files.beneath import HAS_DIR_FD, locate, open_place, told

MOST_BESIDE = 10_000  # names of a folder that are looked at for twins of a file; takes about 5 ms


class FolderEntry(msgspec.Struct, frozen=True, order=True):
    """One name in a folder; a link counts as no folder."""

    name: str
    is_folder: bool


def list_folder(path: Path, roots: Sequence[Path]) -> tuple[FolderEntry, ...]:
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


def _entries(folder: int | Path) -> tuple[FolderEntry, ...]:
    with os.scandir(folder) as found:
        return tuple(
            sorted(
                FolderEntry(name=one.name, is_folder=one.is_dir(follow_symlinks=False))
                for one in found
            )
        )


class Newest:
    """Takes names of files in a folder, piece by piece, and keeps the newest.

    Args:
        folder: Where the names lie.
        limit: How many are kept.
        is_hidden: Is this one left out? Asked only of those that would be kept.
    """

    def __init__(self, folder: Path, limit: int, is_hidden: Callable[[str], bool]) -> None:
        self.n_files = 0  # without those that are known to be hidden
        self._folder = os.fsencode(folder) + b"/"
        self._limit = limit
        self._is_hidden = is_hidden
        self._kept: list[tuple[int, bytes]] = []  # minus nanoseconds, name

    @property
    def names(self) -> tuple[tuple[int, str], ...]:
        """Nanoseconds of the last change and name; the newest first, then by name."""
        return tuple((-age, os.fsdecode(name)) for age, name in self._kept)

    def add(self, names: Sequence[bytes]) -> None:
        """Take more names. Blocks: looks each of them up, about 2 µs a file; follows no link."""
        last = self._kept[-1] if len(self._kept) == self._limit else None
        new = []
        folder, look = self._folder, os.lstat
        for name in names:
            try:
                one = (-look(folder + name).st_mtime_ns, name)
            except OSError:  # gone meanwhile
                continue
            self.n_files += 1
            if last is None or one < last:
                new.append(one)
        heapq.heapify(new)
        room = self._limit
        kept = []
        while new and room:
            one = heapq.heappop(new)
            if self._is_hidden(os.fsdecode(one[1])):
                self.n_files -= 1
                continue
            kept.append(one)
            room -= 1
        self._kept = sorted(self._kept + kept)[: self._limit]


PASSED_BY = frozenset({"node_modules", "target", "__pycache__", "venv", "dist", "build"})
"""Folders of what others made; with all whose names begin with a dot."""

OF_EDITORS = (".swp", ".swo", "~", ".DS_Store")
"""Ends of names of files that come and go while somebody types."""

MOST_FILES = 20_000  # 60 ms
COARSE_NS = 20_000_000  # a kernel's clock of files lags behind by a tick or two


def mark_of(folder: Path, most: int = MOST_FILES) -> str:
    """The mark, by names, sizes and times of change; empty if there is too much to look at.

    Blocks. Follows no link, and does not look into ``PASSED_BY``.
    """
    hashed = hashlib.blake2b(digest_size=16)
    n_files = 0
    todo = [str(folder)]
    while todo:
        here = todo.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(entries, key=lambda one: one.name)
        except OSError:
            hashed.update(b"?")
            continue
        for one in listed:
            if one.name in PASSED_BY or one.name.endswith(OF_EDITORS):
                continue
            try:
                if one.is_dir(follow_symlinks=False):
                    if not one.name.startswith("."):
                        todo.append(one.path)
                    continue
                found = one.stat(follow_symlinks=False)
            except OSError:
                continue
            n_files += 1
            if n_files > most:
                return ""
            row = f"{one.path}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\n"
            hashed.update(row.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def changed_since(path: Path, when_ns: int) -> bool:
    """Was a file changed since then, by the clock of its disk? Also if it cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return True
    return max(found.st_mtime_ns, found.st_ctime_ns) > when_ns - COARSE_NS


def file_mark(path: Path) -> tuple[int, ...] | None:
    """What the system tells of a file, another after each write; None if it tells nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


RACY_NS = 2_000_000_000  # FAT counts in steps of 2 s; within one, a second change may look the same


class FileState(msgspec.Struct, frozen=True):
    """A file as ``stat`` sees it.

    Attributes:
        seen: Times of change, size, which file it is.
        is_certain: A file that looks the same later is the same: its last change was not so
            short before the look that another could hide in the same tick of the clock.
    """

    seen: tuple[int, int, int, int]
    is_certain: bool


def state_of(path: Path, clock: Callable[[], int] = time.time_ns) -> FileState | None:
    """The state of the file at ``path``, links followed; None if it cannot be seen.

    Args:
        path: Of the file.
        clock: Nanoseconds since 1970.
    """
    try:
        stat = path.stat()
    except OSError:
        return None
    changed = max(stat.st_mtime_ns, stat.st_ctime_ns)
    return FileState(
        seen=(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino),
        is_certain=not 0 <= clock() - changed < RACY_NS,
    )
