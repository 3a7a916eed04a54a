"""Writes a file in place, and completes what a killed process left half done.

Other names, an owner or a mount can hang on such a file. The write cannot be one step, so an undo
file comes first: the old bytes, the new ones, and a mark at its end. Without the mark the undo file
is not whole, and nothing was overwritten yet. If the system refuses in the middle, the old bytes
are put back from it. If the process is killed, our next process that reads or writes the file does
so.

The undo file lies in a private folder of the user's state, never in a project. Its name is a digest
of the resolved path. Its writer holds a lock on it, so an undo file that can be locked was left by
a dead process. It is used for that very path and inode, and only while the bytes of the file are a
mixture of the old and the new ones. Nothing inside a project is believed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from indwell.errors import EditRefused, ToolError
from indwell.files.beneath import PathBeneath, parent_folder
from indwell.files.copying import copy_all, copy_range, write_all
from indwell.files.fresh import known_name, sync_folder, usable
from indwell.files.locks import WAIT_S, NoLocks, lock_now, wait_locked

_UNSUPPORTED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV})
_READ_WRITE = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotPutBack(OSError):
    """A damaged file, and where its old bytes are.

    Args:
        error: What the system has against putting them back.
        kept: The file that holds them, at its beginning; None if they are lost.
        comes_back: That is an undo file, which is tried again when the file is used next.
    """

    def __init__(self, error: OSError, kept: Path | None, *, comes_back: bool) -> None:
        super().__init__(error.errno, os.strerror(error.errno or 0))
        self.kept = kept
        self.comes_back = comes_back


def open_for_both(name: str, folder: int | None) -> int:
    """Open an existing file for reading and writing, following no link.

    Raises:
        OSError: The system refuses.
    """
    return os.open(name, _READ_WRITE, dir_fd=folder)


def overwrite(target: int, new: int, journal: Journal, check: Callable[[], None]) -> None:
    """Make the open file ``target`` hold what the open file ``new`` holds.

    Args:
        target: Open for both, and nobody else of ours writes it.
        new: The new bytes.
        journal: Empty; it is discarded, unless it holds the only copy of the old bytes.
        check: Runs right before the first byte is overwritten; what it raises travels.

    Raises:
        NotPutBack: The system refused, and also to put the old bytes back.
        OSError: The system refused; the file is as it was.
    """
    try:
        old_b = journal.fill(target, new)
        check()
    except BaseException:
        journal.discard()
        raise
    try:
        pour(new, 0, os.fstat(new).st_size, target)
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
    """Make ``target`` hold a part of ``source`` and nothing else, flushed.

    Raises:
        OSError: The system refuses; ``target`` may hold a part.
    """
    if length and hasattr(os, "posix_fallocate"):
        try:  # a disk that is too full is told before the first byte is gone
            os.posix_fallocate(target, 0, length)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    os.lseek(target, 0, os.SEEK_SET)
    copy_range(source, target, offset, length)
    os.ftruncate(target, length)
    os.fsync(target)


_MARK = struct.Struct("<8sQQQ")  # what it is, the file's inode, bytes before, bytes after
_MAGIC = b"indwell2"
_TRIES = 5
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | _SAFE
_NEW = _OPEN | os.O_CREAT | os.O_EXCL


class UndoContent(msgspec.Struct, frozen=True):
    """What a whole undo file says: the file's number, its bytes before and after."""

    inode: int
    old_b: int
    new_b: int


def undo_path(private: Path, path: Path) -> Path:
    """Where the undo file of the resolved ``path`` stands, if there is one."""
    digest = hashlib.blake2b(os.fsencode(path), digest_size=16)
    return private / f"{digest.hexdigest()}.undo"


