"""Copies files of the user, one at a time, into new private folders, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.contents.reading import opened_beneath, read_regular
from indwell.files.private import read_own
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.copying import set_mode, write_all

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | calls.NOFOLLOW | calls.CLOEXEC | calls.BINARY


class CopyMark(msgspec.Struct, frozen=True, array_like=True):
    """The mode of a copied file, and the values of ``stat`` that differ after each write."""

    mode: int
    seen: tuple[int, int, int, int] = (0, 0, 0, 0)


class Copier:
    """Copies files from one folder into several new folders.

    Args:
        source: The resolved folder of the user.
        targets: The new folders; only this process writes to them.
        limit_b: The limit of bytes for all files.
    """

    def __init__(self, source: Path, targets: Sequence[Path], limit_b: int) -> None:
        self._source, self._targets, self.left_b = source, tuple(targets), limit_b
        self._folders = {os.fspath(one) for one in targets}

    def copy(self, at: str) -> CopyMark:
        """Copy the file at a relative path into each folder; return the first copy's mark.

        Raises:
            ToolError: The path passes through a link, or is no regular, readable file within the
                limit, or the copy has another file of this name.
            OSError: A copy cannot be written.
        """
        with opened_beneath(self._source / at, [self._source], resolved=True) as opened:
            data = read_regular(opened.descriptor, opened.path, self.left_b)
            mode = stat.S_IMODE(opened.stat.st_mode) & 0o777
        self.left_b -= len(data)
        for target in self._targets:
            self._write(target, at, data, mode | 0o600)
        return CopyMark(mode, seen_values(self._targets[0] / at))

    def copy_link(self, at: str, leads_to: str) -> bool:
        """Create a symbolic link in the first folder; return False if the system refuses links.

        Raises:
            ToolError: The copy has a link or a file in place of a folder of the path.
        """
        place = self._targets[0] / at
        self.make_folder(place.parent)
        try:
            calls.symlink(leads_to, place)
        except FileExistsError:
            return True
        except OSError:  # On Windows, most users may not create links.
            return False
        return True

    def _write(self, target: Path, at: str, data: bytes, mode: int) -> None:
        self.make_folder((target / at).parent)
        try:
            descriptor = calls.open_file(target / at, _NEW, mode)
        except FileExistsError as error:
            raise ToolError(f"{quoted(at)} is already copied under another spelling") from error
        try:
            write_all(descriptor, data)
            set_mode(descriptor, mode)
        finally:
            os.close(descriptor)

    def make_folder(self, folder: Path) -> None:
        """Create a folder in one of the new folders, with its parents, if it is missing.

        The copy has links of the user's folder, so each existing parent is checked.

        Raises:
            ToolError: A link or a file has the name of the folder, or of a parent.
        """
        if os.fspath(folder) in self._folders:
            return
        if folder.parent == folder:
            raise ToolError(f"{quoted(folder)} is outside of the copy")
        self.make_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not is_real_folder(folder):
            raise ToolError(f"{quoted(folder)} is a link or a file in the copy, not a folder")
        self._folders.add(os.fspath(folder))


def link_target(path: Path) -> str | None:
    """Return where a symbolic link leads, as written, or None if the path is no link."""
    try:
        return str(path.readlink())
    except (OSError, ValueError):
        return None


def is_real_folder(path: Path) -> bool:
    """Return whether a folder, not a link to a folder, has the name."""
    try:
        return stat.S_ISDIR(calls.lstat(path).st_mode)
    except OSError:
        return False


def seen_values(path: Path) -> tuple[int, int, int, int]:
    """Return values of ``stat`` that differ after each write, or zeros if there is no file."""
    try:
        found = calls.lstat(path)
    except OSError:
        return (0, 0, 0, 0)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def mode_of(path: Path) -> int:
    """Return the permissions of a file, or 0 if there is no file."""
    try:
        return stat.S_IMODE(calls.lstat(path).st_mode) & 0o777
    except OSError:
        return 0


def bytes_of(root: Path, at: str, limit_b: int) -> bytes | None:
    """Return the bytes of a regular file beneath ``root``, or None if there is no file.

    Raises:
        ToolError: A link, folder or device has the name, or the file is over ``limit_b``.
    """
    path = root / at
    if not os.path.lexists(path):
        return None
    if link_target(path) is not None:
        raise ToolError("it is a symbolic link")
    with opened_beneath(path, [root]) as opened:
        return read_regular(opened.descriptor, path, limit_b)


def private_bytes(path: Path, limit_b: int) -> bytes | None:
    """Return the bytes of a file that Indwell wrote, or None if there is no such file.

    Raises:
        OSError: The file cannot be read.
        ToolError: The path is no regular file, or the file is over ``limit_b``.
    """
    try:
        return read_own(path, limit_b)
    except (FileNotFoundError, NotADirectoryError):
        return None


def new_private_folder(path: Path) -> None:
    """Create a folder (0700) whose name must be free.

    Raises:
        FileExistsError: The name is taken.
        OSError: The system refuses.
    """
    make_private_folder(path.parent)
    path.mkdir(mode=0o700)
