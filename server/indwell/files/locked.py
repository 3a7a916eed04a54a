"""One at a time among threads and processes, for as long as reading, changing and writing takes.

Blocks while another holds the lock: call it in a thread. The lock ends with its process.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _SAFE
_MODE = 0o600
_STEP_S = 0.01  # between two looks at a lock that another process holds

_threads: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
_held = threading.local()


@contextmanager
def locked(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock of ``path``; a thread that holds it already goes straight on.

    On a file system without locks, and on Windows, only the threads of this process keep apart.

    Args:
        path: Created empty (0600) if it is missing; its contents are not touched. Its folder is
            there.
        timeout_s: Seconds to wait for others.

    Raises:
        TimeoutError: Others did not let go of it in time.
        OSError: It cannot be opened, or is a link.
    """
    name = os.path.abspath(path)  # noqa: PTH100 -- links stay as they are written
    until = time.monotonic() + timeout_s
    thread_lock = _threads[name]
    if not thread_lock.acquire(timeout=timeout_s):
        raise TimeoutError(errno.ETIMEDOUT, "another task of this process is busy with it", name)
    held: set[str] = _held.__dict__.setdefault("names", set())
    try:
        if name in held:
            yield
            return
        file = os.open(path, _FLAGS, _MODE)
        try:
            _lock(file, name, until)
            held.add(name)
            try:
                yield
            finally:
                held.discard(name)
        finally:
            os.close(file)
    finally:
        thread_lock.release()


def _lock(file: int, name: str, until: float) -> None:
    if sys.platform == "win32":
        return
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise TimeoutError(
                    errno.ETIMEDOUT, "another process is busy with it", name
                ) from error
            time.sleep(_STEP_S)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
                raise
            return  # a file system without locks
        else:
            return
