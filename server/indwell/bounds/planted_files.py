"""Moves away files that a confined command planted at guarded paths, and reports them.

Mounts protect the paths that exist when a command begins. This module handles files that the
command creates later. It also handles files whose mount was lost because the editor saved them
during the command.
"""

from __future__ import annotations

import bisect
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.bounds.git_obeyed_files import SAMPLE, Copy
from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import resolved_here
from indwell.files.listing import exists
from indwell.files.quarantine import (
    NotRemoved,
    Quarantine,
    error_reason,
    named,
    put_file,
    put_link,
    restore_access,
)
from indwell.files.spelling import quoted
from indwell.files.watch.tree import FoundChanges
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.guarded_paths import (
    is_bare,
    is_guarded,
    is_obeyed_by_git,
    is_posing,
    is_set_aside,
    set_aside_name,
    topmost,
)
from indwell.policy.paths import is_at_root_unknown, is_protected
from indwell.sandbox.gate import StandingPlant, close
from indwell.workspace.git.git_config import executing

_MOST_B = 1 << 20
_MOST_OPENED = 100
_MOST_ROUNDS = 5  # the limit of rounds, because a running program may create files again and again
# a line of a rebase's steps that runs a program
_RUNS = lazy_pattern(r"^\s*(?:x|exec)\s", re.MULTILINE)
_CONFIGURATIONS = frozenset({"config", "config.worktree"})

_GIT, _COMMON, _TO_FOLDER = ".git", "commondir", "gitdir:"
_WAYS = frozenset({_GIT, _COMMON})


class GuardedLook(msgspec.Struct, frozen=True):
    """The guarded paths of a folder at one time, relative to the folder.

    Attributes:
        found: Existing guarded paths.
        git: Paths that git obeys, even if no file is there.
        repositories: For each folder with a repository, the paths that git obeys, without targets
            of links.
        ends: Targets of protected links, even if no file is there.
        odd: Paths that are guarded only because everything in their folder is guarded.
        todos: The remaining steps of rebases in progress.
        closed: Folders that cannot be read.
        is_whole: Whether everything was scanned.
        n_installed: The number of scanned folders of installed files.
        too_deep: Folders that were skipped because their paths are too long.
        folds: Whether the disk ignores the case of file names.
    """

    found: Mapping[str, FoundChanges]
    git: frozenset[str] = frozenset()
    repositories: Mapping[str, tuple[str, ...]] = {}
    ends: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    todos: Mapping[str, FoundChanges] = {}
    closed: tuple[str, ...] = ()
    is_whole: bool = True
    n_installed: int = 0
    too_deep: tuple[str, ...] = ()
    folds: bool = False

    def is_head(self, path: str) -> bool:
        """Return whether the file only contains the name of a repository's current branch."""
        folder, _, name = path.rpartition("/")
        return is_bare(name, folds=self.folds) and f"{folder}/config".removeprefix("/") in self.git

    def is_git(self, path: str) -> bool:
        """Return whether the path is in a `.git` folder, or can make its folder a repository."""
        return ".git" in path.split("/") or is_bare(path.rpartition("/")[2], folds=self.folds)

    def is_closed(self, path: str) -> bool:
        """Return whether the path is in a folder that cannot be read."""
        return any(path.startswith(f"{one}/") for one in self.closed)


def without(look: GuardedLook, folders: Sequence[str]) -> GuardedLook:
    """Return a copy without these folders and their contents."""
    found = {
        path: one
        for path, one in look.found.items()
        if not any(path == folder or path.startswith(f"{folder}/") for folder in folders)
    }
    return msgspec.structs.replace(look, found=found) if folders else look


