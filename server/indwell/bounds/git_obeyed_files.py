"""Tracks the files beneath a folder that git obeys, and keeps copies to restore them.

Git's own rules decide which files git obeys (``workspace.git.repository``). A repository is read
again only after a change.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import folds_case
from indwell.files.system import calls
from indwell.files.watch.tree import FileStamp, FoundChanges, found_at, names_in
from indwell.policy.guarded_paths import GIT_OBEYS
from indwell.policy.guarded_paths import is_bare as is_head
from indwell.workspace.git.repository import is_bare, places_of

SAMPLE = ".sample"  # the suffix of example hooks, which git creates and never runs
KEPT_B = 256 << 10  # the limit of bytes for one copied file
MOST_KEPT = 500
_GIT = ".git"
_TODO = "rebase-merge/git-rebase-todo"

_State: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class Copy(msgspec.Struct, frozen=True):
    """A copy of a file that git obeys.

    Attributes:
        data: The content.
        mode: The file's permission bits.
        stamp: The stat values; a file with equal values counts as unchanged.
    """

    data: bytes
    mode: int
    stamp: FileStamp


class GitGuard:
    """Finds and copies the files that git obeys beneath one folder.

    Args:
        root: The resolved folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folds = folds_case(str(root))
        self._known: dict[str, tuple[_State, tuple[str, ...]]] = {}
        self._copies: dict[str, Copy] = {}

    def names(self, found: Iterable[FoundChanges]) -> Mapping[str, tuple[str, ...]]:
        """Return all paths that git obeys, by repository folder, even paths without a file; blocks.

        Args:
            found: The paths of a scan, which contain the repositories.
        """
        holders = dict.fromkeys(filter(self._holds, map(_above, filter(self._is_sign, found))))
        self._known = {one: self._known[one] for one in holders if one in self._known}
        return {one: self._of(one) for one in holders}

    def there(self, names: Iterable[str]) -> Iterator[FoundChanges]:
        """Return the existing paths, and the contents of the folders among these paths."""
        for name in names:
            one = found_at(str(self._root), name)
            if one is None:
                continue
            yield one
            if one.is_folder and _is_listed(name):
                yield from self._in(name)

    def todos(self, names: Iterable[str]) -> Mapping[str, FoundChanges]:
        """Return the remaining steps of rebases in progress; git runs some steps as commands."""
        folders = {_above_of(one) for one in names if one.rpartition("/")[2] == "config"}
        paths = (f"{folder}/{_TODO}".removeprefix("/") for folder in folders)
        found = (found_at(str(self._root), path) for path in paths)
        return {one.path: one for one in found if one is not None}

    def copies(
        self, found: Mapping[str, FoundChanges], names: frozenset[str]
    ) -> Mapping[str, Copy]:
        """Return copies of the files of these names; blocks."""
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

    def _is_sign(self, one: FoundChanges) -> bool:
        name = one.path.rpartition("/")[2]
        return name == _GIT or is_head(name, folds=self._folds)

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
            # The file HEAD of a repository contains only the name of its branch.
            says_branch = is_head(real.name, folds=self._folds)
            if real.is_relative_to(self._root) and real != self._root and not says_branch:
                yield real.relative_to(self._root).as_posix()

    def _state(self, holder: str, names: Iterable[str]) -> _State:
        """Return values that change whenever git may obey other files."""
        front = f"{holder}/" if holder else ""
        folders = dict.fromkeys(name.rpartition("/")[0] for name in names)
        places = (holder, f"{front}{_GIT}", *folders, *names)
        return tuple(_stat(f"{self._root}/{one}") for one in places)

    def _in(self, at: str) -> Iterator[FoundChanges]:
        """Return the hooks that git runs, and the folders in which git obeys every file."""
        for name in names_in(self._root / at):
            if not name.endswith(SAMPLE) and (one := found_at(str(self._root), f"{at}/{name}")):
                yield one


def _is_listed(name: str) -> bool:
    return name.rpartition("/")[2] not in {"modules", "worktrees"}


def _above(one: FoundChanges) -> str:
    return _above_of(one.path)


def _above_of(path: str) -> str:
    return path.rpartition("/")[0]


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        now = calls.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return (now.st_ino, now.st_mtime_ns, now.st_ctime_ns)
