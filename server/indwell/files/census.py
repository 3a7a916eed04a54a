"""What the files beneath a folder look like to the system: size, times and number of each.

Nothing is read but folders. Links are told as links, and are not followed. A folder that says of
itself that it is a cache (``CACHEDIR.TAG``) is left out. Bounded: what is too much is left out, the
least deep comes first, and ``is_whole`` says so. Blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Facts: TypeAlias = tuple[int, int, int, int, int]
"""Number (inode), bytes, time of the last write and of the last change in ns, mode."""

CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/


class Census(NamedTuple):
    """One look.

    Attributes:
        files: Facts of each regular file and link, by its path from the folder on, with slashes.
        folders: Those that were listed.
        is_whole: It went everywhere.
        closed: Folders that could not be listed.
    """

    files: Mapping[str, Facts]
    folders: frozenset[str] = frozenset()
    is_whole: bool = True
    closed: tuple[str, ...] = ()


def take_census(
    root: str,
    *,
    shut: Collection[str],
    most_files: int,
    before: frozenset[str] = frozenset(),
) -> Census:
    """Look at all files beneath ``root``.

    Args:
        root: The folder, resolved.
        shut: Names of folders and files that are left out, wherever they are; with a slash in it,
            a path from the folder on.
        most_files: When so many are found it ends.
        before: Folders that were listed before: they are again, even if they are caches by now.
    """
    files: dict[str, Facts] = {}
    listed: set[str] = set()
    closed: list[str] = []
    waiting = [""]
    is_whole = True
    for at in waiting:  # grows meanwhile: the least deep first
        if len(files) > most_files:
            is_whole = False
            break
        try:
            here, below = _list(root, at, shut)
        except OSError:  # closed to us, or gone since
            closed.append(at)
            continue
        if f"{at}/{CACHE_TAG}".lstrip("/") in here and at not in before:
            continue
        files.update(here)
        waiting += below
        listed.add(at)
    return Census(files, frozenset(listed), is_whole, tuple(closed))


def is_gone(root: str, at: str) -> bool:
    """Is no file at a path below a folder any more, as far as it can be seen? Through no link."""
    folder = f"{root}/{at}".rpartition("/")[0]
    if os.path.realpath(folder) != folder:
        return True
    try:
        found = os.stat(f"{root}/{at}", follow_symlinks=False)  # noqa: PTH116 - a third of the time
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # closed to us
        return False
    return stat.S_ISDIR(found.st_mode)


def is_link(facts: Facts) -> bool:
    """Is it a link?"""
    return stat.S_ISLNK(facts[4])


def _list(root: str, at: str, shut: Collection[str]) -> tuple[Mapping[str, Facts], Sequence[str]]:
    """The files right in a folder, and the folders."""
    front = f"{at}/" if at else ""
    files: dict[str, Facts] = {}
    below: list[str] = []
    with os.scandir(f"{root}/{at}") as entries:
        for one in entries:
            path = front + one.name
            if one.name in shut or path in shut:
                continue
            if one.is_dir(follow_symlinks=False):
                below.append(path)
                continue
            try:
                found = one.stat(follow_symlinks=False)
            except OSError:  # gone since
                continue
            if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                files[path] = facts_of(found)
    return files, below


def facts_of(found: os.stat_result) -> Facts:
    """Facts of what the system tells."""
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode
