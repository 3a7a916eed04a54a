"""Writes and reads private append-only logs, which several processes share.

All functions block; call them in a thread, not on the event loop. An ``OSError`` is raised
unchanged, because the caller knows the file's purpose and writes the message.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from indwell.files.locks import NoLocks, lock_now
from indwell.files.system import calls
from indwell.files.system.copying import write_all

_MODE = 0o600


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append ``line`` in one write, so that no other process can split the line.

    The function adds line feeds before and after ``line``, in case another process left an
    incomplete line. With ``durable``, the line then survives a power cut.

    Raises:
        OSError: The file cannot be opened or written.
    """
    make_private_folder(path.parent)
    file = calls.open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE, _MODE)
    try:
        os.write(file, b"\n" + line + b"\n")
        if durable:
            calls.fsync(file)
    finally:
        os.close(file)


def read_from(path: Path, offset: int, limit: int) -> bytes:
    """Read up to ``limit`` bytes from ``offset``; return empty bytes if the file does not exist.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        file = calls.open_file(path, os.O_RDONLY | _SAFE)
    except FileNotFoundError:
        return b""
    try:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, limit)
    finally:
        os.close(file)


def remove_all_but(folder: Path, keep: int) -> None:
    """Remove the oldest files of a folder, by name, until ``keep`` files are left.

    Raises:
        OSError: A file cannot be removed.
    """
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths[:-keep]:
        with suppress(FileNotFoundError):
            calls.unlink(path)


_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_CHUNK_B = 1 << 20
REPLACED = "another file has taken its place"

_SAFE = calls.CLOEXEC | calls.NOFOLLOW | calls.BINARY
_NO_WAIT = calls.NONBLOCK  # opening a FIFO must not block; the flag is ignored for regular files


class AppendLog:
    """Writes a log file, only at its end, as the file's only writer.

    Written bytes never change, and the file is never truncated. One writer at a time holds an
    advisory lock, which ends with its process; readers are not locked out.

    Args:
        path: The path of the log. A missing file is created (0600), with its parent folders (0700).

    Raises:
        BlockingIOError: Another writer has the log open.
        OSError: The file cannot be opened, is a symbolic link or is not a regular file.
    """

    def __init__(self, path: Path) -> None:
        make_private_folder(path.parent)
        is_new = not path.exists()
        self._file = calls.open_file(
            path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_WAIT | _SAFE, _FILE_MODE
        )
        try:
            check_regular(self._file, path)
            self.is_locked = _lock(self._file, path)
            """False on a file system without locks, where another process may write, too."""
            if is_new:
                calls.sync_names(path.parent)
        except BaseException:
            os.close(self._file)
            raise
        self._path = path
        self._is_open = True
        self.written = 0
        """Bytes that this object wrote, including those of an append that failed midway."""

    @property
    def ends_whole(self) -> bool:
        """True if the file is empty or its last byte is a line feed."""
        size = calls.fstat(self._file).st_size
        if size == 0:
            return True
        os.lseek(self._file, size - 1, os.SEEK_SET)  # appends still go to the file's end (O_APPEND)
        return os.read(self._file, 1) == b"\n"

    @property
    def is_in_place(self) -> bool:
        """Return whether the log's path still leads to the open file; takes a few microseconds.

        Raises:
            OSError: Another file has this path (``ESTALE``), or the path cannot be checked.
        """
        try:
            there = calls.lstat(self._path)
        except FileNotFoundError:
            return False
        own = calls.fstat(self._file)
        if (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino):
            return True
        raise OSError(errno.ESTALE, REPLACED, str(self._path))

    def write_again(self) -> None:
        """Write the whole log to its path again after the path was removed while the log was open.

        Raises:
            OSError: The write failed or another file has the name; the log stays open.
        """
        make_private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _SAFE
        file = calls.open_file(self._path, flags, _FILE_MODE)
        try:
            _lock(file, self._path)
            os.lseek(self._file, 0, os.SEEK_SET)  # appends still go to the file's end (O_APPEND)
            while chunk := os.read(self._file, _CHUNK_B):
                write_all(file, chunk)
            calls.fsync(file)
            calls.sync_names(self._path.parent)
        except BaseException:
            os.close(file)
            with suppress(OSError):
                calls.unlink(self._path)
            raise
        os.close(self._file)
        self._file = file

    def append(self, data: bytes) -> None:
        """Append ``data`` to the file.

        Raises:
            OSError: Only a part of ``data`` was written. ``written`` is the number of written
                bytes; the rest may be appended later.
        """
        rest = memoryview(data)
        while rest:
            n_bytes = os.write(self._file, rest)
            self.written += n_bytes
            rest = rest[n_bytes:]

    def sync(self) -> None:
        """Flush all written data to the disk, so that the data survives a power cut.

        Raises:
            OSError: The data may not survive. A second attempt is useless, because Linux drops the
                failed pages and then reports success.
        """
        calls.fdatasync(self._file)

    def let_move(self) -> None:
        """Allow renaming the log's folder; if an open file prevents that, close the log.

        The rename fails if another process has the log open, so no other process writes to it.
        """
        if calls.OPEN_FILES_HOLD_FOLDERS:
            self.close()

    def close(self) -> None:
        """Close the file and release its lock; the method may be called twice."""
        if self._is_open:
            self._is_open = False
            os.close(self._file)


def read_bytes_private(
    path: Path, *, follow_link: bool = False, limit_b: int | None = None
) -> bytes:
    """Read a whole regular file; ``follow_link`` allows the path to be a symbolic link.

    Raises:
        OSError: The file is missing, a link, not regular, over ``limit_b``, or unreadable.
    """
    flags = _SAFE & ~calls.NOFOLLOW if follow_link else _SAFE
    file = calls.open_file(path, os.O_RDONLY | _NO_WAIT | flags)
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
    """Create a folder and its missing parents, which only the user can read.

    Raises:
        OSError: The folder cannot be created, or another kind of file has its name.
    """
    if path.is_dir():
        return
    make_private_folder(path.parent)
    with suppress(FileExistsError):  # another process created the folder
        calls.mkdir(path, _FOLDER_MODE)
        calls.sync_names(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def list_names(path: Path) -> tuple[str, ...]:
    """List the names in a folder, sorted; return an empty tuple if the folder does not exist.

    Raises:
        OSError: The folder cannot be listed.
    """
    try:
        return tuple(sorted(entry.name for entry in path.iterdir()))
    except FileNotFoundError:
        return ()


def check_regular(file: int, path: Path) -> None:
    """Check that the open ``file`` is a regular file.

    Raises:
        OSError: The file is a folder, a pipe or a device.
    """
    if not stat.S_ISREG(calls.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _lock(file: int, path: Path) -> bool:
    """Lock a log; return False if the file system has no locks, so cannot enforce one writer."""
    try:
        is_ours = lock_now(file)
    except NoLocks:
        return False
    if not is_ours:
        raise BlockingIOError(errno.EWOULDBLOCK, "another writer has it open", str(path))
    return True


PIECE_B = 256 << 10
"""The bytes to read at a time; one piece must not block other threads for long."""

_FLAGS = (
    os.O_RDONLY
    | calls.NONBLOCK  # opening a FIFO must not block
    | calls.NOFOLLOW
    | calls.CLOEXEC
    | calls.BINARY
)


def pieces_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a regular file, in order.

    Raises:
        OSError: The file is missing, a link, not regular, or unreadable; also raised midway.
    """
    file = calls.open_file(path, _FLAGS)
    try:
        check_regular(file, path)
        while piece := os.read(file, PIECE_B):
            yield piece
    finally:
        os.close(file)
