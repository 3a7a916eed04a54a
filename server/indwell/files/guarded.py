"""Reading what nobody but the user may have written: answers that widen what is allowed.

Everything here blocks for the time of one small file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from indwell.errors import ToolError
from indwell.files.reading import read_regular

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_guarded(path: Path, limit_b: int) -> bytes:
    """Read a file of our own that only the user can have written, in a folder of the same kind.

    Owner and mode are those of the open file, so nothing can be put in its place meanwhile. Windows
    has neither; there the folder's own access list is the guard.

    Raises:
        ToolError: It is a link, no regular file, over ``limit_b``, or others can write it.
        OSError: Missing or not readable.
    """
    descriptor = os.open(path, _FLAGS)
    try:
        if os.name == "posix":
            _check(os.fstat(descriptor), path)
            _check(path.parent.stat(), path.parent)
        return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid != os.geteuid():
        raise ToolError(f"{str(path)!r} belongs to somebody else; move it away")
    if found.st_mode & _OTHERS_WRITE:
        raise ToolError(f"others may write it; run `chmod go-w {quote(str(path))}`")
