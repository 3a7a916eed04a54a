"""Reads regular files, up to a limit, or only if no other user can write to them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from indwell import edges
from indwell.errors import TooLarge, ToolError
from indwell.files.beneath import find, open_place, plain_os_errors
from indwell.files.contents.in_place import put_right
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.access import check_guarded
from indwell.files.system.held_files import is_shared_out, patiently

_PIECE_B = 1 << 20


class OpenFile(msgspec.Struct, frozen=True):
    """A regular file, open for reading.

    Attributes:
        path: The resolved path.
        descriptor: The open descriptor, at the file's beginning; closed at the context's end.
        stat: The stat of the open descriptor.
    """

    path: Path
    descriptor: int
    stat: os.stat_result


@contextlib.contextmanager
def opened_beneath(
    path: Path, roots: Sequence[Path], *, resolved: bool = False, private: Path | None = None
) -> Iterator[OpenFile]:
    """Open the regular file at ``path`` beneath ``roots``, for ``os.read`` and ``os.pread``.

    The function is for files that are too large to read at once. An ``OSError`` in the context
    becomes a ToolError about ``path``. With ``resolved``, a path that now contains a link raises an
    error. With a ``private`` folder, an unfinished write in place by a dead process is undone
    first.

    Raises:
        ToolError: The path is outside ``roots``, missing, not a regular file, or unreadable.
    """
    place = find(path, roots, resolved=resolved)
    put_right(place, private)
    descriptor = open_place(place, os.O_RDONLY)
    try:
        with plain_os_errors(place.path):
            kind = calls.fstat(descriptor)
            check_regular(kind, path)
            yield OpenFile(path=place.path, descriptor=descriptor, stat=kind)
    finally:
        os.close(descriptor)


def read_bytes(
    path: Path, roots: Sequence[Path], limit_b: int, *, private: Path | None = None
) -> bytes:
    """Read the file at ``path`` beneath ``roots``; see ``opened_beneath``.

    Raises:
        ToolError: The path is outside ``roots``, missing, not a regular file, or unreadable,
            or the file is over ``limit_b``.
    """
    with opened_beneath(path, roots, private=private) as opened:
        return read_regular(opened.descriptor, path, limit_b)


def check_regular(kind: os.stat_result, path: Path) -> None:
    """Check that a file is a regular file.

    Raises:
        ToolError: The file is a folder, pipe, socket or device.
    """
    if stat.S_ISDIR(kind.st_mode):
        raise ToolError(f"{quoted(path)} is a folder")
    if not stat.S_ISREG(kind.st_mode):
        raise ToolError(f"{quoted(path)} is a pipe, socket or device, not a file")


def read_regular(descriptor: int, path: Path, limit_b: int) -> bytes:
    """Read an open file to its end.

    The size from stat is ignored, because files of /proc have size 0, and a log may grow.

    Raises:
        TooLarge: The file is over ``limit_b``.
        ToolError: The open file is not a regular file.
        OSError: The file cannot be read.
    """
    kind = calls.fstat(descriptor)
    check_regular(kind, path)
    pieces: list[bytes] = []
    size = max(kind.st_size, 0)
    if size <= limit_b:
        size = 0
        while size <= limit_b and (piece := os.read(descriptor, _PIECE_B)):
            pieces.append(piece)
            size += len(piece)
    if size > limit_b:
        raise TooLarge(
            f"{quoted(path)} is larger than the {limit_b:,} bytes that are read at once; "
            "search it with grep, or take a part of it with bash (head, tail, sed -n)"
        )
    data = b"".join(pieces)
    edges.current().on_file_read(path, data)
    return data


_GUARDED_FLAGS = os.O_RDONLY | calls.CLOEXEC | calls.NOFOLLOW | calls.NONBLOCK | calls.BINARY


def read_guarded(path: Path, limit_b: int) -> bytes:
    """Read a file of Indwell, if only the user can write to the file and its folder.

    Owner and mode are checked on the open file, which cannot be replaced. On Windows, the call
    waits a moment for a program that prevents reading.

    Raises:
        ToolError: The file is a link, not regular, over ``limit_b``, or other users can write to
            it.
        OSError: The file is missing or unreadable.
    """
    descriptor = patiently(
        lambda: calls.open_file(path, _GUARDED_FLAGS), is_shared_out, lambda: path
    )
    try:
        check_guarded(descriptor, path)
        return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)
