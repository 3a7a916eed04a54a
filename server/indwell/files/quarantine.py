"""Moves files and folders out of the workspace, into quarantine, without losing them.

The moved files were created by a confined command without permission. The module uses folder
descriptors and follows no symbolic link, because the command may have left links as traps. The new
path has a random name, so that no command can create that path first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.beneath import PathBeneath, parent_folder
from indwell.files.system import calls
from indwell.files.system.copying import copy_all
from indwell.lazy_pattern import lazy_pattern

MOST_B = 1 << 30  # the limit of bytes for a file or folder that is copied to another file system
MOST_ENTRIES = 10_000
MOST_DEPTH = 100
NOTE = "from.txt"
"""The name of the file beside each moved file; it contains the former path."""

_RANDOM_B = 16
_SAFE = lazy_pattern(r"quarantined-[0-9a-f]{32}\.txt")
_MOST_SHOWN = 400  # the limit of characters for a path in a message
_MOST_NAME = 60  # the limit of characters of the old name in the new name
_NOT_FOLLOWED = calls.NOFOLLOW | calls.CLOEXEC
_PATH = calls.PATH | _NOT_FOLLOWED
_FOLDER = _PATH | calls.DIRECTORY
_LISTED = os.O_RDONLY | calls.DIRECTORY | _NOT_FOLLOWED
_READ = os.O_RDONLY | calls.NONBLOCK | _NOT_FOLLOWED
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_FOLLOWED
_REFUSED = frozenset({errno.EACCES, errno.EPERM})


class NotRemoved(msgspec.Struct, frozen=True):
    """A file that was renamed in its folder, but could not be moved out of the folder.

    Attributes:
        at: The file's new path, relative to the workspace folder.
        why: The system's error, in words.
    """

    at: str
    why: str


class Quarantine:
    """A private folder outside the workspace for the moved files.

    Args:
        folder: A folder in the state folder, created when needed. If it is None or cannot be
            created, a temporary folder is used.
        roots: The workspace folders.
        spare_in: The parent for a temporary folder; by default, the system's.
    """

    def __init__(
        self,
        folder: Path | None = None,
        roots: Sequence[Path] = (),
        *,
        spare_in: Path | None = None,
    ) -> None:
        self.folder = folder
        self._roots = tuple(roots)
        self._spare_in = spare_in
        self._home: Path | None = None

    def take(self, root: Path, at: str, safe_name: str) -> Path | NotRemoved | None:
        """Move ``at`` from ``root`` to the quarantine; return the new path, or None if it is gone.

        If a folder's mode prevents the move, its owner's permissions are restored first.

        Args:
            root: A resolved folder.
            at: The path relative to ``root``, with slashes.
            safe_name: A harmless name for the moved file, which no tool loads.

        Raises:
            OSError: The file was not moved, because the system refuses, the path contains a
                symbolic link, or no new path can be created.
        """
        *folders, name = at.split("/")
        try:
            folder = _entered(root, folders)
        except FileNotFoundError:
            return None
        try:
            if not _is_there(folder, name):
                return None
            place = self._new_place(str(root / at))
            with _held(calls.open_file(place, _LISTED)) as target:
                new = _shortened(safe_name)
                try:
                    _rename(folder, name, target, new)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        self._give_up(place)
                        raise
                    left = _carried(folder, name, target, new)
                    if left:
                        self._give_up(place)
                        return NotRemoved("/".join((*folders, left[0])), left[1])
            return place / new
        finally:
            os.close(folder)

    def home(self) -> Path:
        """Return the quarantine folder, created if missing, which is never in the workspace.

        Raises:
            OSError: The folder cannot be created.
        """
        if self._home is not None and self._home.is_dir():
            return self._home
        if self.folder is not None:
            with contextlib.suppress(OSError):
                make_private_folder(self.folder)
                if self._is_outside(self.folder) and os.access(self.folder, os.W_OK | os.X_OK):
                    self._home = self.folder
                    return self.folder
        spare = Path(tempfile.mkdtemp(prefix="indwell-quarantine-", dir=self._spare_in))
        if not self._is_outside(spare):
            spare.rmdir()
            raise OSError(errno.ENOENT, "there is no private folder outside the workspace")
        self._home = spare
        return spare

    def _is_outside(self, folder: Path) -> bool:
        real = folder.resolve()
        return not any(real.is_relative_to(root) for root in self._roots)

    def _new_place(self, origin: str) -> Path:
        place = self.home() / secrets.token_hex(_RANDOM_B)
        place.mkdir(mode=0o700)
        # The note only helps the user to find the file.
        with contextlib.suppress(OSError, UnicodeError):
            (place / NOTE).write_text(f"{origin}\n", "utf-8", "backslashreplace")
        return place

    def _give_up(self, place: Path) -> None:
        """Remove an unused new path, and the temporary folder if it is empty."""
        with contextlib.suppress(OSError):
            if {one.name for one in place.iterdir()} <= {NOTE}:
                (place / NOTE).unlink(missing_ok=True)
                place.rmdir()
                if self._home is not None and self._home != self.folder:
                    self._home.rmdir()


def error_reason(error: Exception) -> str:
    """Describe an error for the user."""
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError | ToolError):
        return (isinstance(error, OSError) and error.strerror) or str(error)
    return f"an error in Indwell itself: {type(error).__name__}: {error}".removesuffix(": ")


def named(path: str) -> str:
    """Quote a path for the user; shorten a very long path in the middle."""
    if len(path) <= _MOST_SHOWN:
        return repr(path)
    return repr(f"{path[: _MOST_SHOWN // 2]}…{path[-_MOST_SHOWN // 4 :]}")


def restore_access(root: Path, at: str) -> bool:
    """Restore the owner's permissions of a folder; return False if that fails."""
    try:
        with _held(_entered(root, [one for one in at.split("/") if one])) as folder:
            _open_up(folder)
    except OSError:
        return False
    return True


