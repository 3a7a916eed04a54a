"""Watches single files for changes, with the system's notifications (watchdog).

macOS (FSEvents) names a file by the real path of its folder, in the disk's spelling. FSEvents
reports a change at least 10 ms later, and may drop events silently. On macOS, the watch therefore
also checks files on request. Windows also names a file in the disk's spelling.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from indwell.files.spelling import HERE, System, folded
from indwell.files.system import calls

if TYPE_CHECKING:  # the import is late, because it takes 0.1 s and most processes never need it
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch

_log = logging.getLogger(__name__)

# the limit of folders; Linux grants a user 8,192 watches by default, shared with the editor
MOST_FOLDERS = 500
MOST_POLLED = 500  # the limit of files that are checked on request, in 2 µs for each
BUSY_EVENTS = 1_000  # A person causes fewer than 1,000 events in one folder within BUSY_S seconds.
BUSY_S = 1.0

MOST_ENTRIES = 1_000  # the limit of entries of whole watched folders that are checked on request

_Mark: TypeAlias = tuple[tuple[int, int, int, int], ...] | None


_Begin: TypeAlias = Callable[[Callable[[], None]], threading.Thread]


def _begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="indwell-watch", daemon=True)
    thread.start()
    return thread


class FolderWatch:
    """Watches the folders of some files; implements ``workspace.base.Watch``.

    All methods are thread-safe. Watchdog's threads read the notifications, and start with the first
    file.

    Args:
        begin: Starts a thread; raises RuntimeError if the system allows no more threads.
        system: The system that sends the notifications.
    """

    def __init__(self, begin: _Begin = _begun, system: System = HERE) -> None:
        self._begin = begin
        self._system = system
        self._lock = threading.Lock()
        self._files: set[Path] = set()
        self._spelled: dict[Path, set[Path]] = {}  # the watched files, by the disk's spelling
        self._whole: set[Path] = set()  # the folders in which every entry is watched
        self._folders: dict[Path, _WatchedFolder] = {}
        self._polled: dict[Path, _Mark] = {}
        self._changed: set[Path] = set()
        self._waiting: list[Path] = []  # the folders that the thread has not watched yet
        self._observer: BaseObserver | None = None
        self._starter: threading.Thread | None = None
        self._is_closed = False

    def follow(self, path: Path) -> None:
        """Watch this file from now on; a thread sets up the watch."""
        with self._lock:
            if path in self._files or self._is_closed:
                return
            self._files.add(path)
            self._spelled.setdefault(self._spelling(path), set()).add(path)
            self._watch(path.parent, path)
            if self._system == "darwin":
                self._poll(path)

    def follow_all(self, folder: Path) -> None:
        """Report ``folder`` when one of its direct entries appears, changes or disappears.

        The folder need not exist yet. Without notifications, the entries are polled in turns.
        """
        with self._lock:
            if folder in self._whole or self._is_closed:
                return
            self._whole.add(folder)
            self._watch(folder, folder)

    def _watch(self, at: Path, path: Path) -> None:
        """Watch ``path`` with notifications of the folder ``at``, or poll it."""
        folder = self._folders.get(at)
        if folder is None and len(self._folders) < MOST_FOLDERS:
            self._folders[at] = _WatchedFolder()
            self._waiting.append(at)
            self._start()
        elif folder is None or folder.is_polled:
            self._poll(path)

    def changed(self) -> frozenset[Path]:
        """Return watched files that may have changed since the last call."""
        with self._lock:
            for at in [at for at, folder in self._folders.items() if folder.is_elsewhere(at)]:
                self._give_up(at)
            changed, self._changed = self._changed, set()
            n_left = MOST_ENTRIES
            for path in list(self._polled):
                if n_left <= 0 and path in self._whole:
                    continue  # the next call checks this path first
                before = self._polled.pop(path)
                now = self._polled[path] = self._mark(path)
                n_left -= 0 if now is None else len(now) - 1
                if now != before:
                    changed.add(path)
        return frozenset(changed)

    def close(self) -> None:
        """End all watches; return at once, although the threads end a moment later."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()

    def settle(self) -> None:
        """Wait, in tests, until all followed files are watched; blocks."""
        starter = self._starter
        if starter is not None:
            starter.join()

    def heard(self, event: FileSystemEvent, folder: Path | None = None, real: str = "") -> None:
        """Handle a watchdog event, in watchdog's thread.

        Args:
            event: The event.
            folder: The watched folder, in the caller's spelling.
            real: The folder's path without links, which events may contain.
        """
        paths = [Path(str(name)) for name in (event.src_path, event.dest_path) if name]
        if folder is not None and real != str(folder):
            paths = [_as_followed(path, folder, Path(real)) for path in paths]
        for path in paths:
            self._note(path)
        if event.event_type in {"deleted", "moved"}:
            self._gone(paths[0])

    def _gone(self, folder: Path) -> None:
        """Drop the watch of a removed folder, even if a new folder has the same name."""
        with self._lock:
            state = self._folders.get(folder)
            if state is not None and not state.is_polled:
                self._give_up(folder)

    def _note(self, path: Path) -> None:
        with self._lock:
            folder = self._folders.get(path.parent)
            if folder is None or folder.is_polled:
                return
            self._changed |= self._spelled.get(self._spelling(path), set())
            if path.parent in self._whole:
                self._changed.add(path.parent)
            if folder.is_busy():
                self._give_up(path.parent)
                # So many events may have displaced other events from the system's queue.
                self._changed |= self._files | self._whole

    def _spelling(self, path: Path) -> Path:
        """Return a key that is equal for all spellings of a file; two files may share a key."""
        return path if self._system == "linux" else path.parent / folded(path.name)

    def _start(self) -> None:
        """Start a thread for the waiting folders, unless one is starting."""
        if self._starter is None or not self._starter.is_alive():
            try:
                self._starter = self._begin(self._watch_waiting)
            except RuntimeError as error:  # the system allows no more threads
                while self._waiting:
                    self._refused(self._waiting.pop(), error)

    def _watch_waiting(self) -> None:
        from watchdog import events  # noqa: PLC0415 - see the top

        watch = self

        class Handler(events.FileSystemEventHandler):
            def __init__(self, folder: Path) -> None:
                self._folder, self._real = folder, os.path.realpath(folder)

            def on_any_event(self, event: FileSystemEvent) -> None:
                watch.heard(event, self._folder, self._real)

        # Do not subscribe to read events, which Indwell's own reads would cause.
        changes = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent),
            *(events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirModifiedEvent),
            *(events.DirMovedEvent, events.DirDeletedEvent),
        ]

        while True:
            with self._lock:
                if not self._waiting or self._is_closed:
                    # Hold the lock, so that the next ``follow`` sees that this thread has ended.
                    self._starter = None
                    return
                folder = self._waiting.pop()
                try:
                    observer = self._observing()
                except (OSError, RuntimeError) as error:
                    self._refused(folder, error)
                    continue
            place = _place(folder)
            try:
                # On Windows, only the watching thread would notice a missing folder.
                if place is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
                watched = observer.schedule(Handler(folder), str(folder), event_filter=changes)
            except (OSError, RuntimeError) as error:
                with self._lock:
                    self._refused(folder, error)
            else:
                with self._lock:
                    self._folders[folder].watch, self._folders[folder].place = watched, place

    def _observing(self) -> BaseObserver:
        """Return the only running observer. The caller holds the lock.

        Raises:
            OSError: The system allows no more observers (on Linux, by default 128 for a user,
                shared with the editor).
        """
        from watchdog.observers import Observer  # noqa: PLC0415 - see the top

        if self._observer is None:
            observer = Observer()
            observer.daemon = True
            observer.start()
            self._observer = observer
        return self._observer

    def _refused(self, folder: Path, error: OSError | RuntimeError) -> None:
        """Record that the system cannot watch this folder. The caller holds the lock."""
        _log.info("%s is not watched: %s", folder, error)
        self._give_up(folder)

    def _give_up(self, folder: Path) -> None:
        """Poll the files of this folder instead of watching it. The caller holds the lock."""
        state = self._folders[folder]
        state.is_polled = True
        if state.watch is not None and self._observer is not None:
            with contextlib.suppress(KeyError, OSError):  # the watch was removed with its folder
                self._observer.unschedule(state.watch)
        beneath = [path for path in self._files if path.parent == folder]
        for path in (*beneath, *({folder} & self._whole)):
            self._changed.add(path)
            self._poll(path)

    def _poll(self, path: Path) -> None:
        if len(self._polled) < MOST_POLLED:
            self._polled[path] = self._mark(path)

    def _mark(self, path: Path) -> _Mark:
        """Return stat values of a file or a whole folder that differ after each change."""
        try:
            marks = [_stat(path)]
            if path in self._whole:
                with calls.scan(path) as entries:
                    marks += [_stat(Path(one)) for one in islice(entries, MOST_ENTRIES)]
        except OSError:
            return None
        return tuple(marks)


