"""The C library's allocator, told to give memory back; by default it is made for large servers."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD = -1  # malloc.h of glibc
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGE_B = 128 * 1024  # glibc's own first value, which it raises with every large block freed


def give_memory_back() -> None:
    """One arena for all threads, large blocks apart, and what is free at the end goes back.

    By default each thread gets an arena of its own, and a freed block of up to 32 MB raises the
    size from which blocks stand apart. Over ten minutes of use that kept 5 MB more than was in use
    (``tests/faults/soak.py``). Python's own lock is held where memory is asked for, so one arena
    costs nothing. Best effort: only glibc has this, and others need it less.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_B)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_B)
