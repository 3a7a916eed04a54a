"""Overwrites a file in place, and undoes an unfinished write of a killed process.

A file with hard links, another owner or a mount must keep its inode. Overwriting takes several
steps, so an undo file is written first: the old bytes, the new bytes and an end mark. Without the
end mark, the undo file is incomplete, and nothing was overwritten yet. If a write fails, the old
bytes are restored from the undo file. If the process is killed, the next Indwell process that reads
or writes the file restores the old bytes.

The undo file is in a private folder of the user's state, never in a project. The name of the undo
file is a digest of the resolved path. The writer holds a lock on the undo file, so an unlocked undo
file belongs to a dead process. An undo file is used only for its own path and inode, and only while
the file is a mixture of old and new bytes. Files inside a project are never used as undo files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from indwell.errors import EditRefused, ToolError
from indwell.files.beneath import PathBeneath, parent_folder
from indwell.files.contents.new_file import known_name, usable
from indwell.files.locks import WAIT_S, NoLocks, lock_now, wait_locked
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.access import is_users
from indwell.files.system.copying import copy_all, copy_range, write_all

_UNSUPPORTED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV})
_READ_WRITE = os.O_RDWR | calls.NOFOLLOW | calls.CLOEXEC | calls.NONBLOCK | calls.BINARY


class NotPutBack(OSError):
    """A write in place failed and the old bytes could not be restored.

    Args:
        error: The reason why the system refused to restore the old bytes.
        kept: The file that starts with the old bytes, or None if the old bytes are lost.
        comes_back: Whether ``kept`` is an undo file, from which the next access tries the restore
            again.
    """

    def __init__(self, error: OSError, kept: Path | None, *, comes_back: bool) -> None:
        super().__init__(error.errno, os.strerror(error.errno or 0))
        self.kept = kept
        self.comes_back = comes_back


def open_for_both(name: str, folder: int) -> int:
    """Open an existing file for reading and writing, following no link.

    Raises:
        OSError: The system refuses to open the file.
    """
    return calls.open_file(name, _READ_WRITE, dir_fd=folder)


def overwrite(target: int, new: int, journal: Journal, check: Callable[[], None]) -> None:
    """Copy the open file ``new`` over the open file ``target``.

    Args:
        target: The file, open for reading and writing, and locked against other Indwell processes.
        new: The descriptor of a file with the new bytes.
        journal: An empty undo file, which is discarded unless it has the only copy of the old
            bytes.
        check: Called right before the first byte is overwritten; an error of this check is raised.

    Raises:
        NotPutBack: The system refused both the write and the restore.
        OSError: The system refused; the file is unchanged.
    """
    try:
        old_b = journal.fill(target, new)
        check()
    except BaseException:
        journal.discard()
        raise
    try:
        pour(new, 0, calls.fstat(new).st_size, target)
    except BaseException as error:
        try:
            pour(journal.descriptor, 0, old_b, target)
        except OSError as worse:
            kept = journal.place
            if kept is None:
                with contextlib.suppress(OSError):
                    kept = journal.set_aside(old_b)
            raise NotPutBack(worse, kept, comes_back=journal.place is not None) from error
        journal.discard()
        raise
    journal.discard()


def pour(source: int, offset: int, length: int, target: int) -> None:
    """Replace the content of ``target`` with a part of ``source``, and flush the file.

    Raises:
        OSError: The system refuses; ``target`` may contain only some of the bytes.
    """
    if length and sys.platform == "linux":
        # Reserve the space first, so that a full disk is noticed before a byte is overwritten.
        try:
            os.posix_fallocate(target, 0, length)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    os.lseek(target, 0, os.SEEK_SET)
    copy_range(source, target, offset, length)
    os.ftruncate(target, length)
    calls.fsync(target)


_MARK = struct.Struct("<8sQQQ")  # the signature, the inode, and the sizes before and after
_MAGIC = b"indwell2"
_TRIES = 5
_SAFE = calls.NOFOLLOW | calls.CLOEXEC | calls.BINARY
_OPEN = os.O_RDWR | calls.NONBLOCK | _SAFE
_NEW = _OPEN | os.O_CREAT | os.O_EXCL


class UndoContent(msgspec.Struct, frozen=True):
    """The end mark of a complete undo file: the file's inode, and its sizes before and after."""

    inode: int
    old_b: int
    new_b: int


def undo_path(private: Path, path: Path) -> Path:
    """Return the path of the undo file for the resolved ``path``."""
    digest = hashlib.blake2b(os.fsencode(path), digest_size=16)
    return private / f"{digest.hexdigest()}.undo"


