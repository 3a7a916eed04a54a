"""An empty folder that stands in for a missing one, known by its mode."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

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


def remove_stub(path: Path) -> None:
    """Remove it, unless somebody put something into it, or made it theirs by another mode."""
    if is_stub(path):
        with contextlib.suppress(OSError):
            path.rmdir()
