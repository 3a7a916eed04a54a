"""Takes snapshots of a folder tree: ``stat`` results, and digests of contents. Blocks.

Only folders are read. Links are recorded as links and not followed. Cache folders
(``CACHEDIR.TAG``) are skipped. The size is limited: deep folders are left out first, and
``is_whole`` is then false.

The files of a folder are packed into one value. Comparing two snapshots of 50,000 files therefore
takes a few milliseconds, and the garbage collector has almost no objects to visit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import threading
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from indwell.files.beneath import open_below
from indwell.files.system import calls

Facts: TypeAlias = tuple[int, int, int, int, int]
"""The ``stat`` values of a file: inode, size, modification and change time in ns, mode."""

CACHE_TAG = "CACHEDIR.TAG"  # the convention is described at https://bford.info/cachedir/
_N_FACTS = 5
_KINDS = frozenset({stat.S_IFREG, stat.S_IFLNK})
_FOLDER = os.O_RDONLY | calls.DIRECTORY | calls.CLOEXEC
_HALF = 1 << 63


class FolderListing(NamedTuple):
    """The files and links directly in one folder.

    Attributes:
        names: The names in the system's order, which is stable while the folder does not change.
        packed: Each file's values from ``stat``, with eight bytes for each number.
    """

    names: tuple[str, ...] = ()
    packed: bytes = b""

    def facts(self) -> Iterator[Facts]:
        """Yield the ``stat`` values of each file, in the order of ``names``."""
        numbers = array("q", self.packed)
        return zip(*[iter(numbers)] * _N_FACTS, strict=True)

    def by_name(self) -> dict[str, Facts]:
        """Return the ``stat`` values of each file, by name."""
        return dict(zip(self.names, self.facts(), strict=True))


class Census(NamedTuple):
    """A snapshot of a folder tree.

    Attributes:
        folders: The listed folders, by relative path with slashes.
        is_whole: Whether every folder was listed.
        closed: Folders that could not be listed.
    """

    folders: Mapping[str, FolderListing]
    is_whole: bool = True
    closed: tuple[str, ...] = ()


def take_census(
    root: str,
    *,
    shut: Collection[str],
    most_files: int,
    before: Collection[str] = frozenset(),
) -> Census:
    """List all files beneath ``root``.

    Args:
        root: The resolved folder.
        shut: Names of folders and files to skip anywhere; an entry with a slash is a relative path.
        most_files: The limit at which the scan ends.
        before: The folders that were listed before, which are listed again even if they are caches
            now.
    """
    listed: dict[str, FolderListing] = {}
    closed: list[str] = []
    waiting = [""]
    is_whole = True
    n_files = 0
    for at in waiting:  # the list grows during the loop, so the shallowest folders come first
        if n_files > most_files:
            is_whole = False
            break
        try:
            here, below = _list(root, at, _shut_in(at, shut))
        except OSError:  # the folder is unreadable, or was removed
            closed.append(at)
            continue
        if CACHE_TAG in here.names and at not in before:
            continue
        listed[at] = here
        n_files += len(here.names)
        waiting += below
    return Census(listed, is_whole, tuple(closed))


def is_gone(root: str, at: str) -> bool:
    """Return whether a path below a folder seems to be gone, without following links."""
    folder = f"{root}/{at}".rpartition("/")[0]
    if Path(os.path.realpath(folder)) != Path(folder):
        return True
    try:
        found = calls.stat(f"{root}/{at}", follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # the folder is unreadable
        return False
    return stat.S_ISDIR(found.st_mode)


def is_link(facts: Facts) -> bool:
    """Return whether the ``stat`` values are those of a symbolic link."""
    return stat.S_ISLNK(facts[4])


def facts_of(found: os.stat_result) -> Facts:
    """Extract the relevant values from a stat result."""
    times = (found.st_mtime_ns, found.st_ctime_ns)
    facts = (found.st_ino, found.st_size, *times, found.st_mode)
    return facts if min(facts) >= -_HALF and max(facts) < _HALF else _fitting(facts)


def _fitting(facts: Facts) -> Facts:
    """Reduce values to 64 bits, because some file systems have larger numbers or late dates.

    Different values still differ afterwards, unless they differ only by multiples of 2⁶⁴.
    """
    number, size_b, written, changed, mode = ((one + _HALF) % (2 * _HALF) - _HALF for one in facts)
    return number, size_b, written, changed, mode


def _shut_in(at: str, shut: Collection[str]) -> Collection[str]:
    """Return the names to skip in one folder, as a set of plain names."""
    below = [one for one in shut if "/" in one and one.rpartition("/")[0] == at]
    return shut if not below else {*shut, *(one.rpartition("/")[2] for one in below)}


def _list(root: str, at: str, shut: Collection[str]) -> tuple[FolderListing, Sequence[str]]:
    """List the files and the subfolders of a folder, of which there may be very many."""
    front = f"{at}/" if at else ""
    names: list[str] = []
    facts: list[int] = []
    below: list[str] = []
    with _entries(f"{root}/{at}") as entries:
        for one in entries:
            name = one.name
            if name in shut:
                continue
            if one.is_dir(follow_symlinks=False):
                below.append(front + name)
                continue
            try:
                found = one.stat(follow_symlinks=False)
            except OSError:  # the file was removed
                continue
            mode = found.st_mode
            if stat.S_IFMT(mode) in _KINDS:
                names.append(name)
                facts += (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, mode)
    return FolderListing(tuple(names), _packed(facts)), below


@contextmanager
def _entries(path: str) -> Iterator[Iterator[calls.Entry]]:
    """Iterate over a folder's entries by descriptor, which saves a third of each stat's time."""
    if os.scandir not in os.supports_fd:
        with calls.scan(path) as entries:
            yield entries
        return
    folder = calls.open_file(path, _FOLDER)
    try:
        with calls.scan(folder) as entries:
            yield entries
    finally:
        os.close(folder)


def _packed(facts: Sequence[int]) -> bytes:
    try:
        return array("q", facts).tobytes()
    except OverflowError:
        each = zip(*[iter(facts)] * _N_FACTS, strict=True)
        return array("q", [number for one in each for number in _fitting(one)]).tobytes()


MOST_B = 128 << 20
_NO_FOLDER = -1
_SAFE = calls.NOFOLLOW | calls.CLOEXEC
_READ = os.O_RDONLY | _SAFE | calls.NONBLOCK | calls.BINARY


class FileBody(NamedTuple):
    """A file's bytes, with the ``stat`` values of the same moment."""

    facts: Facts
    data: bytes


