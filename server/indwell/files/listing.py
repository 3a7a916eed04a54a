"""Lists folders and the newest files, and detects changes of files."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from indwell.files.beneath import locate, open_place, plain_os_errors
from indwell.files.system import calls

# the limit of a folder's names that are searched for hard links, in about 5 ms
MOST_BESIDE = 10_000


class FolderEntry(msgspec.Struct, frozen=True, order=True):
    """An entry of a folder; a link does not count as a folder."""

    name: str
    is_folder: bool


def list_folder(path: Path, roots: Sequence[Path]) -> tuple[FolderEntry, ...]:
    """List a folder beneath ``roots``, sorted.

    Raises:
        ToolError: The path is outside ``roots``, missing, not a folder, or unreadable.
    """
    place = locate(path, roots)
    with plain_os_errors(place.path):
        descriptor = open_place(place, os.O_RDONLY | calls.DIRECTORY)
        try:
            return _entries(descriptor)
        finally:
            os.close(descriptor)


def exists(path: Path) -> bool:
    """Return whether a file exists at ``path``, even a dangling link."""
    return os.path.lexists(path)


def is_missing(path: Path) -> bool:
    """Return whether nothing is at ``path``; False if that cannot be known.

    Unlike ``exists``, the function tells a missing file from a folder that the user may not enter.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def has_other_names(path: Path) -> bool:
    """Return whether a file has more than one hard link, without following a link."""
    return linked_mark(path) is not None


