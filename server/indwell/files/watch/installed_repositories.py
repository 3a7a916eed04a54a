"""Finds repositories deep in folders of installed files, such as ``node_modules``.

Folders of installed files are too large for full protection, but git loads a repository's
configuration for anyone who opens a file beneath it. Each folder is therefore searched for a few
names, and again only after a change, in 30 µs the first time and 6 µs afterwards. Links are not
followed.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable

import msgspec

from indwell.files.system import calls

MOST_FOLDERS = 300_000
_MOST_B_A_CHARACTER = 4
# A command can create any number of folders, so the scan after a command has a higher limit.
_TIMES_AFTER = 10
FRESH_NS = 50_000_000
"""A folder that was listed so soon after a change may change again without a new time, because file
system clocks advance in steps of up to 10 ms. Such a listing counts for this scan only.
"""

GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""The errors of a folder that is gone.

After any other error, such as a missing permission, the folder may still contain files.
"""

MOST_PATH_B = 3_800
"""The longest path, in bytes, of a scanned folder.

The system's limit is 4,096; the rest is left for names in the folder and in a repository there.
"""


def is_too_deep(root: str, at: str) -> bool:
    """Return whether a path is so long that entries beneath it may have no path."""
    n_characters = len(root) + 1 + len(at)
    if n_characters * _MOST_B_A_CHARACTER <= MOST_PATH_B:
        return False
    return len(os.fsencode(root)) + 1 + len(os.fsencode(at)) > MOST_PATH_B


class Signs(msgspec.Struct, frozen=True):
    """The result of a scan. Paths are relative to the workspace folder.

    Attributes:
        paths: Paths whose names belong to a repository, such as ``HEAD``.
        closed: Folders that cannot be read.
        is_whole: Whether every folder was scanned.
        n_folders: The number of scanned folders.
        too_deep: Folders that were skipped because their paths are too long.
    """

    paths: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    is_whole: bool = True
    n_folders: int = 0
    too_deep: tuple[str, ...] = ()


class _InstalledFolder(msgspec.Struct, frozen=True):
    changed_ns: int
    folders: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


class Installed:
    """Scans the folders of installed files beneath one folder.

    Args:
        root: The resolved folder.
        is_sign: Returns whether a name belongs to a repository.
        most_folders: The limit of folders, above which the scan counts as incomplete.
    """

    def __init__(
        self, root: str, is_sign: Callable[[str], bool], *, most_folders: int = MOST_FOLDERS
    ) -> None:
        self._root = root
        self._is_sign = is_sign
        self._most_folders = most_folders
        self._known: dict[str, _InstalledFolder] = {}
        self._last: Signs | None = None
        self._looking = threading.Lock()

    def known(self, tops: Iterable[str], limit_s: float) -> Signs:
        """Return the last scan; if there is none, scan for up to ``limit_s``. Blocks.

        If the last scan found too many folders, scan again, because there may be fewer now.
        """
        with self._looking:
            if self._last is None:
                return self._look(tops, self._most_folders, time.monotonic() + limit_s)
            if self._last.n_folders > self._most_folders:
                self._last = self._look(tops, self._most_folders)
            return self._last

    def look(self, tops: Iterable[str]) -> Signs:
        """Scan the folders below ``tops`` now; blocks.

        Args:
            tops: The folders of installed files, whose direct entries the caller has checked.
        """
        with self._looking:
            self._last = self._look(tops, self._most_folders * _TIMES_AFTER)
            return self._last

    def _look(self, tops: Iterable[str], most: int, until_s: float | None = None) -> Signs:
        known: dict[str, _InstalledFolder] = {}
        signs: list[str] = []
        closed: list[str] = []
        too_deep: list[str] = []
        is_whole = True
        above = set(tops)
        waiting = list(above)
        for at in waiting:  # the list grows during the loop, so the shallowest folders come first
            is_late = until_s is not None and time.monotonic() > until_s
            if len(known) > most or is_late:
                is_whole = False
                break
            if is_too_deep(self._root, at):
                too_deep.append(at)
                continue
            try:
                folder = self._read(at)
            except OSError as error:
                if error.errno not in GONE:
                    closed.append(at)
                continue
            known[at] = folder
            waiting += folder.folders
            if at not in above:
                signs += folder.signs
        self._known = known
        return Signs(tuple(signs), tuple(closed), is_whole, len(known), tuple(too_deep))

    def _read(self, at: str) -> _InstalledFolder:
        path = f"{self._root}/{at}"
        # The modification time is useless, because a program can set it freely.
        changed_ns = calls.stat(path, follow_symlinks=False).st_ctime_ns
        before = self._known.get(at)
        if before is not None and before.changed_ns == changed_ns:
            return before
        folders: list[str] = []
        signs: list[str] = []
        with calls.scan(path) as entries:
            for one in entries:
                if self._is_sign(one.name):
                    signs.append(f"{at}/{one.name}")
                elif one.is_dir(follow_symlinks=False):
                    folders.append(f"{at}/{one.name}")
        if time.time_ns() - changed_ns < FRESH_NS:
            changed_ns = -1
        return _InstalledFolder(changed_ns, tuple(folders), tuple(signs))