def put_link(root: Path, at: str, leads_to: str) -> None:
    """Create a symbolic link again, unless another file has its name.

    Raises:
        ToolError: The folder was replaced by a link, or is gone.
    """
    place = PathBeneath(root=root, parts=tuple(at.split("/")))
    with parent_folder(place) as (folder, name), contextlib.suppress(FileExistsError):
        calls.symlink(leads_to, name, dir_fd=folder)


def put_file(root: Path, at: str, data: bytes, mode: int) -> None:
    """Create a file again, unless another file has its name.

    Raises:
        ToolError: The folder was replaced by a link, or is gone.
        OSError: The system refuses, or another file has the name.
    """
    place = PathBeneath(root=root, parts=tuple(at.split("/")))
    with parent_folder(place) as (folder, name):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | calls.CLOEXEC
        with open(calls.open_file(name, flags, mode, dir_fd=folder), "wb") as file:  # noqa: PTH123 - a handle
            file.write(data)


@contextlib.contextmanager
def _held(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _entered(root: Path, folders: Sequence[str]) -> int:
    """Open the folder with these names below ``root``, without following links."""
    top = calls.open_file(root, _FOLDER)
    folder = os.dup(top)
    try:
        for name in folders:
            deeper = _allowed(folder, partial(calls.open_file, name, _FOLDER, dir_fd=folder))
            os.close(folder)
            folder = deeper
        calls.check_beneath(folder, top, folders)
    except BaseException:
        os.close(folder)
        raise
    finally:
        os.close(top)
    return folder


def _rename(folder: int, name: str, target: int, new: str) -> None:
    """Move an entry to another folder; if a folder's mode prevents that, restore permissions."""

    def move() -> None:
        calls.rename(name, new, src_dir_fd=folder, dst_dir_fd=target)

    try:
        move()
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        _open_up(folder)
        with contextlib.suppress(NotADirectoryError), _held(_opened(folder, name)) as own:
            _open_up(own)  # moving a folder also changes its ".." entry
        move()


def _opened(folder: int, name: str) -> int:
    return calls.open_file(name, _FOLDER, dir_fd=folder)


def _allowed(folder: int, act: Callable[[], int]) -> int:
    """Call ``act``; if the mode of ``folder`` makes it fail, restore permissions and call again."""
    try:
        return act()
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
    _open_up(folder)
    return act()


def _open_up(handle: int, bits: int = 0o700) -> None:
    """Restore the owner's permissions by descriptor, so that replacing the name has no effect."""
    mode = stat.S_IMODE(calls.fstat(handle).st_mode)
    if mode & bits == bits:
        return
    if sys.platform == "linux":  # an O_PATH descriptor cannot change modes
        Path(f"/proc/self/fd/{handle}").chmod(mode | bits)
    else:
        calls.set_mode(handle, mode | bits)


def _is_there(folder: int, name: str) -> bool:
    """Return whether a name exists; restore permissions of the folder if needed."""

    def look() -> int:
        return calls.stat(name, dir_fd=folder, follow_symlinks=False).st_ino

    try:
        _allowed(folder, look)
    except FileNotFoundError:
        return False
    return True


def _shortened(name: str) -> str:
    if len(name) <= _MOST_NAME:
        return name
    return f"{name[: _MOST_NAME // 2]}…{name[-_MOST_NAME // 2 :]}"


def _carried(folder: int, name: str, target: int, new: str) -> tuple[str, str] | None:
    """Move an entry to another file system; after a failure, return its path and the error.

    The original is renamed to a harmless name first, so that tools stop loading it at once.
    """
    safe = name  # An earlier attempt may already have renamed the file to this name.
    if not _SAFE.fullmatch(name):
        safe = f"quarantined-{secrets.token_hex(_RANDOM_B)}.txt"
        _rename(folder, name, folder, safe)
    try:
        _Copying().copy(folder, safe, target, new)
    except (OSError, ToolError) as error:
        with contextlib.suppress(OSError):
            _remove(target, new)
        return safe, error_reason(error)
    try:
        _remove(folder, safe)
    except OSError as error:
        return safe, error_reason(error)
    return None


class _Copying:
    """Copies files recursively, within limits."""

    def __init__(self) -> None:
        self._n_entries = 0
        self._size_b = 0

    def copy(self, source: int, name: str, target: int, new: str, depth: int = 0) -> None:
        """Copy an entry of one folder to a free name in another folder.

        Raises:
            OSError: The limits are exceeded, or the system refuses.
        """
        self._n_entries += 1
        if self._n_entries > MOST_ENTRIES or depth > MOST_DEPTH:
            raise OSError(errno.EFBIG, "it contains too many files to be copied elsewhere")
        kind = calls.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(kind.st_mode):
            calls.symlink(calls.readlink(name, dir_fd=source), new, dir_fd=target)
        elif stat.S_ISDIR(kind.st_mode):
            calls.mkdir(new, 0o700, dir_fd=target)
            with (
                _listed(source, name) as below,
                _held(calls.open_file(new, _LISTED, dir_fd=target)) as to,
            ):
                for one in calls.list_names(below):
                    self.copy(below, one, to, one, depth + 1)
        elif stat.S_ISREG(kind.st_mode):
            self._size_b += kind.st_size
            if self._size_b > MOST_B:
                raise OSError(errno.EFBIG, "it is too large to be copied elsewhere")
            self._file(source, name, target, new)
        # Pipes, sockets and devices contain no data; the note beside the moved files lists them.

    def _file(self, source: int, name: str, target: int, new: str) -> None:
        try:
            reading = calls.open_file(name, _READ, dir_fd=source)
        except PermissionError:
            with _held(calls.open_file(name, _PATH, dir_fd=source)) as handle:
                _open_up(handle, 0o400)
            reading = calls.open_file(name, _READ, dir_fd=source)
        with _held(reading), _held(calls.open_file(new, _NEW, 0o600, dir_fd=target)) as writing:
            copy_all(reading, writing)


@contextlib.contextmanager
def _listed(folder: int, name: str) -> Iterator[int]:
    """Open a folder so that it can be listed and changed."""
    with _held(_opened(folder, name)) as handle:
        _open_up(handle)
    with _held(calls.open_file(name, _LISTED, dir_fd=folder)) as descriptor:
        yield descriptor


def _remove(folder: int, name: str) -> None:
    """Remove a file, a folder tree, or a symbolic link."""
    if not stat.S_ISDIR(calls.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        calls.unlink(name, dir_fd=folder)
        return
    with _listed(folder, name) as below:
        for one in calls.list_names(below):
            _remove(below, one)
    calls.rmdir(name, dir_fd=folder)
