"""Reads and writes Indwell's private files and files of the system, such as /proc.

These paths come from the user's platform folders, not from the model; so there are no roots, and
the system's errors travel to the floor that knows what the file was for. Folders and logs of the
session store are in ``append_log``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.copying import write_all
from indwell.files.fresh import random_name, sync_folder
from indwell.files.reading import read_regular

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOSE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _CLOSE


def write_private(path: Path, data: bytes) -> Path:
    """Write a new file that only the user can read (0600); gives ``path``.

    Raises:
        FileExistsError: Something, be it a link, has that name.
        OSError: The system refuses.
    """
    descriptor = os.open(path, _NEW, 0o600)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    return path


def append_own(path: Path, data: bytes) -> None:
    """Write behind what a file of our own holds; no link is followed.

    Raises:
        OSError: It is not there, or the system refuses.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _NO_FOLLOW | _CLOSE)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def write_durable(path: Path, data: bytes) -> None:
    """Write a new file that only the user can read; after a power cut it is whole, or not there.

    Two at once may write the same name: each makes a file of its own first.

    Raises:
        FileExistsError: Something, be it a link, has that name.
        OSError: The system refuses.
    """
    _write_and_rename(path, data, _rename_to_free)


def replace_durable(path: Path, data: bytes) -> None:
    """As ``write_durable``, over what has that name: a reader finds the old bytes or the new ones.

    Raises:
        OSError: The system refuses; what was there stays.
    """
    _write_and_rename(path, data, Path.replace)


def replace_own(path: Path, data: bytes) -> None:
    """As ``replace_durable``, for what can be made again: after a power cut it may be damaged.

    Raises:
        OSError: The system refuses; what was there stays.
    """
    half = path.with_name(random_name())
    try:
        write_private(half, data).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise


def _write_and_rename(path: Path, data: bytes, rename: Callable[[Path, Path], object]) -> None:
    half = path.with_name(random_name())
    descriptor = os.open(half, _NEW, 0o600)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        rename(half, path)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | _CLOSE) if os.name == "posix" else None
    try:
        sync_folder(folder)
    finally:
        if folder is not None:
            os.close(folder)


def _rename_to_free(half: Path, path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    half.rename(path)


def rename_own(path: Path, name: str) -> Path:
    """Give a file of our own another name in its folder; gives where it stands now.

    Raises:
        OSError: It is not there, or the folder cannot be written.
    """
    return path.rename(path.with_name(name))


def read_own(path: Path, limit_b: int) -> bytes:
    """Read a regular file of the user or the system; links are followed.

    Raises:
        ToolError: It is a folder, pipe or device, or over ``limit_b``.
        OSError: Missing or not readable.
    """
    descriptor = os.open(path, os.O_RDONLY | _CLOSE | getattr(os, "O_NONBLOCK", 0))
    try:
        return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)


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


MODE = 0o444  # an editor that opens it says that it is read-only


def write_shown(path: Path, data: bytes, *, n_kept: int) -> Path:
    """Make ``path`` hold ``data``, for reading only; gives ``path``.

    It is whole at every moment. Of the files in its folder, which is for such files alone and is
    made if it is missing (0700), the newest ``n_kept`` stay.

    Raises:
        OSError: The system refuses.
    """
    make_private_folder(path.parent)
    half = path.with_name(random_name())
    try:
        write_private(half, data)
        if os.name == "nt" and path.exists():
            path.chmod(0o600)  # Windows replaces no read-only file
        half.chmod(MODE)
        half.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise
    _sweep(path, n_kept)
    return path


def _sweep(newest: Path, n_kept: int) -> None:
    found: list[tuple[int, Path]] = []
    for one in newest.parent.iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            if one != newest:
                found.append((one.lstat().st_mtime_ns, one))
    found.sort(reverse=True)
    for _, old in found[max(n_kept - 1, 0) :]:
        with contextlib.suppress(OSError):  # another process does the same
            if os.name == "nt":
                old.chmod(0o600)
            old.unlink()


NOWHERE = Path("/nonexistent/indwell")


def scratch_folder() -> Path:
    """Make a private folder among the system's temporary ones; ``NOWHERE`` if none can be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="indwell-"))
    except OSError:
        return NOWHERE


def parted(folder: Path) -> tuple[Path, Path]:
    """In such a folder, one for others' temporary files, and beside it an empty unreadable file."""
    temporary, mask = folder / "tmp", folder / "hidden"
    temporary.mkdir(mode=0o700, exist_ok=True)
    mask.touch(mode=0, exist_ok=True)
    return temporary, mask
