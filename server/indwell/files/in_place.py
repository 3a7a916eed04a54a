"""Write over a file that may not be replaced: other names, an owner or a mount hang on it.

Such a write cannot be one step, so an undo file comes first: the old and the new bytes, flushed,
beside the file. If the system refuses in the middle, the old bytes are put back from it; if the
process is killed, whoever of us next reads the file or writes into the folder does so
(``leftovers``). An undo file is the first
line, then the old bytes, then the new ones.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable

import msgspec

from indwell.files.copying import copy_all, copy_range, write_all
from indwell.files.fresh import Fresh

UNDO = ".undo"
FIRST_LINE_LIMIT_B = 4_096
_UNSUPPORTED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV})
_READ_WRITE = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class Undo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of an undo file.

    Attributes:
        indwell_undo: The form of the file: 1.
        name: The file's name in this folder, as hexadecimal bytes.
        inode: Its number, so that another file of that name is left alone.
        old_b: Bytes before.
        new_b: Bytes after.
    """

    indwell_undo: int
    name: str
    inode: int
    old_b: int
    new_b: int


class OldTextKept(OSError):
    """The old bytes could not be put back; they are whole in the undo file of that name."""


def undo_name(name: str) -> str:
    """The name of a file's undo file, in the same folder; a reader looks whether it is there."""
    last = os.path.basename(name)  # noqa: PTH119 -- asked for each file that is read; a Path is slow
    digest = hashlib.blake2b(os.fsencode(last), digest_size=8)
    return f".indwell-{digest.hexdigest()}{UNDO}"


def open_for_both(name: str, folder: int | None) -> int:
    """Open an existing file for reading and writing, following no link.

    Raises:
        OSError: The system refuses.
    """
    return os.open(name, _READ_WRITE, dir_fd=folder)


def overwrite(
    target: int,
    name: str,
    new: int,
    journal: Fresh,
    check: Callable[[], None],
    *,
    outlives: bool,
) -> None:
    """Make the open file ``target`` hold what the open file ``new`` holds.

    Args:
        target: Open for both, and nobody else of ours writes it.
        name: Its name.
        new: The new bytes.
        journal: An empty file, for the undo; the caller discards it.
        check: Runs right before the first byte is overwritten; what it raises travels.
        outlives: ``journal`` lies beside the file: give it the name under which a killed process's
            undo is found.

    Raises:
        OldTextKept: The system refused, and also to put the old bytes back.
        OSError: The system refused; the file is as it was.
    """
    first, old_b = _write_undo(journal.descriptor, target, name, new)
    kept = undo_name(name)
    if outlives:
        journal.keep(kept)
    check()
    try:
        pour(new, 0, os.fstat(new).st_size, target)
    except BaseException as error:
        try:
            pour(journal.descriptor, first, old_b, target)
        except OSError as worse:
            if not outlives:
                journal.keep(kept)
            journal.leave()
            raise OldTextKept(worse.errno, os.strerror(worse.errno or 0), kept) from error
        raise


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


def _write_undo(journal: int, target: int, name: str, new: int) -> tuple[int, int]:
    """Fill and flush an undo file; gives where the old bytes begin in it, and how many they are."""
    kind = os.fstat(target)
    head = Undo(
        indwell_undo=1,
        name=os.fsencode(name).hex(),
        inode=kind.st_ino,
        old_b=kind.st_size,
        new_b=os.fstat(new).st_size,
    )
    line = msgspec.json.encode(head) + b"\n"
    write_all(journal, line)
    copy_range(target, journal, 0, head.old_b)
    copy_all(new, journal)
    os.fsync(journal)
    return len(line), head.old_b
