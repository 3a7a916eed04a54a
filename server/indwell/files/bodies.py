"""What files held, by digest, in one file without a name: it ends with the process. Blocks.

For threads: one call at a time, which the lock sees to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from indwell.files.beneath import open_below
from indwell.files.census import Facts, facts_of

MOST_B = 128 << 20
_NO_FOLDER = -1
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | _SAFE | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Body(NamedTuple):
    """What a file held, and what the system told of it just then."""

    facts: Facts
    data: bytes


def read_body(root: int, at: str, most_b: int) -> Body | None:
    """The bytes of a regular file below the open folder ``root``, through no link.

    None if it is none, is longer than ``most_b``, or changed while it was read.
    """
    try:
        descriptor = open_below(root, at.split("/"), _READ)
    except OSError:
        return None
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or before.st_size > most_b:
            return None
        data = b""
        while piece := os.read(descriptor, most_b + 1 - len(data)):
            data += piece
        facts = facts_of(os.fstat(descriptor))
        return Body(facts, data) if facts == facts_of(before) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Hold a folder open, for ``read_body``, which finds nothing in one that cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _SAFE)
    except OSError:
        yield _NO_FOLDER
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class Bodies:
    """Bytes by their digest, up to a bound.

    Args:
        most_b: Bytes that are kept; what comes after is not.
    """

    def __init__(self, most_b: int = MOST_B) -> None:
        self.most_b = most_b
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._lock = threading.Lock()
        self._file = -1

    @property
    def size_b(self) -> int:
        """Bytes kept so far."""
        return self._end

    def put(self, data: bytes) -> str | None:
        """Keep ``data``; gives its digest, None if there is no room for it, here or on the disk."""
        digest = digest_of(data)
        with self._lock:
            if digest in self._places:
                return digest
            if self._end + len(data) > self.most_b:
                return None
            try:
                self._write(data)
            except OSError:  # a full disk
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
            n_written += os.pwrite(self._file, data[n_written:], self._end + n_written)

    def get(self, digest: str) -> bytes | None:
        """The bytes of a digest, None if they are not kept."""
        place = self._places.get(digest)
        return None if place is None else os.pread(self._file, place[1], place[0])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file, self._end = -1, 0
            self._places.clear()

    def close(self) -> None:
        """Forget everything, and keep nothing more."""
        self.most_b = 0
        self.clear()

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def digest_of(data: bytes) -> str:
    """The digest that bytes are kept by."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