def linked_mark(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes with a file's hard links, or None if it has only one.

    The value also changes when the text changes. The function follows no symbolic link.
    """
    try:
        found = calls.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:  # noqa: PLR2004
        return None
    return (found.st_dev, found.st_ino, found.st_nlink, found.st_ctime_ns)


def names_of_file(path: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Find other hard links of a file that are directly in ``folders``; follow no links.

    At most ``MOST_BESIDE`` names in each folder are searched.
    """
    try:
        kind = calls.lstat(path)
    except OSError:
        return ()
    found: list[Path] = []
    for folder in folders:
        with contextlib.suppress(OSError), calls.scan(folder) as entries:
            # A directory entry includes the inode, so no file needs a stat.
            twins = (one.name for one in islice(entries, MOST_BESIDE) if one.inode() == kind.st_ino)
            found += [folder / name for name in twins if folder / name != path]
    return tuple(found)


def is_file(path: Path) -> bool:
    """Return whether ``path`` is a regular file, or a link to a regular file."""
    return path.is_file()


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are the same file, without following links."""
    try:
        return os.path.samestat(calls.lstat(one), calls.lstat(other))
    except OSError:
        return False


def modified_s(path: Path) -> float:
    """Return a file's modification time in seconds since 1970, or 0 if it is gone."""
    try:
        return calls.lstat(path).st_mtime
    except OSError:
        return 0.0


def newest_first(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Sort files by modification time, newest first, then by name."""
    return tuple(sorted(paths, key=lambda path: (-modified_s(path), path)))


def _entries(folder: int) -> tuple[FolderEntry, ...]:
    with calls.scan(folder) as found:
        return tuple(
            sorted(
                FolderEntry(name=one.name, is_folder=one.is_dir(follow_symlinks=False))
                for one in found
            )
        )


class Newest:
    """Collects file names of a folder in batches and keeps the newest.

    Args:
        folder: The folder of the files.
        limit: The number of names to keep.
        is_hidden: Returns whether to leave a name out; called only for names that would be kept.
    """

    def __init__(self, folder: Path, limit: int, is_hidden: Callable[[str], bool]) -> None:
        self.n_files = 0  # the number of files, without those whose names are known to be hidden
        self._folder = os.fsencode(folder) + b"/"
        self._limit = limit
        self._is_hidden = is_hidden
        # pairs of the negative time in nanoseconds and the name
        self._kept: list[tuple[int, bytes]] = []

    @property
    def names(self) -> tuple[tuple[int, str], ...]:
        """Return modification times in nanoseconds with names; newest first, then by name."""
        return tuple((-age, os.fsdecode(name)) for age, name in self._kept)

    def add(self, names: Sequence[bytes]) -> None:
        """Add more names, in about 2 µs for each file, without following links."""
        last = self._kept[-1] if len(self._kept) == self._limit else None
        new = []
        folder, look = self._folder, os.lstat
        for name in names:
            try:
                one = (-look(folder + name).st_mtime_ns, name)
            except OSError:  # the file was removed in the meantime
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


def same_named(name: str, folder: Path, most: int) -> tuple[Path, ...]:
    """Find up to ``most`` files or folders that have this name in any case, the nearest first.

    The search ends after ``MOST_LOOKED_AT`` names or 20 ms. It skips links, names that begin with a
    dot, and the folders in ``PASSED_BY``.
    """
    found: list[Path] = []
    wanted, left, todo = name.casefold(), MOST_LOOKED_AT, deque([folder])
    while todo and left > 0 and len(found) < most:
        here = todo.popleft()
        with contextlib.suppress(OSError), calls.scan(here) as entries:
            for one in sorted(islice(entries, left), key=lambda entry: entry.name):
                left -= 1
                if one.name.startswith(".") or one.name in PASSED_BY:
                    continue
                if one.name.casefold() == wanted:
                    found.append(here / one.name)
                if one.is_dir(follow_symlinks=False):
                    todo.append(here / one.name)
    return tuple(found[:most])


MOST_LOOKED_AT = 20_000

PASSED_BY = frozenset({"node_modules", "target", "__pycache__", "venv", "dist", "build"})
"""Folders that a search skips, because their files are generated; dot names are skipped, too."""

OF_EDITORS = (".swp", ".swo", "~", ".DS_Store")
"""Endings of files that editors create and remove while someone types."""

MOST_FILES = 20_000  # the limit of files, which takes about 60 ms
COARSE_NS = 20_000_000  # the kernel's clock for files is late by one or two ticks


def mark_of(folder: Path, most: int = MOST_FILES) -> str:
    """Digest the files' names, sizes and times; return no digest for more than ``most`` files.

    The function blocks, follows no link, and skips the folders in ``PASSED_BY``.
    """
    hashed = hashlib.blake2b(digest_size=16)
    n_files = 0
    pending = [str(folder)]
    while pending:
        here = pending.pop()
        try:
            with calls.scan(here) as entries:
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
                        pending.append(one.path)
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
    """Return whether a file changed after a time of its disk's clock, or True if unknown."""
    try:
        found = calls.stat(path)
    except OSError:
        return True
    return max(found.st_mtime_ns, found.st_ctime_ns) > when_ns - COARSE_NS


def file_mark(path: Path) -> tuple[int, ...] | None:
    """Return stat values of a file that differ after each write, or None if there is no file."""
    try:
        found = calls.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


RACY_NS = 2_000_000_000  # FAT has a resolution of 2 s, so two changes within 2 s may look equal


class FileState(msgspec.Struct, frozen=True):
    """The state of a file, as reported by ``stat``.

    Attributes:
        seen: The times of change, the size and the inode.
        is_certain: Whether an equal state later proves that the file is unchanged, because the last
            change is older than one tick of the clock.
    """

    seen: tuple[int, int, int, int]
    is_certain: bool


def state_of(path: Path, clock: Callable[[], int] = time.time_ns) -> FileState | None:
    """Return the state of the file at ``path``, following links, or None if unreadable.

    Args:
        path: The file.
        clock: Returns the time in nanoseconds since 1970.
    """
    try:
        stat = calls.stat(path)
    except OSError:
        return None
    changed = max(stat.st_mtime_ns, stat.st_ctime_ns)
    return FileState(
        seen=(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino),
        is_certain=not 0 <= clock() - changed < RACY_NS,
    )
