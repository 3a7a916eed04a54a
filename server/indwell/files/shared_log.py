"""A small file that several processes append whole lines to, and read as it grows.

Everything here blocks; on the event loop it is called through a thread.
"""

from __future__ import annotations

import os
from pathlib import Path

from indwell.files.append_log import make_private_folder

_SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MODE = 0o600


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append ``line`` (without a line feed) in one write, which no other process's write splits.

    A line feed stands before it too, so that a torn end of another process cannot swallow it. If
    ``durable``, it survives a loss of power when this returns.

    Raises:
        OSError: It cannot be opened or written.
    """
    make_private_folder(path.parent)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE, _MODE)
    try:
        os.write(file, b"\n" + line + b"\n")
        if durable:
            os.fsync(file)
    finally:
        os.close(file)


def read_from(path: Path, offset: int, limit: int) -> bytes:
    """Up to ``limit`` bytes from ``offset`` on; nothing if there is no such file.

    Raises:
        OSError: It cannot be read.
    """
    try:
        file = os.open(path, os.O_RDONLY | _SAFE)
    except FileNotFoundError:
        return b""
    try:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, limit)
    finally:
        os.close(file)


def remove_all_but(folder: Path, keep: int) -> None:
    """Remove all files of a folder but the last ``keep`` in the order of their names.

    Raises:
        OSError: One cannot be removed.
    """
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths[:-keep]:
        path.unlink(missing_ok=True)