def settle(
    root: Path,
    before: GuardedLook,
    look: Callable[[], GuardedLook],
    quarantine: Quarantine,
    copies: Mapping[str, Copy],
    *,
    only_git: bool = False,
    so_far: bool = False,
) -> tuple[str, ...]:
    """Move new files away, restore links and files that git obeys; return a report. Blocks.

    The report begins with the files that could not be restored.

    The scan repeats until no new file is found. If a file cannot be removed, no command runs until
    that file is gone.

    Args:
        root: The folder.
        before: The guarded paths when the command began.
        look: Returns the present guarded paths.
        quarantine: The folder for moved files.
        copies: The contents of the files that git obeys.
        only_git: Whether the command was allowed to change all other files.
        so_far: Whether the command still runs; if so, failures are reported when the command ends.
    """
    first: dict[str, None] = {}
    notes: dict[str, None] = {}
    for is_last in (*[False] * _MOST_ROUNDS, True):
        after = look() if so_far else _look_inside(root, before, look)
        settling = _Settling(
            *(root, before, after, quarantine, copies),
            only_git=only_git,
            so_far=so_far,
            is_last=is_last,
        )
        notes |= dict.fromkeys(settling.notes())
        first |= dict.fromkeys(settling.urgent)
        if not settling.n_moved:
            break
    return tuple(dict.fromkeys((*first, *notes)))


def newly_closed(before: GuardedLook, after: GuardedLook) -> tuple[str, ...]:
    """Return the folders that were readable before the command began, but are not any more."""
    return tuple(at for at in after.closed if at not in before.closed and not before.is_closed(at))


def _look_inside(root: Path, before: GuardedLook, look: Callable[[], GuardedLook]) -> GuardedLook:
    """Scan again, including folders that the command has closed, and the folders in them."""
    after = look()
    for _ in range(_MOST_OPENED):
        opened = [restore_access(root, at) for at in newly_closed(before, after)]
        if not any(opened):
            break
        after = look()
    return after


_UNKNOWN = (
    ". Indwell does not know this name: if no tool loads it, add the name to `harmless_names` of "
    "your own settings"
)


