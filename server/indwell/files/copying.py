"""Copies bytes between open files, with group, mode and extended attributes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

_PIECE_B = 1 << 20
_KERNEL_PIECE_B = 1 << 26  # a copy can be interrupted between two of them
_BY_HAND = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte; a system call may take only a part.

    Raises:
        OSError: The system does not take them all.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copy_all(source: int, target: int) -> None:
    """Copy a whole file to the present place of ``target``; see ``copy_range``."""
    copy_range(source, target, 0, os.fstat(source).st_size)


def copy_range(source: int, target: int, offset: int, length: int) -> None:
    """Copy ``length`` bytes at ``offset`` of ``source`` to the present place of ``target``.

    Raises:
        OSError: The system cannot read or write, or ``source`` is shorter (EIO).
    """
    done = 0
    if hasattr(os, "copy_file_range"):
        done = _copy_in_kernel(source, target, offset, length)
    while done < length:
        piece = _read_at(source, min(_PIECE_B, length - done), offset + done)
        if not piece:
            raise OSError(errno.EIO, "a file became shorter while it was copied")
        write_all(target, piece)
        done += len(piece)


def _copy_in_kernel(source: int, target: int, offset: int, length: int) -> int:
    """How many bytes the kernel copied; it takes none between some file systems."""
    done = 0
    while done < length:
        wanted = min(_KERNEL_PIECE_B, length - done)
        try:
            n_bytes = os.copy_file_range(source, target, wanted, offset_src=offset + done)
        except OSError as error:
            if error.errno not in _BY_HAND:
                raise
            break
        if n_bytes == 0:
            break
        done += n_bytes
    return done


def _read_at(source: int, length: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(source, length, offset)
    os.lseek(source, offset, os.SEEK_SET)
    return os.read(source, length)


_LOOK = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_NO_MODES = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
)
_ACCESS = "system.posix_acl_access"  # who else may read the text


def dress_like(fresh: int, name: str, folder: int | None, old: os.stat_result) -> bool:
    """Dress the open file ``fresh`` like ``name``, whose stat is ``old``.

    Gives False if the group, the access list or the mode could not be given: other people could
    read the fresh file, or not any more. Other attributes that the system does not take are left
    out.
    """
    if hasattr(os, "fchown") and old.st_gid != os.fstat(fresh).st_gid:
        try:
            os.fchown(fresh, -1, old.st_gid)
        except OSError:  # a group that we are not in
            return False
    # A change of group clears capabilities and the set-id bits: attributes and mode come after it.
    if hasattr(os, "listxattr") and folder is not None and not _attributes(fresh, name, folder):
        return False
    return set_mode(fresh, stat.S_IMODE(old.st_mode))


def set_mode(descriptor: int, mode: int) -> bool:
    """Give an open file these permissions; False if its file system does not set them.

    Some network drives, FUSE and FAT refuse every change: who has the right mode is not touched.

    Raises:
        OSError: For another reason, such as a fault of the disk.
    """
    if not hasattr(os, "fchmod") or stat.S_IMODE(os.fstat(descriptor).st_mode) == mode:
        return True
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise
        return False
    return True


def _attributes(fresh: int, name: str, folder: int) -> bool:
    try:
        source = os.open(name, _LOOK, dir_fd=folder)
    except PermissionError:
        return False  # we may write it and not read it: replacing it would change who may
    try:
        given = []
        with contextlib.suppress(OSError):  # a file system without attributes
            given = os.listxattr(source)
        if not _undress(fresh, given):
            return False
        for attribute in given:
            try:
                os.setxattr(fresh, attribute, os.getxattr(source, attribute))
            except OSError:
                if attribute == _ACCESS:
                    return False
    finally:
        os.close(source)
    return True


def _undress(fresh: int, given: list[str]) -> bool:
    """Take away what the folder gave the fresh file by default and the old file does not have."""
    with contextlib.suppress(OSError):
        for attribute in set(os.listxattr(fresh)) - set(given):
            try:
                os.removexattr(fresh, attribute)
            except OSError:
                if attribute == _ACCESS:
                    return False
    return True
