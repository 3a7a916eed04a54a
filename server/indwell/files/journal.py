"""The undo file of a write in place: the old bytes, the new ones, and a mark that both are there.

It stands in a private folder of the user's state, never in a project: what a repository carries is
not read as one. Its name is a digest of the file's resolved path. Whoever made it holds it locked
until the write is over, so an undo file that can be locked was left by a dead process. The mark
comes last: an undo file without it was not whole, and then nothing was overwritten yet.
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
from pathlib import Path

import msgspec

from indwell.errors import EditRefused
from indwell.files.copying import copy_all, copy_range, write_all
from indwell.files.fresh import sync_folder
from indwell.files.one_writer import NoLocks, lock_now, wait_locked

_MARK = struct.Struct("<8sQQQ")  # what it is, the file's inode, bytes before, bytes after
_MAGIC = b"indwell2"
_TRIES = 5
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | _SAFE
_NEW = _OPEN | os.O_CREAT | os.O_EXCL


class Told(msgspec.Struct, frozen=True):
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

    def told(self) -> Told | None:
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
        return Told(inode=inode, old_b=old_b, new_b=new_b)

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
