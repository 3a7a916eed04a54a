"""Finds files of some kinds beneath a folder; later scans list only changed folders.

A folder with an unchanged change time has the same names, so its listing is used again. Links are
not followed. The scan is limited: shallow folders come first. If deep or too many folders are left
out, ``is_whole`` is false, and files found earlier are checked by name. A folder that cannot be
listed is reported with its last known files.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import threading
import time
import weakref
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from indwell.files.system import calls
from indwell.files.watch.installed_repositories import FRESH_NS, GONE, is_too_deep

# The limit of folders: an unchanged tree takes 150 ms, and the first scan hardly longer than
# `os.walk`.
MOST_FOLDERS = 20_000
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
MOST_ENTRIES = 1_000_000  # the limit of entries, each of which needs eight bytes


class FileStamp(msgspec.Struct, frozen=True):
    """The identity and state of a file, which differ after the file was replaced or changed."""

    number: int
    size_b: int
    changed_ns: int


class FoundChanges(msgspec.Struct, frozen=True):
    """A file, folder or link that was found.

    Attributes:
        path: The path relative to the folder, with slashes.
        is_folder: Whether the path is a folder; a link to a folder does not count as a folder.
        leads_to: The target of a link, as written, or empty for a file or folder.
        stamp: Size, times and inode of the file at the scan; of a folder, only the inode.
        n_names: The number of hard links.
    """

    path: str
    is_folder: bool
    stamp: FileStamp
    leads_to: str = ""
    n_names: int = 1


class TreeLook(msgspec.Struct, frozen=True):
    """The result of one scan.

    Attributes:
        found: The existing files of the wanted kinds.
        is_whole: Whether every folder was scanned.
        unreadable: Folders that cannot be listed or entered; the root is an empty path.
        n_folders: The number of scanned folders.
        too_deep: Folders that were skipped because their paths are too long.
    """

    found: tuple[FoundChanges, ...]
    is_whole: bool = True
    unreadable: tuple[str, ...] = ()
    n_folders: int = 0
    too_deep: tuple[str, ...] = ()


class Listed(msgspec.Struct, frozen=True, weakref=True):
    """The entries of one folder.

    Attributes:
        changed: The folder's inode and times, by which the next scan detects a change.
        names: All names, joined with slashes, because one string needs a fifth of the memory.
        folders: The names of subfolders.
        links: The names of links.
        numbers: The inodes of all entries.
        is_readable: Whether the folder could be listed.
    """

    changed: tuple[int, int, int]
    names: str = ""
    folders: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    numbers: array[int] = array("Q")
    is_readable: bool = True


class Listings:
    """Lists all folders beneath one root; several trees share each listing.

    A listing is cached while a tree uses that listing.

    Args:
        root: The resolved folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._known: weakref.WeakValueDictionary[str, Listed] = weakref.WeakValueDictionary()

    def read(self, at: str) -> Listed | None:
        """Return a folder's present entries, or None if it is gone. Blocks.

        Raises:
            OSError: The system lacks a resource, so the content is unknown.
        """
        path = f"{self._root}/{at}"
        try:
            now = calls.stat(path, follow_symlinks=False)
            if not stat.S_ISDIR(now.st_mode):
                return None
            changed = (now.st_ino, now.st_mtime_ns, now.st_ctime_ns)
            before = self._known.get(at)
            if before is not None and before.changed == changed:
                return before
            if not os.access(path, os.R_OK | os.X_OK):
                return Listed(changed, is_readable=False)
            is_fresh = time.time_ns() - now.st_ctime_ns < FRESH_NS
            with calls.scan(path) as entries:
                listed = _listed((now.st_ino, -1, -1) if is_fresh else changed, entries)
        except OSError as error:
            if error.errno in _SHORT:  # the folder may still exist, although its content is unknown
                raise
            return None if error.errno in GONE else Listed((0, 0, 0), is_readable=False)
        self._known[at] = listed
        return listed


@functools.lru_cache(maxsize=16)
def listings_of(root: Path) -> Listings:
    """Return the listings of a workspace's folders, shared by all scans.

    Without sharing, the scans for nested repositories, protected files and secret files would each
    take a third of a second in a workspace of 200,000 files.

    Args:
        root: The resolved folder.
    """
    return Listings(root)


def _listed(changed: tuple[int, int, int], entries: Iterable[calls.Entry]) -> Listed:
    """Create a folder's listing, which must be small, because there may be very many entries."""
    names: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    numbers = array("Q")
    for one in entries:
        name = one.name
        names.append(name)
        numbers.append(one.inode())
        if one.is_dir(follow_symlinks=False):
            folders.append(name)
        elif one.is_symlink():
            links.append(name)
    return Listed(changed, "/".join(names), tuple(folders), tuple(links), numbers)


class _TreeFolder(msgspec.Struct, frozen=True):
    listed: Listed
    folders: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


