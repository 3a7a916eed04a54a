"""Copy bytes from one open file to another, without bringing them into the process if possible."""

from __future__ import annotations

import errno
import os

_PIECE_B = 1 << 20
_KERNEL_PIECE_B = 1 << 26  # a copy can be interrupted between two of them
_BY_HAND = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte; a system call may take only a part.

    Raises:
        OSError: The system does not take them all.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copy_all(source: int, target: int) -> None:
    """Copy a whole file to the present place of ``target``; see ``copy_range``."""
    copy_range(source, target, 0, os.fstat(source).st_size)


def copy_range(source: int, target: int, offset: int, length: int) -> None:
    """Copy ``length`` bytes at ``offset`` of ``source`` to the present place of ``target``.

    Raises:
        OSError: The system cannot read or write, or ``source`` is shorter (EIO).
    """
    done = 0
    if hasattr(os, "copy_file_range"):
        done = _copy_in_kernel(source, target, offset, length)
    while done < length:
        piece = _read_at(source, min(_PIECE_B, length - done), offset + done)
        if not piece:
            raise OSError(errno.EIO, "a file became shorter while it was copied")
        write_all(target, piece)
        done += len(piece)


def _copy_in_kernel(source: int, target: int, offset: int, length: int) -> int:
    """How many bytes the kernel copied; it takes none between some file systems."""
    done = 0
    while done < length:
        wanted = min(_KERNEL_PIECE_B, length - done)
        try:
            n_bytes = os.copy_file_range(source, target, wanted, offset_src=offset + done)
        except OSError as error:
            if error.errno not in _BY_HAND:
                raise
            break
        if n_bytes == 0:
            break
        done += n_bytes
    return done


def _read_at(source: int, length: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(source, length, offset)
    os.lseek(source, offset, os.SEEK_SET)
    return os.read(source, length)
