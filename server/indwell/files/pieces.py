"""A file of our own read piece by piece: however large it is, little of it is in memory at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from indwell.files.append_log import check_regular

PIECE_B = 256 << 10
"""Bytes at a time; what is done with one of them must not hold other threads up for long."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not hang
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def pieces_of(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file, in order.

    Raises:
        OSError: Missing, a link, no regular file, or not readable; also in the middle.
    """
    file = os.open(path, _FLAGS)
    try:
        check_regular(file, path)
        while piece := os.read(file, PIECE_B):
            yield piece
    finally:
        os.close(file)