class Tree:
    """Finds files of some kinds beneath one folder.

    Args:
        root: The resolved folder.
        is_wanted: Returns whether a path is searched for.
        shut: The names of folders in which only the direct entries are scanned.
        is_ordinary: Returns whether no wanted path contains this name; paths that have only such
            names are skipped quickly.
        with_links: Whether to find all links, too, whatever their names.
        most_folders: The limit of scanned folders.
        listings: Listings of this folder, shared with other trees.
    """

    def __init__(
        self,
        root: Path,
        is_wanted: Callable[[str], bool],
        shut: Collection[str] = (),
        *,
        is_ordinary: Callable[[str], bool] = lambda _name: False,
        with_links: bool = False,
        most_folders: int = MOST_FOLDERS,
        listings: Listings | None = None,
    ) -> None:
        self._most_folders = most_folders
        self._listings = listings or Listings(root)
        self._is_ordinary = is_ordinary
        self._with_links = with_links
        self._root = str(root)
        self._is_wanted = is_wanted
        self._shut = shut
        self._known: dict[str, _TreeFolder] = {}
        self._last: dict[str, FoundChanges] = {}
        self._lock = threading.Lock()

    def look(self, most_folders: int | None = None) -> TreeLook:
        """Scan now; blocks, even while another thread scans.

        Args:
            most_folders: A limit for this scan only.
        """
        with self._lock:
            return self._look(most_folders or self._most_folders)

    def _look(self, most_folders: int) -> TreeLook:
        known: dict[str, _TreeFolder] = {}
        found: dict[str, FoundChanges] = {}
        unreadable: list[str] = []
        too_deep: list[str] = []
        waiting = [""]
        n_entries = 0
        is_whole = True
        for at in waiting:  # the list grows during the loop, so the shallowest folders come first
            if len(known) >= most_folders or n_entries >= MOST_ENTRIES:
                is_whole = False
                break
            if is_too_deep(self._root, at):
                too_deep.append(at)
                continue
            folder = self._read(at)
            if folder is None:
                continue
            known[at] = folder
            n_entries += len(folder.listed.numbers)
            if not folder.listed.is_readable:
                unreadable.append(at)
                continue
            waiting += folder.folders
            found |= {path: one for path in folder.wanted if (one := self._found(path))}
        if unreadable or not is_whole:
            found |= self._again(found, None if not is_whole else tuple(unreadable))
        self._known, self._last = known, found
        return TreeLook(
            tuple(found.values()), is_whole, tuple(unreadable), len(known), tuple(too_deep)
        )

    @property
    def folders(self) -> Collection[str]:
        """Return the folders of the last scan, as relative paths."""
        return self._known.keys()

    def shut_folders(self) -> tuple[str, ...]:
        """Return the folders in which the last scan read only the direct entries."""
        return tuple(at for at in self._known if at.rpartition("/")[2] in self._shut)

    def other_names(self, found: Iterable[FoundChanges]) -> Mapping[str, FoundChanges]:
        """Find other hard links of these files within the last scan; blocks."""
        wanted = {one.stamp.number: one for one in found if one.n_names > 1 and not one.is_folder}
        if not wanted:
            return {}
        known = {one.path for one in wanted.values()}
        holding = [
            at
            for at, one in self._known.items()
            if not wanted.keys().isdisjoint(one.listed.numbers)
        ]
        return {
            path: wanted[number]
            for at in holding
            for path, number in self._numbers(at)
            if number in wanted and path not in known
        }

    def _again(
        self, found: Mapping[str, FoundChanges], beneath: tuple[str, ...] | None
    ) -> dict[str, FoundChanges]:
        """Return files found earlier that this scan could not reach; None means the whole tree."""
        left = (one for path, one in self._last.items() if path not in found)
        if beneath is not None:
            left = (one for one in left if any(_is_in(one.path, at) for at in beneath))
        return {one.path: now for one in left if (now := self._still(one))}

    def _still(self, before: FoundChanges) -> FoundChanges | None:
        try:
            calls.stat(f"{self._root}/{before.path}", follow_symlinks=False)
        except PermissionError:
            return before
        except OSError:
            return None
        return self._found(before.path)

    def _numbers(self, at: str) -> Iterator[tuple[str, int]]:
        front = f"{at}/" if at else ""
        try:
            with calls.scan(f"{self._root}/{at}") as entries:
                yield from [(front + one.name, one.inode()) for one in entries]
        except OSError:  # the file was removed
            return

    def _read(self, at: str) -> _TreeFolder | None:
        listed = self._listings.read(at)
        if listed is None:
            return None
        before = self._known.get(at)
        if before is not None and before.listed is listed:
            return before
        front = f"{at}/" if at else ""
        names = listed.names.split("/") if listed.names else []
        is_ordinary = self._is_ordinary
        if not at or all(map(is_ordinary, at.split("/"))):
            names = [name for name in names if not is_ordinary(name)]
        paths = [front + name for name in names]
        links = [front + name for name in listed.links] if self._with_links else ()
        wanted = tuple(dict.fromkeys((*links, *filter(self._is_wanted, paths))))
        return _TreeFolder(listed, self._below(at, listed.folders, wanted), wanted)

    def _below(self, at: str, folders: Iterable[str], wanted: Collection[str]) -> tuple[str, ...]:
        """Return the subfolders to enter."""
        front, name = (f"{at}/" if at else ""), at.rpartition("/")[2]
        if name in self._shut:
            return ()
        kept = frozenset(wanted)
        return tuple(
            front + name for name in folders if name not in self._shut or front + name not in kept
        )

    def _found(self, at: str) -> FoundChanges | None:
        return found_at(self._root, at)


def _is_in(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def found_at(root: str, at: str) -> FoundChanges | None:
    """Describe the entry at a path below a folder; return None if there is no entry."""
    path = f"{root}/{at}"
    try:
        now = calls.stat(path, follow_symlinks=False)
        leads_to = calls.readlink(path) if stat.S_ISLNK(now.st_mode) else ""
    except OSError:
        return None
    if stat.S_ISDIR(now.st_mode):
        return FoundChanges(at, is_folder=True, stamp=FileStamp(now.st_ino, 0, 0))
    # The modification time is useless, because a program can set it freely.
    stamp = FileStamp(now.st_ino, now.st_size, now.st_ctime_ns)
    return FoundChanges(at, is_folder=False, stamp=stamp, leads_to=leads_to, n_names=now.st_nlink)


def names_in(folder: Path) -> tuple[str, ...]:
    """Return the names in a folder, unordered, or an empty tuple if the folder cannot be read."""
    try:
        return tuple(calls.list_names(folder))
    except OSError:
        return ()
