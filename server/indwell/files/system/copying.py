"""Copies bytes between open files, with group, mode and extended attributes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys

from indwell.files.system import calls

_PIECE_B = 1 << 20
# The limit of bytes for one system call, so that a copy can be interrupted.
_KERNEL_PIECE_B = 1 << 26
_BY_HAND = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all bytes, because one system call may write only a part.

    Raises:
        OSError: The system cannot write all bytes.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copy_all(source: int, target: int) -> None:
    """Copy a whole file to the current position of ``target``; see ``copy_range``."""
    copy_range(source, target, 0, calls.fstat(source).st_size)


def copy_range(source: int, target: int, offset: int, length: int) -> None:
    """Copy ``length`` bytes at ``offset`` of ``source`` to the current position of ``target``.

    Raises:
        OSError: The system cannot read or write, or ``source`` is shorter (EIO).
    """
    done = _copy_in_kernel(source, target, offset, length)
    while done < length:
        piece = calls.pread(source, min(_PIECE_B, length - done), offset + done)
        if not piece:
            raise OSError(errno.EIO, "a file became shorter while it was copied")
        write_all(target, piece)
        done += len(piece)


if sys.platform == "linux":

    def _copy_in_kernel(source: int, target: int, offset: int, length: int) -> int:
        """Return the number of bytes that the kernel copied, or 0 if it cannot copy the files."""
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

else:

    def _copy_in_kernel(_source: int, _target: int, _offset: int, _length: int) -> int:
        return 0


_LOOK = os.O_RDONLY | calls.NOFOLLOW | calls.CLOEXEC | calls.NONBLOCK
_NO_MODES = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
)


def set_mode(descriptor: int, mode: int) -> bool:
    """Set the permissions of an open file; return False if the file system cannot.

    Some network drives, FUSE and FAT refuse every change, so a correct mode is not set again.

    Raises:
        OSError: Any other failure, such as a disk error.
    """
    if stat.S_IMODE(calls.fstat(descriptor).st_mode) == mode:
        return True
    try:
        calls.set_mode(descriptor, mode)
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise
        return False
    return True


def dress_like(fresh: int, name: str, folder: int, old: os.stat_result) -> bool:
    """Copy group, mode and attributes of ``name`` with stat ``old`` to the file ``fresh``.

    The result is False if the group, the access list or the mode could not be set, because other
    users could then read the file. Other attributes that the system refuses are skipped. On
    Windows, the result is also False for a file with several streams.
    """
    if not _set_group(fresh, old):
        return False
    # Set attributes and mode later, because changing the group clears capabilities and set-id bits.
    try:
        source = calls.open_file(name, _LOOK, dir_fd=folder)
    except PermissionError:
        return False  # A replacement of an unreadable file would change who may read the file.
    try:
        if not _copy_attributes(source, fresh):
            return False
    finally:
        os.close(source)
    return set_mode(fresh, stat.S_IMODE(old.st_mode))


if sys.platform == "win32":
    from indwell.files.system.windows import copy_facts as _copy_attributes

    def _set_group(_fresh: int, _old: os.stat_result) -> bool:
        return True

else:

    def _set_group(fresh: int, old: os.stat_result) -> bool:
        if old.st_gid != calls.fstat(fresh).st_gid:
            try:
                os.fchown(fresh, -1, old.st_gid)
            except OSError:  # the user is not a member of the group
                return False
        return True


if sys.platform == "darwin":
    import ctypes

    # copyfile.h: the access list, and attributes such as quarantine
    _ACL_AND_ATTRIBUTES = 0x1 | 0x4

    def _copy_attributes(source: int, fresh: int) -> bool:
        copy = ctypes.CDLL(None, use_errno=True).fcopyfile
        copy.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
        if copy(source, fresh, None, _ACL_AND_ATTRIBUTES) == 0:
            return True
        # the disk supports neither access lists nor attributes
        return ctypes.get_errno() in {errno.ENOTSUP, errno.EOPNOTSUPP}


elif sys.platform == "linux":
    _ACCESS = "system.posix_acl_access"  # the attribute with the access list for other users

    def _copy_attributes(source: int, fresh: int) -> bool:
        given = []
        with contextlib.suppress(OSError):  # the file system supports no attributes
            given = os.listxattr(source)
        if not _undress(fresh, given):
            return False
        for attribute in given:
            try:
                os.setxattr(fresh, attribute, os.getxattr(source, attribute))
            except OSError:
                if attribute == _ACCESS:
                    return False
        return True

    def _undress(fresh: int, given: list[str]) -> bool:
        """Remove attributes that came from the folder's defaults and that the old file lacks."""
        with contextlib.suppress(OSError):
            for attribute in set(os.listxattr(fresh)) - set(given):
                try:
                    os.removexattr(fresh, attribute)
                except OSError:
                    if attribute == _ACCESS:
                        return False
        return True
