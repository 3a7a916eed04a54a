"""Locks between threads and processes: one writer per folder, and locks for single files.

The lock lies on the folder itself (flock), so that it leaves no file and ends with its process. A
file system without such locks (some network drives) keeps only the threads of this process apart.
Other programs do not know of it: for them the file is compared right before it is replaced.

``locked`` blocks while another holds the lock: call it in a thread. It ends with its process.
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

from indwell.errors import EditRefused

if sys.platform != "win32":
    import fcntl

WAIT_S = 5.0  # for one small edit of somebody else; a slow disk takes 0.1
_STEP_S = 0.002  # between two looks at a lock that another process holds
_UNSUPPORTED = frozenset(
    {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EINVAL}
)  # EBADF: NFS locks only what is open for writing, which a folder never is

_threads = threading.Lock()


@contextmanager
def one_writer(folder: int | None, path: Path, *, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Be the only writer in the open ``folder``; tells whether other processes are kept out too.

    Args:
        folder: Its descriptor, opened by the caller alone; None where there are none.
        path: What is to be written, for the message.
        wait_s: Seconds to wait for others.

    Raises:
        EditRefused: Others did not let go of the folder in time.
    """
    if folder is not None and wait_locked(folder, path, wait_s=wait_s):
        yield True  # closing the descriptor ends the lock
        return
    if not _threads.acquire(timeout=wait_s):
        raise _busy(path)
    try:
        yield False
    finally:
        _threads.release()


def lock_now(descriptor: int) -> bool:
    """Lock an open file or folder for its open description, or say that another one holds it.

    Raises:
        NoLocks: The file system has none.
        OSError: Anything else that the system has against it.
    """
    if sys.platform == "win32":
        raise NoLocks
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            raise NoLocks(error.errno, error.strerror) from error
        raise
    return True


class NoLocks(OSError):
    """The file system, or the system, has no locks of this kind."""


def wait_locked(descriptor: int, path: Path, *, wait_s: float = WAIT_S) -> bool:
    """Wait for the lock of an open file or folder; False if the file system has none.

    Raises:
        EditRefused: Others did not let go of it in time.
    """
    until = time.monotonic() + wait_s
    try:
        while not lock_now(descriptor):
            if time.monotonic() >= until:
                raise _busy(path)
            time.sleep(_STEP_S)
    except NoLocks:
        return False
    return True


def _busy(path: Path) -> EditRefused:
    return EditRefused(
        f"{str(path)!r} was not written: another program holds it or its folder locked; try again"
    )


if sys.platform != "win32":
    import fcntl

_SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _SAFE
_MODE = 0o600
_LOCK_STEP_S = 0.01  # between two looks at a lock that another process holds

_threads_by_path: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
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
    thread_lock = _threads_by_path[name]
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
            time.sleep(_LOCK_STEP_S)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
                raise
            return  # a file system without locks
        else:
            return