def read_body(root: int, at: str, most_b: int) -> FileBody | None:
    """Read a regular file below the open folder ``root``, without following links.

    The result is None if the file is not regular, is over ``most_b``, or changed during the read.
    """
    try:
        descriptor = open_below(root, at.split("/"), _READ)
    except OSError:
        return None
    try:
        before = calls.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or before.st_size > most_b:
            return None
        data = b""
        while piece := os.read(descriptor, most_b + 1 - len(data)):
            data += piece
        facts = facts_of(calls.fstat(descriptor))
        return FileBody(facts, data) if facts == facts_of(before) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Open a folder for ``read_body``; if that fails, ``read_body`` returns None."""
    try:
        descriptor = calls.open_file(path, os.O_RDONLY | calls.DIRECTORY | _SAFE)
    except OSError:
        yield _NO_FOLDER
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class Bodies:
    """Stores file contents by digest, up to a limit.

    Args:
        most_b: The limit in bytes, above which no more contents are stored.
    """

    def __init__(self, most_b: int = MOST_B) -> None:
        self.most_b = most_b
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._lock = threading.Lock()
        self._file = -1

    @property
    def size_b(self) -> int:
        """The number of stored bytes."""
        return self._end

    def put(self, data: bytes) -> str | None:
        """Store ``data``, and return its digest, or None if the limit or the disk prevents that."""
        digest = digest_of(data)
        with self._lock:
            if digest in self._places:
                return digest
            if self._end + len(data) > self.most_b:
                return None
            try:
                self._write(data)
            except OSError:  # the disk is full
                return None
            self._places[digest] = (self._end, len(data))
            self._end += len(data)
        return digest

    def _write(self, data: bytes) -> None:
        if self._file < 0:
            with tempfile.TemporaryFile() as anonymous:
                self._file = os.dup(anonymous.fileno())
        n_written = 0
        while n_written < len(data):
            n_written += calls.pwrite(self._file, data[n_written:], self._end + n_written)

    def get(self, digest: str) -> bytes | None:
        """Return the bytes that have this digest, or None if such bytes are not stored."""
        place = self._places.get(digest)
        return None if place is None else calls.pread(self._file, place[1], place[0])

    def clear(self) -> None:
        """Remove all contents."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file, self._end = -1, 0
            self._places.clear()

    def close(self) -> None:
        """Remove all contents, and accept no more contents."""
        self.most_b = 0
        self.clear()

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def digest_of(data: bytes) -> str:
    """Return the digest that identifies these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
