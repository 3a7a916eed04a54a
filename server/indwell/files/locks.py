"""Locks between threads and processes: one writer per folder, and locks for single files.

A folder is locked itself (flock), which leaves no file and ends with the process. On a file system
without such locks (some network drives), only threads of this process exclude each other. Other
programs ignore these locks; so writers compare the file right before they replace it.

``locked`` blocks while another holds the lock: call it in a thread.
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
from indwell.files.spelling import quoted

if sys.platform != "win32":
    import fcntl

WAIT_S = 5.0  # for one small edit by another process; a slow disk takes 0.1
_STEP_S = 0.002  # between two attempts to get a lock
_UNSUPPORTED = frozenset(
    {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EINVAL}
)  # EBADF: NFS locks only what is open for writing, which a folder never is

_threads = threading.Lock()


@contextmanager
def one_writer(folder: int | None, path: Path, *, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the writer's lock of the open ``folder``; yields whether other processes respect it.

    Args:
        folder: Its descriptor, opened by this caller alone; None where there are no descriptors.
        path: The file to write, for the message.
        wait_s: Seconds to wait for others.

    Raises:
        EditRefused: Others did not release the lock in time.
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
    """Try to lock an open file or folder; False if another open description holds the lock.

    Raises:
        NoLocks: The file system has no locks.
        OSError: Any other failure.
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
    """Wait for the lock of an open file or folder; False if the file system has no locks.

    Raises:
        EditRefused: Others did not release the lock in time.
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
        f"{quoted(path)} was not written: another program holds it or its folder locked; try again"
    )


if sys.platform != "win32":
    import fcntl

_SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _SAFE
_MODE = 0o600
_LOCK_STEP_S = 0.01  # between two attempts to get a lock

_threads_by_path: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
_held = threading.local()


@contextmanager
def locked(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock of ``path``; reentrant within a thread.

    Without file locks (some file systems, Windows), only threads of this process are excluded.

    Args:
        path: The lock file, created empty (0600) if missing and never written. Its folder must
            exist.
        timeout_s: Seconds to wait for others.

    Raises:
        TimeoutError: Others did not release the lock in time.
        OSError: The file cannot be opened, or is a link.
    """
    name = os.path.abspath(path)  # noqa: PTH100 -- links are kept as written
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