class _Settling:
    def __init__(
        self,
        root: Path,
        before: GuardedLook,
        after: GuardedLook,
        quarantine: Quarantine,
        copies: Mapping[str, Copy],
        *,
        only_git: bool,
        so_far: bool,
        is_last: bool,
    ) -> None:
        self.n_moved = 0
        self.urgent: list[str] = []  # the sentences about files that could not be removed
        self._root = root
        self._before = before
        self._after = after
        self._quarantine = quarantine
        self._copies = copies
        self._only_git = only_git
        self._so_far = so_far
        self._is_last = is_last
        self._git = before.git | after.git
        # The user may own the targets of new links and repositories, so only the links and
        # repositories are moved.
        self._by_git = before.git | frozenset(_obeyed_now(before, after))
        self._is_named = before.ends | before.odd | after.odd
        self._sorted = sorted(after.found)

    def notes(self) -> Iterator[str]:
        """Restore each changed path as far as possible; yield a sentence for each path."""
        for at in newly_closed(self._before, self._after):
            if not self._so_far:
                yield self._stands(at, "", "the system denies permission")
        if not self._after.is_whole:
            yield (
                "the workspace now contains so many folders that no command runs in the sandbox "
                "until there are fewer; tell the user"
            )
        yield from self._changed()
        for path, now in self._after.todos.items():
            if not _is_same(now, self._before.todos.get(path)) and self._runs_lines(path):
                yield self._moved_away(path)
        deep = () if self._so_far else self._after.too_deep
        yield from map(self._too_deep, deep)
        new = [
            path
            for path in self._after.found
            if path not in self._before.found and path not in deep and self._is_guarded(path)
        ]
        for path in topmost(new):
            if self._before.is_closed(path):
                continue  # The file may have existed before the command.
            yield from self._made(path)

    def _changed(self) -> Iterator[str]:
        before, after = self._before.found, self._after.found
        for path, was in before.items():
            now = after.get(path)
            if not self._is_guarded(path) or _is_same(was, now) or self._before.is_closed(path):
                continue
            if now is not None and self._before.is_head(path):
                continue
            if path in self._copies:
                yield from self._restored(path, now)
            elif was.leads_to:
                yield self._put_back(was, now)
            elif self._so_far:
                continue
            elif now is not None:
                yield (
                    f"{path!r} changed while the command ran, which it may not change; "
                    "tell the user"
                )
            elif not any(one in before and one not in after for one in _parents(path)):
                yield f"{path!r} is gone, which commands may not remove; tell the user"

    def _made(self, path: str) -> Iterator[str]:
        if self._is_harmless(path):
            return
        # An `.npmrc` is moved even if it is secret, because programs obey it.
        if is_set_aside(path):
            yield self._moved_away(path)
        elif not self._so_far:
            yield f"the command made {path!r}; check it before a program loads it"

    def _too_deep(self, path: str) -> str:
        """Move away a folder that is too deep to be read; the command must have created it."""
        made = f"the command made {named(path)}, a folder that is too deep to check"
        where = self._taken(path, made)
        match where:
            case str():
                return where
            case None:
                return f"{made}; it no longer exists"
            case Path():
                return f"{made}, so it was moved out of the workspace, to {quoted(where)}"

    def _is_guarded(self, path: str) -> bool:
        folder = path.rpartition("/")[0]
        if self._after.is_git(path) or not self._by_git.isdisjoint((path, folder)):
            return True
        return not self._only_git and (path in self._is_named or is_guarded(path))

    def _restored(self, path: str, now: FoundChanges | None) -> Iterator[str]:
        """Restore the files that git obeys, if git would now behave differently."""
        copy = self._copies[path]
        if now is not None and path.rpartition("/")[2] in _CONFIGURATIONS:
            text = _text(self._root, path)
            if text is not None and executing(text) == executing(_decoded(copy.data)):
                return  # Git and the user's tools also write this file, which only names a branch.
        if now is not None and self._is_as_it_was(path, copy):
            return
        said = f"{path!r} changed while the command ran, which git obeys"
        where: Path | str | None = None
        if now is not None:
            where = self._taken(path)
            if isinstance(where, str):
                with contextlib.suppress(OSError, ToolError):
                    put_file(self._root, path, copy.data, copy.mode)
                yield where
                return
        try:
            put_file(self._root, path, copy.data, copy.mode)
        except (OSError, ToolError) as error:
            yield f"{said}, and it could not be put back ({error}); tell the user"
            return
        now_called = f", and what replaced it is now {quoted(where)}" if where else ""
        yield f"{said}, so it is as it was{now_called}; tell the user"

    def _is_as_it_was(self, path: str, copy: Copy) -> bool:
        with contextlib.suppress(OSError, ToolError):
            mode = (self._root / path).lstat().st_mode & 0o777
            return (
                mode == copy.mode
                and read_bytes(self._root / path, (self._root,), _MOST_B) == copy.data
            )
        return False

    def _put_back(self, was: FoundChanges, now: FoundChanges | None) -> str:
        said = f"the link {was.path!r} was replaced, which commands may not do"
        where: Path | str | None = None
        if now is not None:
            where = self._taken(was.path)
            if isinstance(where, str):
                return where
        try:
            put_link(self._root, was.path, was.leads_to)
        except (OSError, ToolError):
            return f"{said}; it could not be put back; tell the user"
        replaced = f", and what replaced it is now {quoted(where)}" if where else ""
        return f"{said}; it is as it was{replaced}"

    def _moved_away(self, path: str) -> str:
        where = self._taken(path)
        match where:
            case str():
                return where
            case None:
                return f"the command made {path!r}, which it may not; the file no longer exists"
            case Path():
                return (
                    f"the command made {path!r}, which editors, agents, shells or git may obey, so "
                    f"it was moved out of the workspace, to {quoted(where)}; tell the user, who "
                    f"can move it back{_UNKNOWN if self._is_unknown(path) else ''}"
                )

    def _is_unknown(self, path: str) -> bool:
        """Return whether the file is moved only because its name is unknown."""
        is_at_root = is_at_root_unknown(path) or path in self._after.odd
        return is_at_root and not is_protected(path) and not is_posing(path)

    def _taken(self, path: str, made: str = "") -> Path | str | None:
        """Move a file away; return its new path, None if there is no file, or the problem.

        Args:
            path: The path of the file.
            made: A clause about what the command did; by default, that programs may obey the file.
        """
        made = made or (f"the command made {path!r}, which editors, agents, shells or git may obey")
        safe_name = set_aside_name(path.rpartition("/")[2])
        if self._is_last:  # another program removed the file each time
            return self._stands(path, safe_name, "a program makes it again each time", made)
        try:
            where = self._quarantine.take(self._root, path, safe_name)
        except (OSError, ToolError) as error:
            return self._stands(path, safe_name, error_reason(error), made)
        if isinstance(where, NotRemoved):
            return self._stands(where.at, safe_name, where.why, made, is_renamed=True)
        self.n_moved += 1
        return where

    def _stands(
        self, at: str, safe_name: str, reason: str, made: str = "", *, is_renamed: bool = False
    ) -> str:
        """Block all commands until the file is gone; return the sentence about the file."""
        close(StandingPlant(str(self._root), at, safe_name, reason), self._quarantine)
        if not safe_name:
            said = f"{named(at)} cannot be read any more ({reason})"
        else:
            now = f"; it is now {named(at)}" if is_renamed else ""
            said = f"{made}, and it could not be moved away ({reason}){now}"
        said += (
            ". No command runs here until it is gone: tell the user, who can look at it and "
            "remove it, or move it out of the workspace"
        )
        self.urgent.append(said)
        return said

    def _is_harmless(self, path: str) -> bool:
        """Return whether the path is a repository, or a part of one, that runs no program."""
        above, slash, name = path.rpartition("/")
        if is_bare(name, folds=self._after.folds):
            folder = above + slash
            is_elsewhere = exists(self._root / f"{folder}commondir")
            has_own = exists(self._root / f"{folder}config")
            return not is_elsewhere and (not has_own or self._runs_nothing(f"{folder}config"))
        parts = path.split("/")
        if ".git" not in parts and path not in self._git and "/".join(parts[:-1]) not in self._git:
            return False
        return all(self._is_plain(one) for one in self._inside(path))

    def _is_plain(self, path: str) -> bool:
        one, name = self._after.found[path], path.rpartition("/")[2]
        if one.leads_to:
            return False
        if one.is_folder:
            return name != "modules"
        if name in _CONFIGURATIONS:
            return self._runs_nothing(path)
        return name.endswith(SAMPLE) or (name in _WAYS and self._leads_home(path))

    def _leads_home(self, path: str) -> bool:
        """Return whether this is git's own `.git` file, of a working tree of a known repository."""
        text = _text(self._root, path)
        folder, _, name = path.rpartition("/")
        if self._so_far and text == "":
            return True  # Git is about to write the file, which is still empty and leads nowhere.
        if text is None or (name == _GIT and not text.startswith(_TO_FOLDER)):
            return False
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            led = self._root / folder / text.removeprefix(_TO_FOLDER).strip()
            real = resolved_here(led, (self._root,))
            at = real.relative_to(self._root).as_posix()
            if name == _GIT and self._so_far and not exists(real / _COMMON):
                # Git writes this file last; before that, git obeys only the files in the folder.
                above = at.rpartition("/worktrees/")[0]
                return f"{above}/config" in self._before.git and not exists(real / "config")
            if name == _GIT:
                return self._leads_home(f"{at}/{_COMMON}")
            return f"{at}/config" in self._before.git
        return False

    def _inside(self, path: str) -> Iterator[str]:
        at = bisect.bisect_left(self._sorted, path)
        if at < len(self._sorted) and self._sorted[at] == path:
            yield path
        at = bisect.bisect_left(self._sorted, f"{path}/")
        while at < len(self._sorted) and self._sorted[at].startswith(f"{path}/"):
            yield self._sorted[at]
            at += 1

    def _runs_lines(self, path: str) -> bool:
        text = _text(self._root, path)
        return text is None or _RUNS.search(text) is not None

    def _runs_nothing(self, path: str) -> bool:
        text = _text(self._root, path)
        return text is not None and not executing(text).lines


def _obeyed_now(before: GuardedLook, after: GuardedLook) -> Iterator[str]:
    """Return the paths that existing repositories obey, and those inside new repositories."""
    for holder, names in after.repositories.items():
        front = f"{holder}/" if holder else ""
        for name in names:
            own = name.removeprefix(front)
            if holder in before.repositories or own.startswith(".git/") or is_obeyed_by_git(own):
                yield name


def _is_same(was: FoundChanges, now: FoundChanges | None) -> bool:
    if now is None or now.leads_to != was.leads_to:
        return False
    return bool(was.leads_to) or now.stamp == was.stamp


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _text(root: Path, path: str) -> str | None:
    try:
        return _decoded(read_bytes(root / path, (root,), _MOST_B))
    except ToolError:
        return None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
