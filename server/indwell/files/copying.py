"""Copies bytes between open files, with group, mode and extended attributes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys

_PIECE_B = 1 << 20
_KERNEL_PIECE_B = 1 << 26  # a copy can be interrupted between two pieces
_BY_HAND = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all bytes; one system call may take only a part.

    Raises:
        OSError: The system does not take all bytes.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copy_all(source: int, target: int) -> None:
    """Copy a whole file to the current position of ``target``; see ``copy_range``."""
    copy_range(source, target, 0, os.fstat(source).st_size)


def copy_range(source: int, target: int, offset: int, length: int) -> None:
    """Copy ``length`` bytes at ``offset`` of ``source`` to the current position of ``target``.

    Raises:
        OSError: The system cannot read or write, or ``source`` is shorter (EIO).
    """
    done = _copy_in_kernel(source, target, offset, length)
    while done < length:
        piece = _read_at(source, min(_PIECE_B, length - done), offset + done)
        if not piece:
            raise OSError(errno.EIO, "a file became shorter while it was copied")
        write_all(target, piece)
        done += len(piece)


if sys.platform == "linux":

    def _copy_in_kernel(source: int, target: int, offset: int, length: int) -> int:
        """Return how many bytes the kernel copied; between some file systems it copies none."""
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
        """Return 0: no byte was copied."""
        return 0


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
_COPYFILE_ACL, _COPYFILE_XATTR = 1, 4  # copyfile.h of macOS
_ACCESS = "system.posix_acl_access"  # who else may read the file


def dress_like(fresh: int, name: str, folder: int | None, old: os.stat_result) -> bool:
    """Copy group, mode and attributes of ``name``, whose stat is ``old``, to the file ``fresh``.

    Returns False if the group, the access list or the mode could not be set: other people could
    read the new file, or could no longer read it. Other attributes that the system refuses are
    skipped.
    """
    if hasattr(os, "fchown") and old.st_gid != os.fstat(fresh).st_gid:
        try:
            os.fchown(fresh, -1, old.st_gid)
        except OSError:  # the user is not in this group
            return False
    # Changing the group clears capabilities and set-id bits, so attributes and mode are set later.
    if folder is not None and not _attributes(fresh, name, folder):
        return False
    return set_mode(fresh, stat.S_IMODE(old.st_mode))


def set_mode(descriptor: int, mode: int) -> bool:
    """Set the permissions of an open file; False if its file system does not support that.

    Some network drives, FUSE and FAT refuse every change; a mode that is right already is kept.

    Raises:
        OSError: Any other failure, such as a disk error.
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


if sys.platform == "linux":

    def _attributes(fresh: int, name: str, folder: int) -> bool:
        try:
            source = os.open(name, _LOOK, dir_fd=folder)
        except PermissionError:
            return False  # writable but unreadable: a replacement would change who may read it
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
        """Remove attributes that the folder added by default and the old file lacks."""
        with contextlib.suppress(OSError):
            for attribute in set(os.listxattr(fresh)) - set(given):
                try:
                    os.removexattr(fresh, attribute)
                except OSError:
                    if attribute == _ACCESS:
                        return False
        return True

elif sys.platform == "darwin":

    def _attributes(fresh: int, name: str, folder: int) -> bool:
        """Copy the access list and the attributes: Finder's tags, quarantine (never run yet)."""
        try:
            source = os.open(name, _LOOK, dir_fd=folder)
        except PermissionError:
            return False
        try:
            copy = ctypes.CDLL(None).fcopyfile
            return int(copy(source, fresh, None, _COPYFILE_ACL | _COPYFILE_XATTR)) == 0
        finally:
            os.close(source)

else:

    def _attributes(_fresh: int, _name: str, _folder: int) -> bool:
        """Return True: this system's attributes are not copied."""
        return True
