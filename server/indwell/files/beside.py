"""Keep a copy of a file of the user's beside it, and never at the cost of an older copy."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from indwell.files.append_log import read_bytes_private
from indwell.files.copying import write_all
from indwell.files.dress import set_mode

_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL  # a link that stands there is not followed
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_MOST = 1_000


def keep_beside(path: Path, data: bytes, suffix: str) -> Path:
    """Write ``data``, which stands at ``path``, to a new file beside it; gives where.

    The name is that of ``path`` with ``suffix``, and with a number where that is taken; a copy
    that has these bytes already is enough. It has the mode of ``path``, and never a wider one.

    Raises:
        OSError: The system refuses, or there are too many copies.
    """
    mode = path.stat().st_mode & 0o777
    for number in range(1, _MOST):
        kept = path.with_name(path.name + suffix + (f".{number}" if number > 1 else ""))
        try:
            file = os.open(kept, _NEW, 0o600)
        except FileExistsError:
            if _holds(kept, data):
                return kept
            continue
        try:
            write_all(file, data)
            set_mode(file, mode)  # where it is refused the copy stays the user's alone
            os.fsync(file)
        except BaseException:
            with suppress(OSError):
                kept.unlink()
            raise
        finally:
            os.close(file)
        return kept
    raise OSError(errno.EEXIST, f"there are {_MOST} copies of it already", str(path))


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_bytes_private(path) == data
    except OSError:  # a link, a folder, not ours to read
        return False
