"""Creates empty placeholder folders (stubs) for sandbox mounts, recognized by their mode.

Several Indwell processes may need the same stub, so each process locks the stub during its use. If
the folder beneath a mount is removed, the kernel drops that mount in every sandbox.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from indwell.files.system import calls

_MODE = 0o1755  # the sticky bit has no effect on these folders, and is rare


def make_stub(path: Path) -> bool:
    """Create a stub; return True if the stub exists now, perhaps from a killed process.

    The result is False on Windows, which has no such mounts and no such modes.
    """
    if sys.platform == "win32":
        return False
    try:
        path.mkdir(_MODE)
    except FileExistsError:
        return is_stub(path)
    # the parent folder is not writable, so commands cannot create the folder either
    except OSError:
        return False
    with contextlib.suppress(OSError):
        path.chmod(_MODE)  # set the mode again, because the umask may have changed it
    return is_stub(path)


def is_stub(path: Path) -> bool:
    """Return whether ``path`` is a stub, without following links."""
    try:
        found = calls.lstat(path)
        is_folder = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == _MODE
        return is_folder and not calls.list_names(path)
    except OSError:
        return False


def remove_stub(path: Path, held: int | None = None) -> None:
    """Remove a stub, unless it was filled, has another mode, or is locked.

    Args:
        path: The stub.
        held: This process's lock on the stub, which is released.
    """
    try:
        if is_stub(path) and (held is None or _is_alone(held)):
            with contextlib.suppress(OSError):
                path.rmdir()
    finally:
        if held is not None:
            os.close(held)


if sys.platform == "win32":

    def hold_stub(_path: Path) -> int | None:
        """Return None, because Windows has no stubs."""
        return None

    def _is_alone(_descriptor: int) -> bool:
        return True

else:
    import fcntl

    def hold_stub(path: Path) -> int | None:
        """Prevent a stub's removal until the descriptor is closed; return None if it is gone."""
        try:
            descriptor = calls.open_file(
                path, os.O_RDONLY | calls.DIRECTORY | calls.NOFOLLOW | calls.CLOEXEC
            )
        except OSError:
            return None
        with contextlib.suppress(OSError):  # without locks, another process may remove the stub
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            is_there = os.path.samestat(calls.fstat(descriptor), calls.lstat(path))
        except OSError:
            is_there = False
        if is_there:
            return descriptor
        os.close(descriptor)
        return None

    def _is_alone(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
