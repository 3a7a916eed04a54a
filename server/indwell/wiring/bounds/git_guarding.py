"""Keeps track of what git obeys beneath a folder, with copies to restore.

Git is followed as it goes itself (``workspace.git.repository``), and again only for a repository of
which something changed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files import read_bytes
from indwell.files.watch.tree import FileStamp, FoundChanges, found_at, names_in
from indwell.policy.guarded import BARE, GIT_OBEYS
from indwell.workspace.git.repository import is_bare, places_of

SAMPLE = ".sample"  # git makes such hooks, and runs none
KEPT_B = 256 << 10  # of one file
MOST_KEPT = 500
_GIT = ".git"
_TODO = "rebase-merge/git-rebase-todo"

_State: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class Copy(msgspec.Struct, frozen=True):
    """What a file held.

    Attributes:
        data: All of it.
        mode: Who may do what with it.
        stamp: What told that it is still that.
    """

    data: bytes
    mode: int
    stamp: FileStamp


class GitGuard:
    """Over one folder.

    Args:
        root: The folder, resolved.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[_State, tuple[str, ...]]] = {}
        self._copies: dict[str, Copy] = {}

    def names(self, found: Iterable[FoundChanges]) -> Mapping[str, tuple[str, ...]]:
        """All that git obeys, be it there or not, of each folder that holds a repository; blocks.

        Args:
            found: What a look found, of which repositories are taken.
        """
        holders = dict.fromkeys(filter(self._holds, map(_above, filter(_is_sign, found))))
        self._known = {one: self._known[one] for one in holders if one in self._known}
        return {one: self._of(one) for one in holders}

    def there(self, names: Iterable[str]) -> Iterator[FoundChanges]:
        """Those that stand there, and of folders what stands in them."""
        for name in names:
            one = found_at(str(self._root), name)
            if one is None:
                continue
            yield one
            if one.is_folder and _is_listed(name):
                yield from self._in(name)

    def todos(self, names: Iterable[str]) -> Mapping[str, FoundChanges]:
        """What rebases that are under way still have to do: git runs some lines of it."""
        folders = {_above_of(one) for one in names if one.rpartition("/")[2] == "config"}
        paths = (f"{folder}/{_TODO}".removeprefix("/") for folder in folders)
        found = (found_at(str(self._root), path) for path in paths)
        return {one.path: one for one in found if one is not None}

    def copies(
        self, found: Mapping[str, FoundChanges], names: frozenset[str]
    ) -> Mapping[str, Copy]:
        """What the files of these names hold, to put it back; blocks."""
        kept: dict[str, Copy] = {}
        for path, one in found.items():
            is_ours = path in names or path.rpartition("/")[0] in names
            if not is_ours or one.is_folder or one.leads_to or len(kept) >= MOST_KEPT:
                continue
            known = self._copies.get(path)
            if known is None or known.stamp != one.stamp:
                known = self._copy(one)
            if known is not None:
                kept[path] = known
        self._copies = kept
        return kept

    def _copy(self, one: FoundChanges) -> Copy | None:
        path = self._root / one.path
        with contextlib.suppress(ToolError, OSError):
            mode = path.lstat().st_mode & 0o777
            return Copy(read_bytes(path, (self._root,), KEPT_B), mode, one.stamp)
        return None

    def _holds(self, holder: str) -> bool:
        folder = self._root / holder
        return os.path.lexists(folder / _GIT) or is_bare(folder)

    def _of(self, holder: str) -> tuple[str, ...]:
        known = self._known.get(holder)
        if known is None or self._state(holder, known[1]) != known[0]:
            names = tuple(dict.fromkeys(self._follow(holder)))
            known = (self._state(holder, names), names)
            self._known[holder] = known
        return known[1]

    def _follow(self, holder: str) -> Iterator[str]:
        front = f"{holder}/" if holder else ""
        if (self._root / holder / _GIT).is_dir():
            yield from (f"{front}{_GIT}/{name}" for name in GIT_OBEYS)
        for path in places_of(self._root / holder, self._root).obeyed:
            real = Path(path)
            # Its HEAD tells which branch it is on.
            if real.is_relative_to(self._root) and real != self._root and real.name != BARE:
                yield real.relative_to(self._root).as_posix()

    def _state(self, holder: str, names: Iterable[str]) -> _State:
        """What changes if what git obeys could have changed."""
        front = f"{holder}/" if holder else ""
        folders = dict.fromkeys(name.rpartition("/")[0] for name in names)
        places = (holder, f"{front}{_GIT}", *folders, *names)
        return tuple(_stat(f"{self._root}/{one}") for one in places)

    def _in(self, at: str) -> Iterator[FoundChanges]:
        """Hooks that git runs, and what else is obeyed as a whole folder."""
        for name in names_in(self._root / at):
            if not name.endswith(SAMPLE) and (one := found_at(str(self._root), f"{at}/{name}")):
                yield one


def _is_sign(one: FoundChanges) -> bool:
    return one.path.rpartition("/")[2] in {_GIT, BARE}


def _is_listed(name: str) -> bool:
    return name.rpartition("/")[2] not in {"modules", "worktrees"}


def _above(one: FoundChanges) -> str:
    return _above_of(one.path)


def _above_of(path: str) -> str:
    return path.rpartition("/")[0]


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        now = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - twenty for each repository
    except (OSError, ValueError):
        return None
    return (now.st_ino, now.st_mtime_ns, now.st_ctime_ns)
