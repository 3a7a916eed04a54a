"""Read a regular file whole, up to a limit."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.beneath import open_beneath, told

_PIECE_B = 1 << 20


def read_bytes(path: Path, roots: Sequence[Path], limit_b: int) -> bytes:
    """Read the file at ``path`` beneath ``roots``.

    Raises:
        ToolError: Outside, missing, a folder, a pipe or device, unreadable, or over ``limit_b``.
    """
    descriptor = open_beneath(path, roots, os.O_RDONLY)
    try:
        with told(path):
            return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)


def read_regular(descriptor: int, path: Path, limit_b: int) -> bytes:
    """Read an open file to its end.

    The size that the system tells is not believed: files of /proc say 0, and a log may grow.

    Raises:
        ToolError: It is no regular file, or over ``limit_b``.
        OSError: The system cannot read it.
    """
    kind = os.fstat(descriptor)
    if stat.S_ISDIR(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a folder")
    if not stat.S_ISREG(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a pipe, socket or device, not a file")
    pieces: list[bytes] = []
    size = max(kind.st_size, 0)
    if size <= limit_b:
        size = 0
        while size <= limit_b and (piece := os.read(descriptor, _PIECE_B)):
            pieces.append(piece)
            size += len(piece)
    if size > limit_b:
        raise ToolError(
            f"{str(path)!r} is larger than the {limit_b:,} bytes that are read at once; "
            "search it with grep, or take a part of it with bash (head, tail, sed -n)"
        )
    return b"".join(pieces)
