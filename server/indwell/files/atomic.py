"""Replace or create a file in one step: it holds the old bytes or the new ones, never a part.

The new bytes go to a file of a random name in the same folder, are flushed, and take the old
file's place by rename. Mode, group and extended attributes (access lists) of the old file stay. A
link inside the roots is followed and its target replaced, never the link.

Two kinds of file are written in place instead, because a rename would break what they are: one
with several hard links, and one that somebody else owns (`safety.json` FS-08). For these the
space is reserved first, so that a full disk leaves them as they were.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.beneath import Place, locate, parent_folder, told
from indwell.files.reading import read_regular

_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_OLD = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def write_atomic(
    path: Path,
    data: bytes,
    roots: Sequence[Path],
    *,
    parents: bool = False,
    expected: bytes | None = None,
    create: bool = False,
) -> Path:
    """Make the file at ``path`` beneath ``roots`` hold ``data``; gives its resolved path.

    Args:
        path: What to write.
        data: All its bytes.
        roots: Folders that it must lie in.
        parents: Make missing folders on the way.
        expected: What the file must hold right before it is replaced.
        create: The file must not exist yet.

    Raises:
        TextMoved: The file is not ``expected`` any more.
        EditRefused: It is gone, or exists although ``create``.
        ToolError: Outside, read-only, no regular file, or the system refuses.
    """
    place = locate(path, roots)
    if not place.parts:
        raise ToolError(f"{str(path)!r} is a folder; name a file in it")
    with parent_folder(place, create=parents) as (folder, name), told(place.path):
        old = _stat(name, folder)
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise ToolError(f"{str(path)!r} is a folder; name a file in it")
        if create and old is not None:
            raise EditRefused(f"{str(path)!r} exists already; read_file it before changing it")
        if expected is not None and old is None:
            raise EditRefused(f"{str(path)!r} does not exist any more; nothing was written")
        if old is not None:
            _check_writable(old, path)
        if old is not None and (old.st_nlink > 1 or _is_foreign(old)):
            _check_expected(name, folder, place, expected)
            _write_in_place(name, folder, data)
            return place.path
        fresh = _write_beside(name, folder, data, old)
        try:
            _check_expected(name, folder, place, expected)
            _take_place(fresh, name, folder, path, create=create)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=folder)
            raise
        sync_folder(folder)
    return place.path


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a system call may take only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: int | None) -> None:
    """Flush a folder's names, where the system can; a rename survives a power cut only then."""
    if folder is not None:
        with contextlib.suppress(OSError):  # some file systems refuse it for folders
            os.fsync(folder)


def _stat(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_writable(old: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(old.st_mode):
        raise ToolError(f"{str(path)!r} is a link, pipe, socket or device, and is not written to")
    if not old.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise ToolError(
            f"{str(path)!r} is read-only; if it is meant to be changed, make it writable first"
        )


def _is_foreign(old: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and old.st_uid != os.geteuid()


def _check_expected(name: str, folder: int | None, place: Place, expected: bytes | None) -> None:
    if expected is None:
        return
    descriptor = os.open(name, os.O_RDONLY | _OLD, dir_fd=folder)
    try:
        same_size = os.fstat(descriptor).st_size == len(expected)
        if same_size and read_regular(descriptor, place.path, len(expected)) == expected:
            return
    finally:
        os.close(descriptor)
    raise TextMoved(
        f"{str(place.path)!r} changed while it was being edited; nothing was written; read it again"
    )


def _write_in_place(name: str, folder: int | None, data: bytes) -> None:
    descriptor = os.open(name, os.O_WRONLY | _OLD, dir_fd=folder)
    try:
        if data and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, len(data))
        write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_beside(name: str, folder: int | None, data: bytes, old: os.stat_result | None) -> str:
    """Write a flushed file next to ``name`` and give its name."""
    fresh = f".indwell-{secrets.token_hex(8)}.tmp"
    if folder is None:
        fresh = str(Path(name).with_name(fresh))
    descriptor = os.open(fresh, _NEW, 0o666 if old is None else 0o600, dir_fd=folder)
    try:
        write_all(descriptor, data)
        if old is not None:
            _dress_like(descriptor, name, folder, old)
        os.fsync(descriptor)
    except BaseException:
        os.unlink(fresh, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)
    return fresh


def _dress_like(descriptor: int, name: str, folder: int | None, old: os.stat_result) -> None:
    """Give an open file the mode, group and extended attributes of the file it replaces."""
    if hasattr(os, "listxattr") and folder is not None:
        # Attributes that the file system does not take are no reason to refuse the text.
        with contextlib.suppress(OSError):
            source = os.open(name, os.O_RDONLY | _OLD, dir_fd=folder)
            try:
                for attribute in os.listxattr(source):
                    with contextlib.suppress(OSError):
                        os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
            finally:
                os.close(source)
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):  # a group that we are not in
            os.fchown(descriptor, -1, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _take_place(fresh: str, name: str, folder: int | None, path: Path, *, create: bool) -> None:
    """Give the new file its name; with ``create`` only if nothing has it, in one step."""
    if create and hasattr(os, "link"):
        try:
            os.link(fresh, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError as error:
            raise EditRefused(
                f"{str(path)!r} was created by somebody else meanwhile; read it first"
            ) from error
        except OSError:  # no hard links here (FAT, some network drives): rename, checked above
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.unlink(fresh, dir_fd=folder)
    else:
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