class Journal:
    """An open, locked undo file; without ``place``, the file is unnamed and temporary.

    Attributes:
        descriptor: The open file, with old bytes, new bytes and end mark.
        place: The path of the undo file.
    """

    def __init__(self, descriptor: int, place: Path | None) -> None:
        self.descriptor = descriptor
        self.place = place

    def fill(self, target: int, new: int) -> int:
        """Write and flush the undo file; returns the number of old bytes.

        Raises:
            OSError: The system refuses.
        """
        kind = calls.fstat(target)
        n_new = calls.fstat(new).st_size
        copy_range(target, self.descriptor, 0, kind.st_size)
        copy_all(new, self.descriptor)
        write_all(self.descriptor, _MARK.pack(_MAGIC, kind.st_ino, kind.st_size, n_new))
        calls.fsync(self.descriptor)
        if self.place is not None:
            calls.sync_names(self.place.parent)
        return kind.st_size

    def told(self) -> UndoContent | None:
        """Read the end mark; return None if the undo file is incomplete.

        Raises:
            OSError: The undo file cannot be read.
        """
        size = calls.fstat(self.descriptor).st_size
        if size < _MARK.size:
            return None
        mark = calls.pread(self.descriptor, _MARK.size, size - _MARK.size)
        magic, inode, old_b, new_b = _MARK.unpack(mark)
        if magic != _MAGIC or old_b + new_b + _MARK.size != size:
            return None
        return UndoContent(inode=inode, old_b=old_b, new_b=new_b)

    def set_aside(self, old_b: int) -> Path:
        """Convert the undo file to a permanent file with the old bytes; return its path.

        Raises:
            OSError: The system refuses; the undo file is unchanged.
        """
        if self.place is None:
            return self._copied(old_b)
        kept = self.place.with_name(f"{self.place.stem}-{secrets.token_hex(8)}.old")
        calls.rename(self.place, kept)
        self.place = None
        calls.sync_names(kept.parent)
        os.ftruncate(self.descriptor, old_b)
        return kept

    def discard(self) -> None:
        """Remove the undo file; after a failure, the next use of the file removes the undo file."""
        if self.place is not None:
            with contextlib.suppress(OSError):
                calls.unlink(self.place)
            self.place = None

    def close(self) -> None:
        """Close and unlock the undo file, but keep the file on disk."""
        os.close(self.descriptor)

    def _copied(self, old_b: int) -> Path:
        descriptor, name = tempfile.mkstemp(prefix="indwell-", suffix=".old")
        try:
            copy_range(self.descriptor, descriptor, 0, old_b)
            calls.fsync(descriptor)
        finally:
            os.close(descriptor)
        return Path(name)


def new_journal(private: Path | None, path: Path) -> Journal:
    """Create an empty undo file for ``path``; unnamed if ``private`` does not support locks.

    Raises:
        EditRefused: An undo file already exists.
        OSError: The system refuses to create the file.
    """
    for _ in range(_TRIES if private is not None else 0):
        assert private is not None
        place = undo_path(private, path)
        try:
            descriptor = calls.open_file(place, _NEW, 0o600)
        except FileExistsError as error:
            raise EditRefused(
                f"{quoted(path)} was not written: another edit of it is in progress; try again"
            ) from error
        journal = Journal(descriptor, place)
        try:
            is_ours = lock_now(descriptor) and _is_at(place, descriptor)
        except OSError as error:
            journal.discard()
            journal.close()
            if isinstance(error, NoLocks):
                break
            raise
        if is_ours:
            return journal
        journal.close()  # a reader locked the file briefly, found it empty and removes it
    with tempfile.TemporaryFile() as anonymous:
        return Journal(os.dup(anonymous.fileno()), None)


def left_journal(private: Path, path: Path, *, wait_s: float) -> Journal | None:
    """Lock the undo file that a dead process left for ``path``; return None if none is left.

    Raises:
        EditRefused: A living process holds the undo file for longer than ``wait_s``.
        OSError: The system refuses, or the undo file is not the user's.
    """
    place = undo_path(private, path)
    try:
        descriptor = calls.open_file(place, _OPEN)
    except FileNotFoundError:
        return None
    try:
        _check_own(descriptor, place)
        if wait_locked(descriptor, path, wait_s=wait_s) and _is_at(place, descriptor):
            return Journal(descriptor, place)
    except BaseException:
        os.close(descriptor)
        raise
    # The writer has finished in the meantime, or the file system supports no locks.
    os.close(descriptor)
    return None


def _is_at(place: Path, descriptor: int) -> bool:
    """Return whether the open file still has the name ``place``."""
    try:
        return os.path.samestat(calls.lstat(place), calls.fstat(descriptor))
    except FileNotFoundError:
        return False


def _check_own(descriptor: int, place: Path) -> None:
    kind = calls.fstat(descriptor)
    if not stat.S_ISREG(kind.st_mode) or not is_users(kind):
        raise OSError(errno.EINVAL, "it is not an undo file of Indwell", str(place))


