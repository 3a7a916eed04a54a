"""An empty folder that stands in for a missing one, known by its mode.

Several of our processes may need the same one, so each holds a lock on it while it does: the kernel
takes a mount away, in every sandbox, when the folder beneath it is removed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_MODE = 0o1755  # sticky, which means nothing here and hardly any folder is; the user may fill it


def make_stub(path: Path) -> bool:
    """Make one; True if one stands there now, be it one that a killed process left."""
    try:
        path.mkdir(_MODE)
    except FileExistsError:
        return is_stub(path)
    except OSError:  # the folder above cannot be written, so nobody makes it
        return False
    with contextlib.suppress(OSError):
        path.chmod(_MODE)  # whatever the mask
    return is_stub(path)


def is_stub(path: Path) -> bool:
    """Is it such a folder? Follows no link."""
    try:
        found = path.lstat()
        is_folder = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == _MODE
        return is_folder and not os.listdir(path)  # noqa: PTH208 - names are not needed
    except OSError:
        return False


def hold_stub(path: Path) -> int | None:
    """Keep others from removing it, until the descriptor is closed; None if it is gone."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):  # where locks are not known, as before
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        is_there = os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        is_there = False
    if is_there:
        return descriptor
    os.close(descriptor)
    return None


def remove_stub(path: Path, held: int | None = None) -> None:
    """Remove it, unless somebody put something into it, made it theirs by its mode, or holds it.

    Args:
        path: The folder.
        held: Our own hold on it, which ends.
    """
    try:
        if is_stub(path) and (held is None or _is_alone(held)):
            with contextlib.suppress(OSError):
                path.rmdir()
    finally:
        if held is not None:
            os.close(held)


def _is_alone(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