class Journal:
    """An open undo file, locked; without ``place`` it has no name, and ends with the process.

    Attributes:
        descriptor: Open for both: first the old bytes, then the new ones, then the mark.
        place: Where it stands.
    """

    def __init__(self, descriptor: int, place: Path | None) -> None:
        self.descriptor = descriptor
        self.place = place

    def fill(self, target: int, new: int) -> int:
        """Write all of it, flushed; gives the number of old bytes.

        Raises:
            OSError: The system refuses.
        """
        kind = os.fstat(target)
        n_new = os.fstat(new).st_size
        copy_range(target, self.descriptor, 0, kind.st_size)
        copy_all(new, self.descriptor)
        write_all(self.descriptor, _MARK.pack(_MAGIC, kind.st_ino, kind.st_size, n_new))
        os.fsync(self.descriptor)
        if self.place is not None:
            _sync(self.place.parent)
        return kind.st_size

    def told(self) -> UndoContent | None:
        """What it says; None if it was never whole.

        Raises:
            OSError: The system cannot read it.
        """
        size = os.fstat(self.descriptor).st_size
        if size < _MARK.size:
            return None
        mark = os.pread(self.descriptor, _MARK.size, size - _MARK.size)
        magic, inode, old_b, new_b = _MARK.unpack(mark)
        if magic != _MAGIC or old_b + new_b + _MARK.size != size:
            return None
        return UndoContent(inode=inode, old_b=old_b, new_b=new_b)

    def set_aside(self, old_b: int) -> Path:
        """Become a file of the old bytes alone that nobody removes; gives where it stands.

        Raises:
            OSError: The system refuses; the undo file is as it was.
        """
        if self.place is None:
            return self._copied(old_b)
        kept = self.place.with_name(f"{self.place.stem}-{secrets.token_hex(8)}.old")
        self.place.rename(kept)
        self.place = None
        _sync(kept.parent)
        os.ftruncate(self.descriptor, old_b)
        return kept

    def discard(self) -> None:
        """Be gone. What cannot be removed now goes when the file is used next."""
        if self.place is not None:
            with contextlib.suppress(OSError):
                self.place.unlink()
            self.place = None

    def close(self) -> None:
        """Let go of it; it stays where it stands."""
        os.close(self.descriptor)

    def _copied(self, old_b: int) -> Path:
        descriptor, name = tempfile.mkstemp(prefix="indwell-", suffix=".old")
        try:
            copy_range(self.descriptor, descriptor, 0, old_b)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return Path(name)


def new_journal(private: Path | None, path: Path) -> Journal:
    """An empty undo file for the resolved ``path``; one without a name if ``private`` has no locks.

    Raises:
        EditRefused: There is one already.
        OSError: The system refuses.
    """
    for _ in range(_TRIES if private is not None else 0):
        assert private is not None
        place = undo_path(private, path)
        try:
            descriptor = os.open(place, _NEW, 0o600)
        except FileExistsError as error:
            raise EditRefused(
                f"{str(path)!r} was not written: another edit of it is not over; try again"
            ) from error
        journal = Journal(descriptor, place)
        try:
            is_ours = lock_now(descriptor) and os.fstat(descriptor).st_nlink > 0
        except OSError as error:
            journal.discard()
            journal.close()
            if isinstance(error, NoLocks):
                break
            raise
        if is_ours:
            return journal
        journal.close()  # a reader held it for a moment, found it empty and removes it
    with tempfile.TemporaryFile() as anonymous:
        return Journal(os.dup(anonymous.fileno()), None)


def left_journal(private: Path, path: Path, *, wait_s: float) -> Journal | None:
    """The undo file that a dead process left for ``path``, locked; None if there is none.

    Raises:
        EditRefused: A living process holds it for longer than ``wait_s``.
        OSError: The system refuses, or it is none of ours.
    """
    place = undo_path(private, path)
    try:
        descriptor = os.open(place, _OPEN)
    except FileNotFoundError:
        return None
    try:
        _check_own(descriptor, place)
        if wait_locked(descriptor, path, wait_s=wait_s) and os.fstat(descriptor).st_nlink:
            return Journal(descriptor, place)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)  # its writer was alive, and is done; or it cannot be known if it lives
    return None


def _check_own(descriptor: int, place: Path) -> None:
    kind = os.fstat(descriptor)
    if not stat.S_ISREG(kind.st_mode) or kind.st_uid != os.geteuid():
        raise OSError(errno.EINVAL, "no undo file of ours", str(place))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        sync_folder(descriptor)
    finally:
        os.close(descriptor)