# A reader waits this long, in seconds, for a writer, and then reads the file as it is.
READ_WAIT_S = 1.0
_PIECE_B = 1 << 16


def free_name(folder: int, private: Path | None) -> str | None:
    """Make sure that no file has Indwell's temporary name in ``folder``; return the name.

    The result is None if there is no private folder, or if the old file cannot be removed.
    """
    own = known_name(folder, private)
    if own is None:
        return None
    try:
        kind = calls.stat(own, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(kind.st_mode) or not is_users(kind):
            return None
        calls.unlink(own, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        return None
    return own


def put_right(place: PathBeneath, private: Path | None) -> None:
    """Wait for a running write in place, or undo an unfinished one, before a read.

    Usually, the function only checks the private folder. If the system refuses the restore, the
    file is read unchanged, and the next read tries the undo file again.

    Raises:
        ToolError: Another program changed the half-written file; see ``settle``.
    """
    # The check must be fast, because it runs for each file that is read.
    if private is None or not place.parts or not os.path.lexists(undo_path(private, place.path)):
        return
    if usable(private) is None:
        return
    with parent_folder(place) as (folder, name), contextlib.suppress(OSError, EditRefused):
        settle(place.path, name, folder, private, wait_s=READ_WAIT_S)


def settle(path: Path, name: str, folder: int, private: Path, *, wait_s: float = WAIT_S) -> None:
    """Finish or undo the write in place of a dead process.

    Args:
        path: The file's resolved path.
        name: The file's name in the open ``folder``.
        folder: The folder's descriptor.
        private: The private folder.
        wait_s: The time to wait for living writers, in seconds.

    Raises:
        EditRefused: A living process is writing the file.
        ToolError: Another program changed the file, so the file is neither old, new nor a mixture.
            The old text is kept in a permanent file, and the error is raised only once.
        NotPutBack: The old text cannot be restored; the undo file stays.
        OSError: Any other failure; the undo file stays.
    """
    journal = left_journal(private, path, wait_s=wait_s)
    if journal is None:
        return
    try:
        told = journal.told()
        if told is None:  # the undo file is incomplete, so no byte was overwritten yet
            journal.discard()
            return
        with _opened(name, folder) as target:
            if target is not None:
                # A process may be using a hard link of the file.
                wait_locked(target, path, wait_s=wait_s)
                if _is_settled(target, journal, told):
                    journal.discard()
                    return
        kept = journal.set_aside(told.old_b)
    finally:
        journal.close()
    raise ToolError(
        f"{quoted(path)} was changed by others after an edit of it was interrupted; it stays "
        f"unchanged, its text from before that edit is kept in {quoted(kept)}, and nothing was "
        "done now; tell the user, and go on"
    )


@contextlib.contextmanager
def _opened(name: str, folder: int) -> Iterator[int | None]:
    """Open the regular file with this name for reading and writing, or return None if missing."""
    try:
        kind = calls.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        yield None
        return
    if not stat.S_ISREG(kind.st_mode):
        yield None
        return
    target = open_for_both(name, folder)
    try:
        yield target
    finally:
        os.close(target)


def _is_settled(target: int, journal: Journal, told: UndoContent) -> bool:
    """Restore a mixture of old and new bytes; return whether the file is complete now."""
    holds = _holds(target, journal.descriptor, told)
    assert journal.place is not None
    if holds == "mixture" and calls.fstat(target).st_ino == told.inode:
        try:
            pour(journal.descriptor, 0, told.old_b, target)
        except OSError as error:
            raise NotPutBack(error, journal.place, comes_back=True) from error
        return True
    return holds in {"old", "new"}


def _holds(target: int, undo: int, told: UndoContent) -> Literal["old", "new", "mixture", "other"]:
    """Compare the open file with the undo file's old and new bytes."""
    size = calls.fstat(target).st_size
    if size not in {told.old_b, told.new_b, max(told.old_b, told.new_b)}:
        return "other"
    is_old, is_new = size == told.old_b, size == told.new_b
    for at in range(0, size, _PIECE_B):
        length = min(_PIECE_B, size - at)
        piece = calls.pread(target, length, at)
        old = calls.pread(undo, max(0, min(length, told.old_b - at)), at)
        new = calls.pread(undo, max(0, min(length, told.new_b - at)), told.old_b + at)
        is_old, is_new = is_old and piece == old, is_new and piece == new
        padded = old.ljust(length, b"\0")  # the space was reserved but not written yet
        if piece not in {padded, new} and not _is_mixed(piece, padded, new):
            return "other"
    if is_old or is_new:
        return "old" if is_old else "new"
    return "mixture"


def _is_mixed(piece: bytes, old: bytes, new: bytes) -> bool:
    return all(
        byte == old[index] or (index < len(new) and byte == new[index])
        for index, byte in enumerate(piece)
    )
