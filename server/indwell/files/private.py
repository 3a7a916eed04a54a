"""Reads and writes Indwell's private files and system files such as /proc.

The paths never come from the model, so no roots limit them. System errors are raised unchanged,
because the caller knows the file's purpose. ``append_log`` handles the folders and logs of
sessions.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.contents.new_file import random_name
from indwell.files.contents.reading import read_regular
from indwell.files.locks import lock_now
from indwell.files.system import calls
from indwell.files.system.access import is_users
from indwell.files.system.copying import write_all
from indwell.lazy_pattern import lazy_pattern

_NO_FOLLOW = calls.NOFOLLOW
_CLOSE = calls.CLOEXEC | calls.BINARY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _CLOSE
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK})


def write_private(path: Path, data: bytes) -> Path:
    """Write a new file that only the user can read (0600); return ``path``.

    Raises:
        FileExistsError: A file or a dangling link has the name.
        OSError: The system refuses.
    """
    descriptor = calls.open_file(path, _NEW, 0o600)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    return path


def new_private_folder(path: Path) -> None:
    """Create a folder that only the user can enter (0700).

    Raises:
        FileExistsError: The name is taken, perhaps by another user.
        OSError: The system refuses.
    """
    calls.mkdir(path, 0o700)


def append_own(path: Path, data: bytes) -> None:
    """Append to an existing file of Indwell, without following links.

    Raises:
        OSError: The file does not exist, or the system refuses.
    """
    descriptor = calls.open_file(path, os.O_WRONLY | os.O_APPEND | _NO_FOLLOW | _CLOSE)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def write_durable(path: Path, data: bytes) -> None:
    """Write a new private file that is complete or absent after a power cut.

    Two processes may write the same file at once, because each writes a temporary file first.

    Raises:
        FileExistsError: A file or a dangling link has the name.
        OSError: The system refuses.
    """
    _write_and_rename(path, data, _rename_to_free)


def write_once(path: Path, data: bytes) -> bool:
    """Write a new private file durably; return False if the name is taken.

    Of two processes that write the same file at once, exactly one gets True.

    Raises:
        OSError: The system refuses.
    """
    try:
        _write_and_rename(path, data, _link_to_free)
    except FileExistsError:
        return False
    return True


def replace_durable(path: Path, data: bytes) -> None:
    """Replace a file durably; readers see all old bytes or all new bytes.

    Raises:
        OSError: The system refuses; the old file is unchanged.
    """
    _write_and_rename(path, data, calls.replace)


def replace_own(path: Path, data: bytes) -> None:
    """Replace a file whose data can be rebuilt, because a power cut may damage the file.

    Raises:
        OSError: The system refuses; the old file is unchanged.
    """
    half = path.with_name(random_name())
    try:
        calls.replace(write_private(half, data), path)
    except BaseException:
        with contextlib.suppress(OSError):
            calls.unlink(half)
        raise


def _write_and_rename(path: Path, data: bytes, rename: Callable[[Path, Path], object]) -> None:
    half = path.with_name(random_name())
    descriptor = calls.open_file(half, _NEW, 0o600)
    try:
        try:
            write_all(descriptor, data)
            calls.fsync(descriptor)
        finally:
            os.close(descriptor)
        rename(half, path)
    except BaseException:
        with contextlib.suppress(OSError):
            calls.unlink(half)
        raise
    with contextlib.suppress(OSError):  # some file systems refuse fsync of a folder
        calls.sync_names(path.parent)


def _rename_to_free(half: Path, path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    calls.rename(half, path)


def _link_to_free(half: Path, path: Path) -> None:
    """Give the file its name, unless the name is taken; the check and the name are one step."""
    try:
        calls.link(half, path)
    except FileExistsError:
        # NFS may repeat a request whose answer was lost, and then meets the link of its own.
        if not _is_same(half, path):
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # This file system has no hard links, so a short gap remains between check and name.
        _rename_to_free(half, path)
        return
    calls.unlink(half)


def _is_same(one: Path, other: Path) -> bool:
    return os.path.samestat(calls.lstat(one), calls.lstat(other))


def rename_own(path: Path, name: str) -> Path:
    """Rename a file of Indwell within its folder; return the new path.

    Raises:
        OSError: The file does not exist, or the folder is not writable.
    """
    new = path.with_name(name)
    calls.rename(path, new)
    return new


def read_own(path: Path, limit_b: int) -> bytes:
    """Read a regular file of the user or the system, following links.

    Raises:
        ToolError: The path is a folder, pipe or device, or the file is over ``limit_b``.
        OSError: The file is missing or unreadable.
    """
    descriptor = calls.open_file(path, os.O_RDONLY | _CLOSE | calls.NONBLOCK)
    try:
        return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)


_HANDLE = calls.PATH | calls.NOFOLLOW | calls.DIRECTORY


def remove_own(path: Path) -> bool:
    """Remove a file or a link; return False if the name does not exist.

    Raises:
        OSError: The system refuses.
    """
    try:
        calls.unlink(path)
    except FileNotFoundError:
        return False
    return True


def remove_own_tree(path: Path) -> bool:
    """Remove a folder tree, without following links; return False if it does not exist.

    Raises:
        OSError: The system refuses; a part of the tree may be removed.
    """
    try:
        if not stat.S_ISDIR(calls.lstat(path).st_mode):
            return remove_own(path)
        calls.remove_tree(path)
    except FileNotFoundError:
        return False
    except PermissionError:  # commands may leave folders without permissions
        _open_folders(path)
        calls.remove_tree(path)
    return True


def remove_empty_folders(path: Path, below: Path) -> None:
    """Remove each folder above ``path`` that is empty, up to ``below``, which stays.

    The first folder that has an entry, or that the system does not remove, ends the way up.
    """
    for folder in path.parents:
        if folder == below or not folder.is_relative_to(below):
            return
        try:
            calls.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return


def _open_folders(path: Path) -> None:
    """Restore the user's permissions on each folder of a tree, without following links."""
    _open(path)
    for at, names, _ in os.walk(path):
        for name in names:
            _open(Path(at, name))


