"""Write over a file that may not be replaced: other names, an owner or a mount hang on it.

Such a write cannot be one step, so an undo file (``journal``) comes first. If the system refuses in
the middle, the old bytes are put back from it; if the process is killed, whoever of us next reads
or writes the file does so (``leftovers``).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

from indwell.files.copying import copy_range
from indwell.files.journal import Journal

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
