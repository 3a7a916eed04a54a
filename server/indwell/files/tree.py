"""Find the files of some kinds beneath a folder, again and again: only what changed is read again.

A folder whose time of change is as it was has the same names, so its list is kept. What is in the
files does not matter here. Links are not followed. Bounded: what is too deep or too much is left
out, the least deep comes first, and ``is_whole`` says so.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import msgspec

MOST_FOLDERS = 4_000  # 5 ms when nothing changed; the first time about a second
MOST_ENTRIES = 100_000


class Stamp(msgspec.Struct, frozen=True):
    """What tells that a file is another one, or holds something else."""

    number: int
    size_b: int
    changed_ns: int


class Found(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        path: From the folder on, with slashes.
        is_folder: It is one; a link is none.
        leads_to: Where it leads, as written, if it is a link.
        stamp: As it stands now; of a folder only its number counts.
        n_names: How many names the file has, anywhere.
    """

    path: str
    is_folder: bool
    stamp: Stamp
    leads_to: str = ""
    n_names: int = 1


class Seen(msgspec.Struct, frozen=True):
    """One look."""

    found: tuple[Found, ...]
    is_whole: bool = True


class _Folder(msgspec.Struct, frozen=True):
    changed: tuple[int, int, int]
    folders: tuple[str, ...]
    wanted: tuple[str, ...]
    numbers: Mapping[str, int]


class Tree:
    """The files beneath one folder.

    Args:
        root: The folder, resolved.
        is_wanted: Is this path of a kind that is looked for?
        shut: Names of folders that are not entered.
        with_links: Links are looked for too, whatever they are called.
    """

    def __init__(
        self,
        root: Path,
        is_wanted: Callable[[str], bool],
        shut: Collection[str] = (),
        *,
        with_links: bool = False,
    ) -> None:
        self._with_links = with_links
        self._root = str(root)
        self._is_wanted = is_wanted
        self._shut = shut
        self._known: dict[str, _Folder] = {}

    def look(self) -> Seen:
        """Look now; blocks."""
        known: dict[str, _Folder] = {}
        found: list[Found] = []
        waiting = [""]
        n_entries = 0
        is_whole = True
        for at in waiting:  # grows meanwhile: the least deep first
            if len(known) >= MOST_FOLDERS or n_entries >= MOST_ENTRIES:
                is_whole = False
                break
            folder = self._read(at)
            if folder is None:
                continue
            known[at] = folder
            n_entries += len(folder.numbers)
            waiting += folder.folders
            found += filter(None, map(self._found, folder.wanted))
        self._known = known
        return Seen(tuple(found), is_whole)

    def other_names(self, found: Iterable[Found]) -> Mapping[str, Found]:
        """Other names (hard links) of these files, as far as the last look went."""
        wanted = {one.stamp.number: one for one in found if one.n_names > 1 and not one.is_folder}
        if not wanted:
            return {}
        known = {one.path for one in wanted.values()}
        return {
            path: wanted[number]
            for folder in self._known.values()
            for path, number in folder.numbers.items()
            if number in wanted and path not in known
        }

    def _read(self, at: str) -> _Folder | None:
        path = f"{self._root}/{at}"
        try:
            now = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a third of the time
            if not stat.S_ISDIR(now.st_mode):
                return None
            changed = (now.st_ino, now.st_mtime_ns, now.st_ctime_ns)
            before = self._known.get(at)
            if before is not None and before.changed == changed:
                return before
            with os.scandir(path) as entries:
                listed = [
                    (one.name, one.is_dir(follow_symlinks=False), one.inode(), one.is_symlink())
                    for one in entries
                ]
        except OSError:  # gone, or not for us
            return None
        front = f"{at}/" if at else ""
        return _Folder(
            changed,
            tuple(
                front + name
                for name, is_folder, _, _ in listed
                if is_folder and name not in self._shut
            ),
            tuple(
                front + name
                for name, _, _, is_link in listed
                if (is_link and self._with_links) or self._is_wanted(front + name)
            ),
            {front + name: number for name, _, number, _ in listed},
        )

    def _found(self, at: str) -> Found | None:
        return found_at(self._root, at)


def found_at(root: str, at: str) -> Found | None:
    """What stands at a path below a folder; None for nothing."""
    path = f"{root}/{at}"
    try:
        now = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - as above
        leads_to = os.readlink(path) if stat.S_ISLNK(now.st_mode) else ""  # noqa: PTH115 - as above
    except OSError:
        return None
    if stat.S_ISDIR(now.st_mode):
        return Found(at, is_folder=True, stamp=Stamp(now.st_ino, 0, 0))
    # Not the time of the last write, which a program can set as it likes.
    stamp = Stamp(now.st_ino, now.st_size, now.st_ctime_ns)
    return Found(at, is_folder=False, stamp=stamp, leads_to=leads_to, n_names=now.st_nlink)


def names_in(folder: Path) -> tuple[str, ...]:
    """The names in a folder, in no order; none if it cannot be read."""
    try:
        return tuple(os.listdir(folder))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return ()
