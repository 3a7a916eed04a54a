"""Put a thing of the workspace aside: another name in the same folder, and nothing is lost.

For what a confined command made although it may not. All of it goes by handles of folders, and
follows no link that was left there for us.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from indwell.files.beneath import Place, parent_folder

_MOST = 1_000


def put_aside(root: Path, at: str, name: str) -> str | None:
    """Rename what stands at ``at`` below ``root``; gives its new path from there, None if gone.

    Args:
        root: A folder, resolved.
        at: From there on, with slashes.
        name: The new name; a number is added while there is one such already.

    Raises:
        ToolError: The folder has become a link, or is gone.
        OSError: The system refuses.
    """
    place = Place(root=root, parts=tuple(at.split("/")))
    with parent_folder(place) as (folder, old):
        if folder is None or not _exists(old, folder):
            return None
        for number in range(_MOST):
            new = f"{number}-{name}" if number else name
            if not _exists(new, folder):
                os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
                return "/".join((*place.parts[:-1], new))
    return None


def put_link(root: Path, at: str, leads_to: str) -> None:
    """Make a link as it was, if nothing stands there.

    Raises:
        ToolError: The folder has become a link, or is gone.
    """
    place = Place(root=root, parts=tuple(at.split("/")))
    with parent_folder(place) as (folder, name), contextlib.suppress(FileExistsError):
        if folder is not None:
            os.symlink(leads_to, name, dir_fd=folder)


def put_file(root: Path, at: str, data: bytes, mode: int) -> None:
    """Make a file as it was, if nothing stands there.

    Raises:
        ToolError: The folder has become a link, or is gone.
        OSError: The system refuses, or something stands there.
    """
    place = Place(root=root, parts=tuple(at.split("/")))
    with parent_folder(place) as (folder, name):
        if folder is None:
            raise FileNotFoundError(at)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(name, flags, mode, dir_fd=folder), "wb") as file:  # noqa: PTH123 - a handle
            file.write(data)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
