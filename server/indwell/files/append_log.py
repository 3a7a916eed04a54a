"""Private append-only logs, for one or several processes, read piece by piece.

Everything here blocks; on the event loop it is called through a thread. An ``OSError`` travels:
the floor above knows what the file was for and words the sentence.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from indwell.files.copying import write_all

_MODE = 0o600


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append ``line`` (without a line feed) in one write, which no other process's write splits.

    A line feed stands before it too, so that a torn end of another process cannot swallow it. If
    ``durable``, it survives a loss of power when this returns.

    Raises:
        OSError: It cannot be opened or written.
    """
    make_private_folder(path.parent)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE, _MODE)
    try:
        os.write(file, b"\n" + line + b"\n")
        if durable:
            os.fsync(file)
    finally:
        os.close(file)


def read_from(path: Path, offset: int, limit: int) -> bytes:
    """Up to ``limit`` bytes from ``offset`` on; nothing if there is no such file.

    Raises:
        OSError: It cannot be read.
    """
    try:
        file = os.open(path, os.O_RDONLY | _SAFE)
    except FileNotFoundError:
        return b""
    try:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, limit)
    finally:
        os.close(file)


def remove_all_but(folder: Path, keep: int) -> None:
    """Remove all files of a folder but the last ``keep`` in the order of their names.

    Raises:
        OSError: One cannot be removed.
    """
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths[:-keep]:
        path.unlink(missing_ok=True)


if sys.platform != "win32":
    import fcntl

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_CHUNK_B = 1 << 20
REPLACED = "another file has taken its place"

# Flags that a platform does not have are nothing there.
_SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not hang; no effect on a file


class AppendLog:
    """A file that only this object writes, and only at its end.

    Bytes never change once they are written, and the file is never cut. One writer at a time holds
    it (an advisory lock that ends with the process); readers are not kept out.

    Args:
        path: Created with its parents (0700) and mode 0600 if it is missing.

    Raises:
        BlockingIOError: Another writer has the log open.
        OSError: It cannot be opened, is a link or is no regular file.
    """

    def __init__(self, path: Path) -> None:
        make_private_folder(path.parent)
        is_new = not path.exists()
        self._file = os.open(
            path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_WAIT | _SAFE, _FILE_MODE
        )
        try:
            check_regular(self._file, path)
            _lock(self._file, path)
            if is_new:
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise
        self._path = path
        self._is_open = True
        self.written = 0
        """Bytes that this object has put into the file, also when an append failed half-way."""

    @property
    def ends_whole(self) -> bool:
        """Is the file empty, or is its last byte a line feed?"""
        size = os.fstat(self._file).st_size
        if size == 0:
            return True
        os.lseek(self._file, size - 1, os.SEEK_SET)  # writing goes to the end all the same
        return os.read(self._file, 1) == b"\n"

    @property
    def stands(self) -> bool:
        """Is the file at the log's path still this one? Two calls of the system, some microseconds.

        Raises:
            OSError: Another file has the path (``ESTALE``), or it cannot be looked at.
        """
        try:
            there = self._path.lstat()
        except FileNotFoundError:
            return False
        own = os.fstat(self._file)
        if (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino):
            return True
        raise OSError(errno.ESTALE, REPLACED, str(self._path))

    def write_again(self) -> None:
        """Write the whole file again at its path, from which it was removed while it was open.

        Raises:
            OSError: It cannot be, or something else has the name by now; the open file stays.
        """
        make_private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _SAFE
        file = os.open(self._path, flags, _FILE_MODE)
        try:
            _lock(file, self._path)
            os.lseek(self._file, 0, os.SEEK_SET)  # writing goes to the end all the same
            while chunk := os.read(self._file, _CHUNK_B):
                write_all(file, chunk)
            os.fsync(file)
            _sync_folder(self._path.parent)
        except BaseException:
            os.close(file)
            with suppress(OSError):
                self._path.unlink()
            raise
        os.close(self._file)
        self._file = file

    def append(self, data: bytes) -> None:
        """Write ``data`` at the end, whole.

        Raises:
            OSError: The disk did not take all; ``written`` tells how much, and the rest may be
                appended later.
        """
        rest = memoryview(data)
        while rest:
            n_bytes = os.write(self._file, rest)
            self.written += n_bytes
            rest = rest[n_bytes:]

    def sync(self) -> None:
        """Make everything written survive a loss of power.

        Raises:
            OSError: It may not survive. Asking again is no answer: Linux forgets the failed pages
                and reports success the second time.
        """
        full = getattr(fcntl, "F_FULLFSYNC", None) if sys.platform == "darwin" else None
        if full is not None:
            fcntl.fcntl(self._file, full)  # macOS: fsync stops at the drive's own cache
        elif hasattr(os, "fdatasync"):
            os.fdatasync(self._file)
        else:
            os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file and its lock; closing twice is nothing."""
        if self._is_open:
            self._is_open = False
            os.close(self._file)


def read_bytes_private(
    path: Path, *, follow_link: bool = False, limit_b: int | None = None
) -> bytes:
    """Read a whole regular file; a link only if ``follow_link`` (users link their settings file).

    Raises:
        OSError: Missing, a link, no regular file, over ``limit_b``, or not readable.
    """
    flags = _SAFE & ~getattr(os, "O_NOFOLLOW", 0) if follow_link else _SAFE
    file = os.open(path, os.O_RDONLY | _NO_WAIT | flags)
    try:
        check_regular(file, path)
        chunks, size_b = [], 0
        while chunk := os.read(file, _CHUNK_B):
            chunks.append(chunk)
            size_b += len(chunk)
            if limit_b is not None and size_b > limit_b:
                why = f"it is larger than the {limit_b:,} bytes that are read"
                raise OSError(errno.EFBIG, why, str(path))
        return b"".join(chunks)
    finally:
        os.close(file)


def make_private_folder(path: Path) -> None:
    """Make a folder and its missing parents, readable by the user only; existing ones stay.

    Raises:
        OSError: It cannot be made, or something else has the name.
    """
    if path.is_dir():
        return
    make_private_folder(path.parent)
    with suppress(FileExistsError):  # made by another process meanwhile
        path.mkdir(mode=_FOLDER_MODE)
        _sync_folder(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def list_names(path: Path) -> tuple[str, ...]:
    """Names in a folder, sorted; none if there is no such folder.

    Raises:
        OSError: It cannot be listed.
    """
    try:
        return tuple(sorted(entry.name for entry in path.iterdir()))
    except FileNotFoundError:
        return ()


def check_regular(file: int, path: Path) -> None:
    """Return if the open ``file`` is a file, and no folder, pipe or device.

    Raises:
        OSError: It is not.
    """
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _lock(file: int, path: Path) -> None:
    if sys.platform == "win32":
        return  # nothing here locks an append-only file on Windows without stopping its readers
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(errno.EWOULDBLOCK, "another writer has it open", str(path)) from error
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
            raise  # these three: a file system without locks, where one writer is only hoped for


def _sync_folder(path: Path) -> None:
    """Make a new name in ``path`` survive a loss of power; Windows has no such call."""
    if sys.platform == "win32":
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


PIECE_B = 256 << 10
"""Bytes at a time; what is done with one of them must not hold other threads up for long."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not hang
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def pieces_of(path: Path) -> Iterator[bytes]:
    """The bytes of a regular file, in order.

    Raises:
        OSError: Missing, a link, no regular file, or not readable; also in the middle.
    """
    file = os.open(path, _FLAGS)
    try:
        check_regular(file, path)
        while piece := os.read(file, PIECE_B):
            yield piece
    finally:
        os.close(file)
