"""Opens large files on disk for one read or one edit, and caches their line indexes.

All functions block, so call them in a thread; they end soon after they are told to stop.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from indwell.errors import ToolError
from indwell.files import OpenFile, copy_range, opened_beneath, replace_with, write_all
from indwell.workspace.base import TextStamp
from indwell.workspace.large import Large
from indwell.workspace.line_index import LineIndex, index_of
from indwell.workspace.text import SNIFF_B, binary_kind, wide_mark

KEPT_INDEXES = 8  # about 7 kB for 200 MB
_COPY_B = 64 << 20  # copied between two checks whether to stop

T = TypeVar("T")
R = TypeVar("R")


class Stopped(Exception):
    """The call was cancelled; nothing was changed."""


class LargeFiles:
    """Opens large files beneath ``roots``.

    Args:
        roots: Resolved folders.
        private: See ``files.write_atomic``.
    """

    def __init__(self, roots: Sequence[Path], private: Path | None = None) -> None:
        self._private = private
        self._roots = tuple(roots)
        self._indexes: dict[Path, tuple[tuple[int, ...], LineIndex]] = {}

    def within(
        self,
        path: Path,
        look: Callable[[Large], T],
        project: Callable[[], str | None],
        stopping: threading.Event,
    ) -> T:
        """Return the result of ``look`` on the open file.

        Raises:
            ToolError: Missing, unreadable, or not a text with lines.
            Stopped: It was told to stop.
        """
        with opened_beneath(path, self._roots, private=self._private) as opened:
            return look(self._large(opened, project, stopping))

    def splice(
        self,
        path: Path,
        plan: Callable[[Large], tuple[Large, R]],
        project: Callable[[], str | None],
        stopping: threading.Event,
    ) -> tuple[TextStamp, R]:
        """Replace the file by the result of ``plan``; the kernel copies unchanged parts.

        Raises:
            TextMoved: The file changed after ``plan`` read it; nothing was written.
            ToolError: As for ``within``, from ``plan``, or the file cannot be written.
            Stopped: It was told to stop.
        """
        with opened_beneath(path, self._roots, private=self._private) as opened:
            made, result = plan(self._large(opened, project, stopping))

            def write(target: int) -> None:
                for piece in made.pieces:
                    if isinstance(piece, bytes):
                        write_all(target, piece)
                        continue
                    for start in range(piece.start, piece.stop, _COPY_B):
                        _check(stopping)
                        size = min(_COPY_B, piece.stop - start)
                        copy_range(opened.descriptor, target, start, size)

            place = replace_with(
                path, self._roots, write, unchanged=opened.stat, private=self._private
            )
        # The new bytes are written; indexing them must not be interrupted.
        index = self.within(place, lambda large: large.index, project, threading.Event())
        if index.size_b != made.size_b:
            raise ToolError(f"{str(path)!r} was changed again right after the edit; read_file it")
        return TextStamp(index.digest), result

    def check(self, shown: str, opened: OpenFile) -> None:
        """Refuse a file that is not a text with lines.

        Raises:
            ToolError: Names what the file is.
        """
        head = read_at(opened.descriptor, 0, SNIFF_B)
        size = f"of {opened.stat.st_size:,} bytes"
        wide = wide_mark(head)
        if wide is not None:
            raise ToolError(
                f"{shown!r} is {wide} text {size}, too much to be read at once in that encoding; "
                "convert it to UTF-8 with a command (iconv), or take a part of it"
            )
        kind = binary_kind(head)
        if kind is not None:
            raise ToolError(f"{shown!r} is no text but a {kind} {size}")

    def _large(
        self, opened: OpenFile, project: Callable[[], str | None], stopping: threading.Event
    ) -> Large:
        def read(offset: int, size: int) -> bytes:
            _check(stopping)
            return read_at(opened.descriptor, offset, size)

        self.check(str(opened.path), opened)
        kind = opened.stat
        mark = (kind.st_dev, kind.st_ino, kind.st_size, kind.st_mtime_ns, kind.st_ctime_ns)
        known = self._indexes.get(opened.path)
        if known is None or known[0] != mark:
            index = index_of(read, kind.st_size, project)
            known = (mark, index)
            self._indexes.pop(opened.path, None)
            while len(self._indexes) >= KEPT_INDEXES:
                with contextlib.suppress(KeyError):  # another thread removed it
                    del self._indexes[next(iter(self._indexes))]
            now = os.fstat(opened.descriptor)
            if (now.st_size, now.st_mtime_ns) == (kind.st_size, kind.st_mtime_ns):
                self._indexes[opened.path] = known  # else it is being written: good for this once
        return Large(opened.path, read, known[1])


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Read up to ``size`` bytes at ``offset``; fewer only at the end of the file."""
    found: list[bytes] = []
    while size > 0 and (data := _read(descriptor, offset, size)):
        found.append(data)
        offset, size = offset + len(data), size - len(data)
    return b"".join(found)


def _read(descriptor: int, offset: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def _check(stopping: threading.Event) -> None:
    if stopping.is_set():
        raise Stopped
