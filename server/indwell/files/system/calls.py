"""Provides the file calls of ``os`` on POSIX, and their equivalents on Windows.

All modules in ``files`` use the names of this module, which work alike on all systems. A folder
descriptor limits a path, ``NOFOLLOW`` refuses a link, and ``st_ctime`` is the time of change. A
rename replaces an open file, and a flush reaches the drive.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

BINARY = getattr(os, "O_BINARY", 0)

if sys.platform == "win32":
    import stat as kinds
    from pathlib import Path

    from indwell.files.system import windows, windows_facts
    from indwell.files.system.held_files import is_shared_out, patiently

    Name: TypeAlias = windows.Name
    Entry: TypeAlias = windows_facts.WindowsEntry
    NOFOLLOW, DIRECTORY, PATH = windows.NOFOLLOW, windows.DIRECTORY, windows.PATH
    stat, lstat, fstat, scan = windows.stat, windows.lstat, windows.fstat, windows.scan
    mkdir, rmdir, set_mode = windows.mkdir, windows.rmdir, windows.set_mode
    pread, pwrite, check_beneath = windows.pread, windows.pwrite, windows.check_beneath
    CLOEXEC = os.O_NOINHERIT
    # The flags are not needed, because opening a pipe below a folder does not wait for its other
    # end.
    NONBLOCK = NOCTTY = TMPFILE = 0

    def open_file(path: Name, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Open like ``os.open``; to write, wait a moment for a program that has the file open."""
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return windows.open_file(path, flags, mode, dir_fd=dir_fd)
        return patiently(
            lambda: windows.open_file(path, flags, mode, dir_fd=dir_fd),
            is_shared_out,
            lambda: _whole(path, dir_fd),
        )

    def replace(
        src: Name, dst: Name, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Rename and replace a file; wait a moment for a program that has the file open."""

        def is_held(error: OSError) -> bool:
            if getattr(error, "winerror", None) != 5:  # noqa: PLR2004 - ERROR_ACCESS_DENIED
                return is_shared_out(error)
            # Access may be denied by an access list, or because a program has a file open.
            return windows.may_be_deleted(dst, dir_fd=dst_dir_fd) or _is_folder(src, src_dir_fd)

        patiently(
            lambda: windows.replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd),
            is_held,
            lambda: _whole(dst, dst_dir_fd),
        )

    rename = replace

    def unlink(path: Name, *, dir_fd: int | None = None) -> None:
        """Remove a file or a link; wait a moment for a program that has the file open."""
        patiently(
            lambda: windows.unlink(path, dir_fd=dir_fd),
            is_shared_out,
            lambda: _whole(path, dir_fd),
        )

    def remove_tree(path: Name) -> None:
        """Remove a folder tree, without following links and junctions."""
        with scan(path) as entries:
            found = list(entries)
        for one in found:
            if one.is_dir():
                remove_tree(one.path)
            else:
                unlink(one.path)
        rmdir(path)

    def link(
        src: Name,
        dst: Name,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = False,
    ) -> None:
        """Give a file another name, which must be free."""
        del follow_symlinks
        _whole(dst, dst_dir_fd).hardlink_to(_whole(src, src_dir_fd))

    def symlink(leads_to: str, path: Name, *, dir_fd: int | None = None) -> None:
        """Create a symbolic link, which most users may not do on Windows."""
        _whole(path, dir_fd).symlink_to(leads_to)

    def readlink(path: Name, *, dir_fd: int | None = None) -> str:
        """Return a link's target as written."""
        return str(_whole(path, dir_fd).readlink())

    def list_names(folder: Name | int) -> list[str]:
        """Return the names of a folder's entries."""
        with scan(folder) as entries:
            return [one.name for one in entries]

    OPEN_FILES_HOLD_FOLDERS = True  # Windows cannot rename a folder that contains an open file
    FRESH_MODE = 0o666  # a replacement inherits its folder's access list, as the old file did
    fsync = fdatasync = os.fsync  # on Windows, os.fsync calls FlushFileBuffers

    def sync_folder(folder: int) -> None:
        """Do nothing, because Windows flushes no folder; NTFS keeps a journal of names."""

    def sync_names(folder: Path) -> None:
        """Do nothing, for the same reason as ``sync_folder``."""

    def _whole(path: Name, dir_fd: int | None) -> Path:
        return Path(path) if dir_fd is None else Path(windows.final_path(dir_fd), path)

    def _is_folder(path: Name, dir_fd: int | None) -> bool:
        try:
            return kinds.S_ISDIR(stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode)
        except OSError:
            return False

else:
    import contextlib
    import errno
    import shutil

    _NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})
    """What file systems answer that cannot flush folders, such as some network drives."""

    open_file, stat, lstat, fstat = os.open, os.stat, os.lstat, os.fstat
    mkdir, rmdir, unlink, rename, replace = os.mkdir, os.rmdir, os.unlink, os.rename, os.replace
    link, symlink, readlink, scan = os.link, os.symlink, os.readlink, os.scandir
    remove_tree = shutil.rmtree
    pread, pwrite, list_names = os.pread, os.pwrite, os.listdir
    Entry: TypeAlias = os.DirEntry[str]
    OPEN_FILES_HOLD_FOLDERS = False
    FRESH_MODE = 0o600  # the mode of a replacement, until it gets the mode of the old file
    NOFOLLOW, DIRECTORY, CLOEXEC = os.O_NOFOLLOW, os.O_DIRECTORY, os.O_CLOEXEC
    NONBLOCK, NOCTTY = os.O_NONBLOCK, os.O_NOCTTY
    PATH, TMPFILE = getattr(os, "O_PATH", 0), getattr(os, "O_TMPFILE", 0)

    if sys.platform == "darwin":
        import fcntl

        _NOT_FULL = frozenset({errno.ENOTSUP, errno.EINVAL, errno.ENOTTY, errno.ENODEV})

        def fsync(descriptor: int) -> None:
            """Flush a file to the medium; on macOS, ``os.fsync`` only reaches the drive's cache."""
            try:
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            except OSError as error:
                if error.errno not in _NOT_FULL:
                    raise
                os.fsync(descriptor)  # the file is on a network drive

        fdatasync = fsync
    else:
        fsync, fdatasync = os.fsync, os.fdatasync

    def sync_folder(folder: int) -> None:
        """Flush a folder's entries, if the file system can, so that a rename is durable."""
        with contextlib.suppress(OSError):  # some file systems refuse fsync of a folder
            fsync(folder)

    def sync_names(folder: Path) -> None:
        """Flush the entries of a folder, so that a new name in it survives a power cut.

        A file system that cannot flush folders is used as it is.

        Raises:
            OSError: The entries may not survive.
        """
        descriptor = os.open(folder, os.O_RDONLY | DIRECTORY | CLOEXEC)
        try:
            fsync(descriptor)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise
        finally:
            os.close(descriptor)

    def set_mode(descriptor: int, mode: int) -> None:
        """Set the permissions of an open file."""
        os.fchmod(descriptor, mode)

    def check_beneath(descriptor: int, root: int, parts: Sequence[str]) -> None:
        """Do nothing, because on POSIX, opening a file already refuses links."""
