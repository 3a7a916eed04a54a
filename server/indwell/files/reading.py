"""Read a regular file: whole, up to a limit, or through its descriptor."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from indwell.errors import TooLarge, ToolError
from indwell.files.beneath import find, open_place, told
from indwell.files.leftovers import put_right

_PIECE_B = 1 << 20


class Opened(msgspec.Struct, frozen=True):
    """A regular file that is open for reading.

    Attributes:
        path: Its resolved path.
        descriptor: At its beginning; closed for you at the end of the block.
        stat: What the system tells of it, taken from the descriptor.
    """

    path: Path
    descriptor: int
    stat: os.stat_result


@contextlib.contextmanager
def opened_beneath(
    path: Path, roots: Sequence[Path], *, resolved: bool = False, private: Path | None = None
) -> Iterator[Opened]:
    """Hold the regular file at ``path`` beneath ``roots`` open, for ``os.read`` and ``os.pread``.

    For what is too long to be read at once. An ``OSError`` of the block becomes a ToolError about
    ``path``. ``resolved`` says that no link may stand on the way by now.
    With a ``private`` folder, a write of the file that a dead process left half-way is undone.

    Raises:
        ToolError: Outside, missing, a folder, a pipe or device, or unreadable.
    """
    place = find(path, roots, resolved=resolved)
    put_right(place, private)
    descriptor = open_place(place, os.O_RDONLY)
    try:
        with told(place.path):
            kind = os.fstat(descriptor)
            check_regular(kind, path)
            yield Opened(path=place.path, descriptor=descriptor, stat=kind)
    finally:
        os.close(descriptor)


def read_bytes(
    path: Path, roots: Sequence[Path], limit_b: int, *, private: Path | None = None
) -> bytes:
    """Read the file at ``path`` beneath ``roots``; see ``opened_beneath``.

    Raises:
        ToolError: Outside, missing, a folder, a pipe or device, unreadable, or over ``limit_b``.
    """
    with opened_beneath(path, roots, private=private) as opened:
        return read_regular(opened.descriptor, path, limit_b)


def check_regular(kind: os.stat_result, path: Path) -> None:
    """Refuse what has no bytes of its own.

    Raises:
        ToolError: A folder, pipe, socket or device.
    """
    if stat.S_ISDIR(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a folder")
    if not stat.S_ISREG(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a pipe, socket or device, not a file")


def read_regular(descriptor: int, path: Path, limit_b: int) -> bytes:
    """Read an open file to its end.

    The size that the system tells is not believed: files of /proc say 0, and a log may grow.

    Raises:
        TooLarge: It is over ``limit_b``.
        ToolError: It is no regular file.
        OSError: The system cannot read it.
    """
    kind = os.fstat(descriptor)
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
            f"{str(path)!r} is larger than the {limit_b:,} bytes that are read at once; "
            "search it with grep, or take a part of it with bash (head, tail, sed -n)"
        )
    return b"".join(pieces)
