"""What hangs on a file and not in it (group, attributes, access list, mode), given to another."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

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