class _WatchedFolder:
    """A watched folder: its recent events, and whether its files are polled instead."""

    def __init__(self) -> None:
        self.is_polled = False
        self.watch: ObservedWatch | None = None
        self.place: tuple[int, int] | None = None  # the device and inode; see ``is_elsewhere``
        self._n_events = 0
        self._since = time.monotonic()

    def is_elsewhere(self, at: Path) -> bool:
        """Return whether the watched folder was removed, or moved away from the path ``at``."""
        return self.watch is not None and not self.is_polled and self.place != _place(at)

    def is_busy(self) -> bool:
        """Count one event; return whether there were too many."""
        now = time.monotonic()
        if now - self._since > BUSY_S:
            self._since, self._n_events = now, 0
        self._n_events += 1
        return self._n_events > BUSY_EVENTS


def _as_followed(path: Path, folder: Path, real: Path) -> Path:
    """Convert a path below ``real`` to a path below ``folder``, which is the same folder."""
    if path == real:
        return folder
    return folder / path.name if path.parent == real else path


def _stat(path: Path) -> tuple[int, int, int, int]:
    stat = calls.lstat(path)
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


def _place(folder: Path) -> tuple[int, int] | None:
    """Return the folder's device and inode, or None if it is gone."""
    try:
        stat = calls.stat(folder)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
