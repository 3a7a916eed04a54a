"""Remove files and folders of our own; nothing of the user's project goes through here.

An ``OSError`` travels: the floor above knows what the thing was and words the sentence.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

_HANDLE = getattr(os, "O_PATH", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)


def remove_own(path: Path) -> bool:
    """Remove a file, or a link itself; False if there is none.

    Raises:
        OSError: The system refuses.
    """
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def remove_own_tree(path: Path) -> bool:
    """Remove a folder with all that is in it, following no link; False if there is none.

    Raises:
        OSError: The system refuses; a part may be gone.
    """
    if path.is_symlink() or path.is_file():
        return remove_own(path)
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return False
    except PermissionError:  # commands leave folders of ours that are closed
        _open_folders(path)
        shutil.rmtree(path)
    return True


def _open_folders(path: Path) -> None:
    """Let us into each folder of a tree; links are not followed."""
    _open(path)
    for at, names, _ in os.walk(path):
        for name in names:
            _open(Path(at, name))


def _open(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, _HANDLE)
        try:
            Path(f"/proc/self/fd/{descriptor}").chmod(0o700)
        finally:
            os.close(descriptor)


def size_b(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; what cannot be looked at counts as none."""
    try:
        if path.is_file():
            return path.lstat().st_size
        return sum(one.lstat().st_size for one in path.rglob("*") if not one.is_dir())
    except OSError:
        return 0