def _open(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = calls.open_file(folder, _HANDLE)
        try:
            Path(f"/proc/self/fd/{descriptor}").chmod(0o700)
        finally:
            os.close(descriptor)


def size_b(path: Path) -> int:
    """Return the size of a file, or of all files in a folder; unreadable files count as 0."""
    try:
        if path.is_file():
            return calls.lstat(path).st_size
        return sum(calls.lstat(one).st_size for one in path.rglob("*") if not one.is_dir())
    except OSError:
        return 0


MODE = 0o444  # the mode is read-only, so that an editor shows the file as read-only


def write_shown(path: Path, data: bytes, *, n_kept: int) -> Path:
    """Write ``data`` to ``path`` as a read-only file; return ``path``.

    The file is complete at every moment. The file's folder contains only read-only files, and is
    created if missing (0700). The newest ``n_kept`` files are kept.

    Raises:
        OSError: The system refuses.
    """
    make_private_folder(path.parent)
    half = path.with_name(random_name())
    try:
        write_private(half, data)
        half.chmod(MODE)
        calls.replace(half, path)
    except BaseException:
        with contextlib.suppress(OSError):
            calls.unlink(half)
        raise
    _sweep(path, n_kept)
    return path


def _sweep(newest: Path, n_kept: int) -> None:
    found: list[tuple[int, Path]] = []
    for one in newest.parent.iterdir():
        with contextlib.suppress(OSError):  # another process removed the file
            if one != newest:
                found.append((calls.lstat(one).st_mtime_ns, one))
    found.sort(reverse=True)
    for _, old in found[max(n_kept - 1, 0) :]:
        with contextlib.suppress(OSError):  # another process may have removed the file
            calls.unlink(old)


NOWHERE = Path("/nonexistent/indwell")
_SCRATCH = "indwell-temp-"
_SCRATCH_NAME = lazy_pattern(rf"{_SCRATCH}[a-z0-9_]{{8}}")
_YOUNG_S = 60.0  # A folder of this age may be new, and its process is about to lock it.
_FOLDER = os.O_RDONLY | calls.DIRECTORY | _NO_FOLLOW | _CLOSE

_locks: dict[str, int] = {}  # the locked descriptors of this process's folders, by name
_clearing = threading.Lock()  # taken by the first folder of this process


def scratch_folder() -> Path:
    """Create a private temporary folder; return ``NOWHERE`` if that is impossible.

    The folder is locked while this process runs, so that others see that it is in use. The first
    call also begins to remove the folders of processes that were killed. On Windows, and on a file
    system without locks, such folders stay.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix=_SCRATCH))
    except OSError:
        return NOWHERE
    descriptor = _lock_folder(path)
    if descriptor is not None:
        _locks[path.name] = descriptor
    if _clearing.acquire(blocking=False):
        threading.Thread(target=clear_scratch, name="indwell-scratch", daemon=True).start()
    return path


def remove_scratch(path: Path) -> None:
    """Remove a folder of ``scratch_folder``, if it exists.

    Raises:
        OSError: The system refuses; a part of the tree may be removed.
    """
    try:
        remove_own_tree(path)
    finally:
        descriptor = _locks.pop(path.name, None)
        if descriptor is not None:
            os.close(descriptor)


def unused_scratch() -> tuple[Path, ...]:
    """Return the user's temporary folders whose processes have ended without removing them."""
    now = time.time()
    found = []
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if _SCRATCH_NAME.fullmatch(entry.name) is None:
                continue
            with contextlib.suppress(OSError):  # another process removed the folder
                kind = entry.stat(follow_symlinks=False)
                is_own = stat.S_ISDIR(kind.st_mode) and is_users(kind)
                if is_own and now - kind.st_mtime > _YOUNG_S and _is_unused(Path(entry.path)):
                    found.append(Path(entry.path))
    return tuple(sorted(found))


def clear_scratch() -> None:
    """Remove the folders of ``unused_scratch``; a folder that cannot be removed stays."""
    for path in unused_scratch():
        with contextlib.suppress(OSError):
            remove_own_tree(path)


def _is_unused(path: Path) -> bool:
    descriptor = _lock_folder(path)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def _lock_folder(path: Path) -> int | None:
    """Lock a real folder of the user; return its descriptor, or None if that is impossible."""
    try:
        descriptor = calls.open_file(path, _FOLDER)
    except OSError:
        return None
    try:
        if is_users(calls.fstat(descriptor)) and lock_now(descriptor):
            return descriptor
    except OSError:
        pass  # the file system has no locks
    os.close(descriptor)
    return None


def parted(folder: Path) -> tuple[Path, Path]:
    """Return a folder for other programs' temporary files, and the path of an unreadable file."""
    temporary, mask = folder / "tmp", folder / "hidden"
    temporary.mkdir(mode=0o700, exist_ok=True)
    mask.touch(mode=0, exist_ok=True)
    return temporary, mask
