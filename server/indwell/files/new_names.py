"""Hears within a millisecond of names that appear in a tree of folders (inotify, Linux).

One instance of the kernel's and one watch a folder; both stay open between commands, so that only
the first command pays for them. Where the kernel grants no more of them, or has lost notices, the
listener is told to look at everything, again and again: it then hears later, but of no less.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator

MOST_WATCHED = 25_000  # folders; the kernel holds about a kilobyte for each
POLL_S = 0.25  # between two looks at everything where nothing is heard
GATHER_S = 0.001  # in which notices that say nothing gather: one waking for many of them
REST = 3  # times as long as a look took until the next one: a flood of names takes a core, not all

_CREATE, _MOVED_TO, _OVERFLOW, _IGNORED, _FOLDER = 0x100, 0x80, 0x4000, 0x8000, 0x40000000
_MASK = _CREATE | _MOVED_TO | 0x01000000 | 0x02000000 | 0x04000000  # ONLYDIR, DONT_FOLLOW, EXCL
_WRITTEN = 0x2
_EVENT = struct.Struct("iIII")  # struct inotify_event of linux/inotify.h, before the name
_READ_B = 1 << 16

Heard = Callable[[frozenset[str]], bool]
"""Hears paths from the folder on, in a thread of the watch; an empty one is for everything. True if
it wants to look again soon, for a change that makes no notice (a write into mapped memory)."""


class NewNames:
    """Over one folder and those beneath it.

    Args:
        root: The folder, resolved.
        is_wanted: Is a path of a kind that is listened for?
        is_entered: Is a new folder watched as well?
        is_read: Do the files of this folder matter for what is in them, too?
        most: Folders that are watched.
    """

    def __init__(
        self,
        root: str,
        is_wanted: Callable[[str], bool],
        is_entered: Callable[[str], bool],
        is_read: Callable[[str], bool] = lambda _path: False,
        *,
        most: int = MOST_WATCHED,
    ) -> None:
        self.blind = ""  # why not every name is heard of, a clause
        self._root = root
        self._is_wanted = is_wanted
        self._is_entered = is_entered
        self._is_read = is_read
        self._most = most
        self._lock = threading.Lock()
        self._open: list[int] = []  # the kernel's instance, closed when nobody needs us any more
        weakref.finalize(self, _close, self._open)
        self._places: dict[int, str] = {}
        self._watched: dict[str, int] = {}
        self._listeners: list[Heard] = []
        self._thread: threading.Thread | None = None
        self._wake = (-1, -1)

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these folders from now on, paths from the root on; blocks.

        What appeared up to now is forgotten, if nobody listens.
        """
        with self._lock:
            if self._fd < 0 and not self._opened():
                return
            if not self._listeners:
                self._drain()
            self.blind = ""
            for one in folders:
                if one not in self._watched and not self._watch(one):
                    return

    @contextlib.contextmanager
    def heard_by(self, listener: Heard) -> Iterator[None]:
        """While it is entered, ``listener`` hears of new names; those of ``follow`` at least."""
        with self._lock:
            self._listeners.append(listener)
            if self._thread is None:
                self._wake = os.pipe()
                self._thread = threading.Thread(
                    target=self._listen, args=self._wake[:1], name="indwell-names", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)
                if not self._listeners:
                    os.close(self._wake[1])  # the thread hears of it, and closes the other end
                    self._thread = None

    @property
    def _fd(self) -> int:
        return self._open[0] if self._open else -1

    def _opened(self) -> bool:
        if sys.platform != "linux":
            self.blind = f"{sys.platform} does not report new files"
            return False
        number = _libc().inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if number < 0:
            self.blind = f"the system grants no more watches ({os.strerror(ctypes.get_errno())})"
            return False
        self._open.append(number)
        return True

    def _watch(self, at: str) -> bool:
        """Watch one folder; False if there is no room for more."""
        if len(self._places) >= self._most and at not in self._watched:
            self.blind = f"more than {self._most:,} folders would have to be watched"
            return False
        path = os.fsencode(f"{self._root}/{at}" if at else self._root)
        mask = _MASK | _WRITTEN if self._is_read(at) else _MASK
        number = _libc().inotify_add_watch(self._fd, path, mask)
        if number < 0:
            error = ctypes.get_errno()
            if error in _NO_ROOM:
                self.blind = f"the system grants no more watches ({os.strerror(error)})"
                return False
            return True  # gone since, no folder any more, or closed to us
        old = self._places.get(number)
        if old is not None and old != at:  # it was renamed
            self._watched.pop(old, None)
        self._places[number], self._watched[at] = at, number
        return True

    def _listen(self, wake: int) -> None:
        """The thread's work, until the last listener has gone."""
        pause_s, is_open = 0.0, False
        poll = select.poll() if hasattr(select, "poll") else None
        while True:
            if self._waits(poll, wake, pause_s, is_polling=is_open or bool(self.blind)):
                os.close(wake)
                return
            with self._lock:
                hits = self._drain()
                if self.blind or is_open:
                    hits.add("")
                listeners = tuple(self._listeners)
            began = time.monotonic()
            if hits:
                wishes = [listener(frozenset(hits)) for listener in listeners]  # all of them hear
                is_open = any(wishes)
            else:
                time.sleep(GATHER_S)
            pause_s = REST * (time.monotonic() - began) if hits else 0.0

    def _waits(
        self, poll: select.poll | None, wake: int, pause_s: float, *, is_polling: bool
    ) -> bool:
        """Wait for notices, or for the time of the next look; True if it is over."""
        if poll is None:
            time.sleep(max(POLL_S, pause_s))
            return self._thread is not threading.current_thread()
        if pause_s and _is_readable([wake], pause_s):
            return True
        with self._lock:
            descriptors = [wake] if self._fd < 0 else [wake, self._fd]
        limit_s = max(0.0, POLL_S - pause_s) if is_polling else None
        return _is_readable(descriptors, limit_s) and _is_readable([wake], 0)

    def _drain(self) -> set[str]:
        """With the lock held: take the notices that are there, and follow new folders."""
        hits: set[str] = set()
        while self._fd >= 0:
            try:
                data = os.read(self._fd, _READ_B)
            except (BlockingIOError, InterruptedError):
                return hits
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                self._take(number, mask, data[at - length : at], hits)
        return hits

    def _take(self, number: int, mask: int, raw: bytes, hits: set[str]) -> None:
        if mask & _OVERFLOW:
            hits.add("")
            for one in tuple(self._watched):  # renamed folders are found by their new names
                self._enter(one, hits)
            return
        folder = self._places.get(number)
        if folder is None:
            return
        if mask & _IGNORED:
            del self._places[number]
            if self._watched.get(folder) == number:
                del self._watched[folder]
            return
        name = os.fsdecode(raw.rstrip(b"\0"))
        path = f"{folder}/{name}" if folder else name
        if self._is_wanted(path):
            hits.add(path)
        if mask & _FOLDER and self._is_entered(path):
            self._enter(path, hits)

    def _enter(self, at: str, hits: set[str]) -> None:
        """Watch a folder that is new here, and what was in it before that."""
        waiting = [at]
        while waiting:
            at = waiting.pop()
            if not self._watch(at):
                return
            front = f"{at}/" if at else ""
            try:
                with os.scandir(f"{self._root}/{at}") as entries:
                    listed = [(front + e.name, e.is_dir(follow_symlinks=False)) for e in entries]
            except OSError:  # gone since, or no folder
                continue
            for path, is_folder in listed:
                if self._is_wanted(path):
                    hits.add(path)
                if is_folder and path not in self._watched and self._is_entered(path):
                    waiting.append(path)


_NO_ROOM = frozenset({12, 24, 28})  # ENOMEM, EMFILE, ENOSPC


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def _is_readable(descriptors: list[int], timeout_s: float | None) -> bool:
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
