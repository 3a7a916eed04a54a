"""Reports new names in a folder tree within a millisecond (inotify, Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import select
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator

import msgspec

from indwell.files.system import calls

MOST_WATCHED = 25_000  # the limit of folders; the kernel needs about a kilobyte for each
POLL_S = 0.25  # the time, in seconds, between two full scans if no notifications arrive
# the time, in seconds, for which events without a name are collected before one wake-up
GATHER_S = 0.001
# The pause after a scan, as a multiple of the scan's duration, which limits the load.
REST = 3
BEHIND_S = 0.05  # A listener is told of events that wait for longer than this, in seconds.
_SLICE_S = 0.02  # Events that were read are reported after at most this time, in seconds.

_CREATE, _MOVED_TO, _OVERFLOW, _IGNORED, _FOLDER = 0x100, 0x80, 0x4000, 0x8000, 0x40000000
# the flags ONLYDIR, DONT_FOLLOW and EXCL
_MASK = _CREATE | _MOVED_TO | 0x01000000 | 0x02000000 | 0x04000000
_WRITTEN = 0x2
# struct inotify_event of linux/inotify.h, without the name at its end
_EVENT = struct.Struct("iIII")
_READ_B = 1 << 12  # the number of bytes for about a hundred events


def _nothing(_seconds: float) -> None:
    """Ignore a delay of events; this is the default for ``behind``."""


class Listener(msgspec.Struct, frozen=True, eq=False):
    """Callbacks of a listener; all are called in a thread of the watch.

    Attributes:
        heard: Called immediately with the new paths, relative to the folder.
        look: Called some time later to scan all folders. The result True requests another scan
            soon, because a write to mapped memory causes no event.
        behind: Called repeatedly with the seconds that events have been waiting, then with 0; also
            called around a long scan.
    """

    heard: Callable[[frozenset[str]], None]
    look: Callable[[], bool]
    behind: Callable[[float], None] = _nothing


class NewNames:
    """Watches one folder and all folders beneath it.

    Args:
        root: The resolved folder.
        is_wanted: Returns whether a path is reported.
        is_entered: Returns whether a new folder is watched, too.
        is_read: Returns whether changed contents of a folder's files are reported, too.
        most: The limit of watched folders.
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
        self.blind = ""  # the reason why some names are missed, as a clause
        self.is_full = False  # whether there are more folders than can be watched
        self._root = root
        self._is_wanted = is_wanted
        self._is_entered = is_entered
        self._is_read = is_read
        self._most = most
        self._lock = threading.Lock()
        # The inotify instance, which is closed when no listener needs it.
        self._open: list[int] = []
        weakref.finalize(self, _close, self._open)
        self._places: dict[int, str] = {}
        self._watched: dict[str, int] = {}
        self._joining = threading.Lock()  # Threads hold this lock only while they change a list.
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._ended: threading.Thread | None = None  # the last thread, which may still be ending
        self._is_closed = False
        self._wake = (-1, -1)
        self._since = 0.0  # the time at which the oldest unread event may have arrived
        self._told_at = 0.0  # the time at which listeners were last told of a delay; 0 for no delay
        self._look_s = 0.0  # the duration of the last full scan in seconds

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these folders, given as paths relative to the root, from now on; blocks.

        If there is no listener, earlier events are dropped.
        """
        with self._lock:
            if self._is_closed:
                self.blind = "its session has ended"
                return
            if self._fd < 0 and not self._opened():
                return
            while not self._listeners and not self._drained()[1]:
                pass
            self.blind, self.is_full = "", False
            for one in folders:
                if one not in self._watched and not self._watch(one):
                    return

    def close(self) -> None:
        """Close the inotify instance permanently; blocks for a moment.

        If a listener is active, the instance is closed when this object is no longer referenced.
        """
        with self._joining:
            if self._listeners:
                return
            ended = self._ended
        if ended is not None:
            ended.join()  # the thread was asked to end, and reads from the instance until then
        with self._lock:
            self._is_closed = True
            _close(self._open)
            self._places.clear()
            self._watched.clear()

    @contextlib.contextmanager
    def heard_by(self, listener: Listener) -> Iterator[None]:
        """Report new names to ``listener`` in this context, at least below followed folders."""
        with self._joining:
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
            with self._joining:
                self._listeners.remove(listener)
                if not self._listeners:
                    os.close(self._wake[1])  # the thread notices this, and closes the other end
                    self._ended, self._thread = self._thread, None

    @property
    def _fd(self) -> int:
        return self._open[0] if self._open else -1

    def _opened(self) -> bool:
        if sys.platform != "linux":
            self.blind = f"{sys.platform} does not report new files"
            return False
        number = _libc().inotify_init1(calls.CLOEXEC | calls.NONBLOCK)
        if number < 0:
            self.blind = f"the system grants no more watches ({os.strerror(ctypes.get_errno())})"
            return False
        self._open.append(number)
        return True

    def _watch(self, at: str) -> bool:
        """Watch one folder; return False if the limit is reached."""
        if len(self._places) >= self._most and at not in self._watched:
            self.blind = f"more than {self._most:,} folders would have to be watched"
            self.is_full = True
            return False
        path = os.fsencode(f"{self._root}/{at}" if at else self._root)
        mask = _MASK | _WRITTEN if self._is_read(at) else _MASK
        number = _libc().inotify_add_watch(self._fd, path, mask)
        if number < 0:
            error = ctypes.get_errno()
            if error in _NO_ROOM:
                self.blind = f"the system grants no more watches ({os.strerror(error)})"
                return False
            return True  # the folder was removed, is no longer a folder, or is unreadable
        old = self._places.get(number)
        if old is not None and old != at:  # the folder was renamed
            self._watched.pop(old, None)
        self._places[number], self._watched[at] = at, number
        return True

    def _listen(self, wake: int) -> None:
        """Run the thread's loop until the last listener is gone."""
        self._since = self._told_at = 0.0
        is_due = is_open = False
        next_look = 0.0
        while True:
            is_polling = is_open or bool(self.blind)
            limit_s = self._limit_s(next_look, is_due=is_due, is_polling=is_polling)
            if self._waits(wake, limit_s):
                os.close(wake)
                return
            with self._lock:
                hits, is_all = self._drained()
            if "" in hits:
                is_due = True
                hits.remove("")
            if hits:
                is_due = True
                with self._noting_time():
                    for one in self._all():
                        one.heard(frozenset(hits))
            if is_all and self._told_at:
                self._tell(0)  # The listeners must receive the events first.
            is_now = time.monotonic() >= next_look
            if is_all and is_now and (is_due or is_polling):
                is_open = self._looked()
                is_due = False
                next_look = time.monotonic() + max(REST * self._look_s, POLL_S if is_open else 0)
            elif is_all and not hits:
                time.sleep(GATHER_S)

    def _all(self) -> tuple[Listener, ...]:
        with self._joining:
            return tuple(self._listeners)

    def _limit_s(self, next_look: float, *, is_due: bool, is_polling: bool) -> float | None:
        """Return the number of seconds to wait for events, or None for no limit."""
        if self._told_at:
            return 0
        left_s = max(0.0, next_look - time.monotonic())
        if is_due:
            return left_s
        return max(left_s, POLL_S if self.blind else 0) if is_polling else None

    def _looked(self) -> bool:
        """Ask all listeners to scan; a long scan counts as a delay."""
        if self._look_s > BEHIND_S:
            self._tell(BEHIND_S)
        began = time.monotonic()
        with self._noting_time():
            wishes = [one.look() for one in self._all()]  # the list makes every listener scan
        self._look_s = time.monotonic() - began
        return any(wishes)

    @contextlib.contextmanager
    def _noting_time(self) -> Iterator[None]:
        """Count events that arrive in this context as waiting since the context began."""
        began = time.monotonic()
        yield
        self._since = self._since or began

    def _waits(self, wake: int, limit_s: float | None) -> bool:
        """Wait for events for up to ``limit_s`` seconds; return True after the last listener."""
        if sys.platform == "win32":
            time.sleep(POLL_S if limit_s is None else max(POLL_S, limit_s))
            return self._thread is not threading.current_thread()
        descriptors = [wake] if self._fd < 0 else [wake, self._fd]
        return _is_readable(descriptors, limit_s) and _is_readable([wake], 0)

    def _drained(self) -> tuple[set[str], bool]:
        """Read events and watch new folders; return True if no event is left."""
        hits: set[str] = set()
        self._since = self._since or time.monotonic()
        until = time.monotonic() + _SLICE_S
        while data := self._read():
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                self._take(number, mask, data[at - length : at], hits)
                self._note_lag()
            if time.monotonic() > until:
                return hits, False
        self._since = 0.0
        return hits, True

    def _read(self) -> bytes:
        """Read some events; return no bytes if no event is ready."""
        try:
            return os.read(self._fd, _READ_B) if self._fd >= 0 else b""
        except (BlockingIOError, InterruptedError):
            return b""

    def _note_lag(self) -> None:
        """Tell listeners of a delay, and tell them again after a while."""
        now = time.monotonic()
        if now - self._since > BEHIND_S and now - self._told_at > BEHIND_S:
            self._tell(now - self._since)

    def _tell(self, behind_s: float) -> None:
        for one in self._all():
            one.behind(behind_s)
        self._told_at = time.monotonic() if behind_s else 0.0

    def _take(self, number: int, mask: int, raw: bytes, hits: set[str]) -> None:
        if mask & _OVERFLOW:
            hits.add("")
            self._tell(BEHIND_S)  # the queue overflowed and events were lost, so scan all folders
            for one in tuple(self._watched):  # find renamed folders by their new names
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
        """Watch a new folder, and report the entries that it already contains."""
        waiting = [at]
        while waiting:
            self._note_lag()
            at = waiting.pop()
            if not self._watch(at):
                return
            front = f"{at}/" if at else ""
            try:
                with calls.scan(f"{self._root}/{at}") as entries:
                    listed = [(front + e.name, e.is_dir(follow_symlinks=False)) for e in entries]
            except OSError:  # the folder was removed, or is not a folder
                continue
            for path, is_folder in listed:
                if self._is_wanted(path):
                    hits.add(path)
                if is_folder and path not in self._watched and self._is_entered(path):
                    waiting.append(path)


_NO_ROOM = frozenset({12, 24, 28})  # the values of ENOMEM, EMFILE and ENOSPC


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def _is_readable(descriptors: list[int], timeout_s: float | None) -> bool:
    if sys.platform == "win32":
        return False
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