READ_WAIT_S = 1.0  # a reader's patience with a writer; then it reads what is there
_PIECE_B = 1 << 16


def free_name(folder: int | None, private: Path | None) -> str | None:
    """Our name in the open ``folder``, which the caller holds locked, after removing what has it.

    None if there is no such name, or it cannot be had.
    """
    own = known_name(folder, private)
    if own is None:
        return None
    try:
        kind = os.stat(own, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(kind.st_mode) or kind.st_uid != os.geteuid():
            return None
        os.unlink(own, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        return None
    return own


def put_right(place: PathBeneath, private: Path | None) -> None:
    """Before a file is read: wait until it is overwritten, or undo what was left half-way.

    One look at the private folder if all is well, as nearly always. If the system does not let it
    be put right, it is read as it stands, and the undo file waits for the next time.

    Raises:
        ToolError: It was half-written and then changed by others; said once, see ``settle``.
    """
    # Asked for each file that is read.
    if private is None or not place.parts or not os.path.lexists(undo_path(private, place.path)):
        return
    if usable(private) is None:
        return
    with parent_folder(place) as (folder, name), contextlib.suppress(OSError, EditRefused):
        settle(place.path, name, folder, private, wait_s=READ_WAIT_S)


def settle(
    path: Path, name: str, folder: int | None, private: Path, *, wait_s: float = WAIT_S
) -> None:
    """Bring an edit in place of ``path`` to an end that a dead process did not.

    Args:
        path: The file's resolved path.
        name: Its name in the open ``folder``.
        folder: The folder's descriptor.
        private: The private folder.
        wait_s: Seconds to wait for living ones.

    Raises:
        EditRefused: A living process is in the middle of it.
        ToolError: The file holds neither text, nor a mixture of them: whoever changed it has
            decided. The old text is set aside for good, which is said this once.
        NotPutBack: The system does not take the old text; the undo file stays.
        OSError: It refuses something else; the undo file stays.
    """
    journal = left_journal(private, path, wait_s=wait_s)
    if journal is None:
        return
    try:
        told = journal.told()
        if told is None:  # never whole: nothing was overwritten yet
            journal.discard()
            return
        with _opened(name, folder) as target:
            if target is not None:
                wait_locked(target, path, wait_s=wait_s)  # another of its names may be written
                if _is_settled(target, journal, told):
                    journal.discard()
                    return
        kept = journal.set_aside(told.old_b)
    finally:
        journal.close()
    raise ToolError(
        f"{str(path)!r} was changed by others after an edit of it was cut off half-way; it stays "
        f"as it is, its text from before that edit is kept in {str(kept)!r}, and nothing was done "
        "now; tell the user, and go on"
    )


@contextlib.contextmanager
def _opened(name: str, folder: int | None) -> Iterator[int | None]:
    """The regular file of that name, for reading and writing; None if there is none."""
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
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
    """Is the old or the new text there? A mixture of them is put right first."""
    holds = _holds(target, journal.descriptor, told)
    assert journal.place is not None
    if holds == "mixture" and os.fstat(target).st_ino == told.inode:
        try:
            pour(journal.descriptor, 0, told.old_b, target)
        except OSError as error:
            raise NotPutBack(error, journal.place, comes_back=True) from error
        return True
    return holds in {"old", "new"}


def _holds(target: int, undo: int, told: UndoContent) -> Literal["old", "new", "mixture", "other"]:
    """What is in the open file?"""
    size = os.fstat(target).st_size
    if size not in {told.old_b, told.new_b, max(told.old_b, told.new_b)}:
        return "other"
    is_old, is_new = size == told.old_b, size == told.new_b
    for at in range(0, size, _PIECE_B):
        length = min(_PIECE_B, size - at)
        piece = os.pread(target, length, at)
        old = os.pread(undo, max(0, min(length, told.old_b - at)), at)
        new = os.pread(undo, max(0, min(length, told.new_b - at)), told.old_b + at)
        is_old, is_new = is_old and piece == old, is_new and piece == new
        padded = old.ljust(length, b"\0")  # space that was reserved and not written yet
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
