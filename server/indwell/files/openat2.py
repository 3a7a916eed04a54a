"""Linux's ``openat2``: one system call that opens a whole path beneath a folder, through no link.

The kernel checks each component while it walks, so no race can lead out (`safety.json` FS-04).
Python has no function for it. Where the kernel (before 5.6), a container's filter or another system
does not have it, ``works`` says so and ``beneath`` walks the path itself.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys

_NUMBER = 437  # the same on every architecture that Python's wheels are built for
_NO_MAGIC_LINKS = 0x02  # linux/openat2.h: the links of /proc/*/fd and the like
_NO_SYMLINKS = 0x04
_BENEATH = 0x08
_RESOLVE = _BENEATH | _NO_MAGIC_LINKS | _NO_SYMLINKS
_TRIES = 64  # the kernel says EAGAIN when something was renamed while it walked; man 2 openat2


class _How(ctypes.Structure):
    """``struct open_how``."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@functools.cache
def works() -> bool:
    """Can this process use it? Asked of the kernel once.

    An old kernel says ENOSYS, a container's filter EPERM, a kernel that lacks a flag EINVAL.
    """
    if sys.platform != "linux":
        return False
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_at(folder, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except (OSError, AttributeError):  # AttributeError: a C library without syscall()
        return False
    finally:
        os.close(folder)
    return True


def open_at(folder: int, path: str, flags: int, mode: int = 0o666) -> int:
    """Open ``path`` beneath the open ``folder``; ``flags`` and ``mode`` as for ``os.open``.

    Raises:
        OSError: ELOOP if a component is a link, EXDEV if ``path`` climbs out, EAGAIN if others
            rename without an end, else as ``os.open``.
    """
    how = _How(flags, mode if flags & os.O_CREAT else 0, _RESOLVE)  # a mode without need is EINVAL
    name = os.fsencode(path)
    problem = 0
    for _ in range(_TRIES):
        descriptor = _syscall()(_NUMBER, folder, name, ctypes.byref(how), ctypes.sizeof(how))
        if descriptor >= 0:
            return int(descriptor)
        problem = ctypes.get_errno()
        if problem not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(problem, os.strerror(problem), path)


@functools.cache
def _syscall() -> ctypes._NamedFuncPointer:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    return call
