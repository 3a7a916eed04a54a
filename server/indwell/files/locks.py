"""Locks between threads and processes: one writer per folder, and locks for single files.

The lock of a folder (flock) leaves no file and ends with the process. On a file system without such
locks (some network drives), only threads of this process exclude each other. Other programs ignore
the locks, so writers compare the file right before they replace it.

Windows cannot lock a folder, so a mutex named after the folder replaces the lock. The locked byte
of a file is far after its end, because on Windows locked bytes cannot be read.

The function ``locked`` blocks while another process holds the lock, so call it in a thread.
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
from typing import Any

from indwell.errors import EditRefused
from indwell.files.spelling import quoted
from indwell.files.system import calls

WAIT_S = 5.0  # the wait, in seconds, for one small edit by another process; a slow disk takes 0.1
_STEP_S = 0.002  # the wait, in seconds, between two attempts to get a lock
_UNSUPPORTED = frozenset(
    {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EINVAL}
)  # NFS answers EBADF, because it only locks files open for writing, which a folder never is.

_threads = threading.Lock()


class NoLocks(OSError):
    """The file system does not support such locks."""


@contextmanager
def one_writer(folder: int, path: Path, *, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the writer's lock of the open ``folder``; yield whether other processes see the lock.

    Args:
        folder: The folder's descriptor, which only the caller uses.
        path: The file to write, for the error message.
        wait_s: The time to wait for other processes, in seconds.

    Raises:
        EditRefused: Another process did not release the lock in time.
    """
    with _folder_lock(folder, path, wait_s) as is_locked:
        if is_locked:
            yield True
            return
        if not _threads.acquire(timeout=wait_s):
            raise _busy(path)
        try:
            yield False
        finally:
            _threads.release()


if sys.platform == "win32":
    import msvcrt

    _FAR = 0x7FFFFFFF  # the upper half of the locked byte's offset
    _NOW, _ALONE = 0x1, 0x2  # the values of LOCKFILE_FAIL_IMMEDIATELY and LOCKFILE_EXCLUSIVE_LOCK
    # the value for the default access list, because pywin32's types do not allow None
    _DEFAULT: Any = None
    _TAKEN = frozenset({33, 997})  # the values of ERROR_LOCK_VIOLATION and ERROR_IO_PENDING
    _NONE = frozenset({1, 50})  # the values of ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED

    def lock_now(descriptor: int) -> bool:
        """Try to lock an open file; return False if another open description has the lock.

        Raises:
            NoLocks: The file system has no locks.
            OSError: Any other failure.
        """
        import pywintypes  # noqa: PLC0415 - takes time, and most calls need it never
        import win32file  # noqa: PLC0415 - as above

        at = pywintypes.OVERLAPPED()
        at.OffsetHigh = _FAR
        try:
            win32file.LockFileEx(msvcrt.get_osfhandle(descriptor), _NOW | _ALONE, 1, 0, at)
        except pywintypes.error as error:
            if error.winerror in _TAKEN:
                return False
            if error.winerror in _NONE:
                raise NoLocks(errno.ENOLCK, error.strerror) from error
            raise OSError(None, error.strerror, None, error.winerror) from error
        return True

    @contextmanager
    def _folder_lock(folder: int, path: Path, wait_s: float) -> Iterator[bool]:
        import pywintypes  # noqa: PLC0415 - as above
        import win32event  # noqa: PLC0415 - as above

        found = calls.fstat(folder)
        name = f"Global\\indwell-{found.st_dev:x}-{found.st_ino:x}"
        try:
            mutex = win32event.CreateMutex(_DEFAULT, False, name)  # noqa: FBT003 - by position only
        except pywintypes.error:  # a process of another user holds the mutex
            yield False
            return
        try:
            # The mutex of a dead owner is taken over, as a file lock would be.
            waited = win32event.WaitForSingleObject(int(mutex), int(wait_s * 1000))
            if waited == win32event.WAIT_TIMEOUT:
                raise _busy(path)
            try:
                yield True
            finally:
                win32event.ReleaseMutex(int(mutex))
        finally:
            mutex.Close()

else:
    import fcntl

    def lock_now(descriptor: int) -> bool:
        """Try to lock an open file or folder; return False if another description has the lock.

        Raises:
            NoLocks: The file system has no locks.
            OSError: Any other failure.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                raise NoLocks(error.errno, error.strerror) from error
            raise
        return True

    @contextmanager
    def _folder_lock(folder: int, path: Path, wait_s: float) -> Iterator[bool]:
        yield wait_locked(folder, path, wait_s=wait_s)  # closing the descriptor ends the lock


def wait_locked(descriptor: int, path: Path, *, wait_s: float = WAIT_S) -> bool:
    """Wait for the lock of an open file or folder; return False on a file system without locks.

    Raises:
        EditRefused: Another process did not release the lock in time.
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


_SAFE = calls.CLOEXEC | calls.NOFOLLOW | calls.BINARY
_FLAGS = os.O_RDWR | os.O_CREAT | calls.NONBLOCK | _SAFE
_MODE = 0o600
_LOCK_STEP_S = 0.01  # the wait, in seconds, between two attempts to get a lock

_threads_by_path: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
_held = threading.local()


@contextmanager
def locked(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock of ``path`` in this context; reentrant within a thread.

    On a file system without locks, only threads of this process are excluded.

    Args:
        path: The lock file, which is created empty (0600) if missing, and stays empty. The lock
            file's folder must exist.
        timeout_s: The time to wait for other processes, in seconds.

    Raises:
        TimeoutError: Another process did not release the lock in time.
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
        file = calls.open_file(path, _FLAGS, _MODE)
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
    try:
        while not lock_now(file):
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, "another process is busy with it", name)
            time.sleep(_LOCK_STEP_S)
    except NoLocks:
        return
