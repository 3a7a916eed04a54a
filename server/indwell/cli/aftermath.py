"""What a confined command did to guarded files although it may not: put aside, and said.

Mounts hold what is there when a command begins. Names that it makes only then, and files whose
mount was lost because the editor saved them meanwhile, are looked at here.
"""

from __future__ import annotations

import bisect
import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.cli.git_guarding import SAMPLE, Copy
from indwell.errors import ToolError
from indwell.files.aside import put_aside, put_file, put_link
from indwell.files.listing import exists
from indwell.files.reading import read_bytes
from indwell.files.tree import Found
from indwell.policy.guarded import BARE, is_guarded, is_set_aside, set_aside_name, topmost
from indwell.workspace.git_config import executing

log = logging.getLogger(__name__)

MOST_NOTES = 20  # a command can make thousands of such files, and a person reads few
_MOST_B = 1 << 20
_RUNS = re.compile(r"^\s*(?:x|exec)\s", re.MULTILINE)  # in what a rebase has to do
_CONFIGURATIONS = frozenset({"config", "config.worktree"})

_GIT, _COMMON, _TO_FOLDER = ".git", "commondir", "gitdir:"
_WAYS = frozenset({_GIT, _COMMON})


class Look(msgspec.Struct, frozen=True):
    """What is guarded in a folder, at one time. Paths begin at the folder.

    Attributes:
        found: What is there.
        git: What git obeys, whatever its name, be it there or not.
        ends: What protected links lead to, be it there or not.
        todos: What rebases that are under way still have to do.
        closed: Folders that cannot be looked into.
        is_whole: It went everywhere.
    """

    found: Mapping[str, Found]
    git: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    todos: Mapping[str, Found] = {}
    closed: tuple[str, ...] = ()
    is_whole: bool = True

    def is_head(self, path: str) -> bool:
        """Does it say no more than which branch a repository is on?"""
        folder, _, name = path.rpartition("/")
        return name == BARE and f"{folder}/config".removeprefix("/") in self.git

    def is_closed(self, path: str) -> bool:
        """Does it lie in a folder that cannot be looked into?"""
        return any(path.startswith(f"{one}/") for one in self.closed)


def without(look: Look, folders: Sequence[str]) -> Look:
    """The same but for these folders and what is in them."""
    found = {
        path: one
        for path, one in look.found.items()
        if not any(path == folder or path.startswith(f"{folder}/") for folder in folders)
    }
    return msgspec.structs.replace(look, found=found) if folders else look


def settle(
    root: Path,
    before: Look,
    after: Look,
    is_secret: Callable[[str], bool],
    copies: Mapping[str, Copy],
    *,
    only_git: bool = False,
    so_far: bool = False,
) -> tuple[str, ...]:
    """Put aside what is new, and put back links and what git obeys; a sentence for each. Blocks.

    Args:
        root: The folder.
        before: How it was when the command began.
        after: How it is now.
        is_secret: Is this path that of a secret file? It keeps its name, whoever made it.
        copies: What the files held that git obeys.
        only_git: All others the command was allowed to change.
        so_far: It still runs: what cannot be mended is said when it has ended.
    """
    settling = _Settling(root, before, after, is_secret, copies, only_git=only_git, so_far=so_far)
    notes = tuple(settling.notes())
    for note in notes:
        log.warning("%s", note)
    if len(notes) <= MOST_NOTES:
        return notes
    return (*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES:,} more of this kind")


class _Settling:
    def __init__(
        self,
        root: Path,
        before: Look,
        after: Look,
        is_secret: Callable[[str], bool],
        copies: Mapping[str, Copy],
        *,
        only_git: bool,
        so_far: bool,
    ) -> None:
        self._root = root
        self._before = before
        self._after = after
        self._is_secret = is_secret
        self._copies = copies
        self._only_git = only_git
        self._so_far = so_far
        self._git = before.git | after.git
        self._ends = before.ends | after.ends
        self._sorted = sorted(after.found)

    def notes(self) -> Iterator[str]:
        """A sentence for each change, once it is mended as well as it can be."""
        for at in self._after.closed:
            if at not in self._before.closed and not self._before.is_closed(at):
                yield f"{at!r} cannot be looked into any more; tell the user, who may look there"
        if not self._after.is_whole:
            yield (
                "the workspace holds so many folders by now that not all could be looked at for "
                "what the command may not change; until there are fewer no command runs in the "
                "sandbox; tell the user"
            )
        yield from self._changed()
        for path, now in self._after.todos.items():
            if not _is_same(now, self._before.todos.get(path)) and self._runs_lines(path):
                yield _put_aside(self._root, path)
        new = [
            path
            for path in self._after.found
            if path not in self._before.found and self._is_guarded(path)
        ]
        for path in topmost(new):
            if self._before.is_closed(path):
                continue  # nobody knows since when it is there
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
                yield _put_back(self._root, was, now)
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
        is_secret = self._is_secret(path)
        if self._is_harmless(path) or (self._so_far and (is_secret or not is_set_aside(path))):
            return
        if is_secret:
            yield f"{path!r} appeared, which looks like a secret file; commands no longer see it"
        elif is_set_aside(path):
            yield _put_aside(self._root, path)
        else:
            yield f"the command made {path!r}; look at it before anything obeys it"

    def _is_guarded(self, path: str) -> bool:
        is_gits = path in self._git or ".git" in path.split("/") or path.endswith(f"/{BARE}")
        if is_gits or path == BARE or path.rpartition("/")[0] in self._git:
            return True
        return not self._only_git and (path in self._ends or is_guarded(path))

    def _restored(self, path: str, now: Found | None) -> Iterator[str]:
        """Put back what git obeys, if it would run or obey something else by now."""
        copy = self._copies[path]
        if now is not None and path.rpartition("/")[2] in _CONFIGURATIONS:
            text = _text(self._root, path)
            if text is not None and executing(text) == executing(_decoded(copy.data)):
                return  # a branch or a name: git and the user's tools write such
        said = f"{path!r} changed while the command ran, which git obeys"
        try:
            aside = None
            if now is not None:
                aside = put_aside(self._root, path, set_aside_name(path.rpartition("/")[2]))
            put_file(self._root, path, copy.data, copy.mode)
        except (OSError, ToolError) as error:
            yield f"{said}, and it could not be put back ({error}); tell the user"
            return
        now_called = f", and what replaced it is now {aside!r}" if aside else ""
        yield f"{said}, so it is as it was{now_called}; tell the user"

    def _is_harmless(self, path: str) -> bool:
        """Is it a repository, or a part of one, that runs nothing?"""
        if path.rpartition("/")[2] == BARE:
            folder = path.removesuffix(BARE)
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
        """Does a working tree's file lead to a repository that was here before? git made it so."""
        text = _text(self._root, path)
        folder, _, name = path.rpartition("/")
        if text is None or (name == _GIT and not text.startswith(_TO_FOLDER)):
            return False
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            real = (self._root / folder / text.removeprefix(_TO_FOLDER).strip()).resolve()
            at = real.relative_to(self._root).as_posix()
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


def _is_same(was: Found, now: Found | None) -> bool:
    return now is not None and (now.stamp, now.leads_to) == (was.stamp, was.leads_to)


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


def _put_aside(root: Path, path: str) -> str:
    name = path.rpartition("/")[2]
    try:
        now = put_aside(root, path, set_aside_name(name))
    except (OSError, ToolError) as error:
        return (
            f"the command made {path!r}, which it may not, and it could not be put aside: {error}"
        )
    if now is None:
        return f"the command made {path!r}, which it may not; it is gone again"
    return (
        f"the command made {path!r}, which editors, agents, shells or git may obey, so it was "
        f"renamed to {now!r}; tell the user, who can give it back its name"
    )


def _put_back(root: Path, was: Found, now: Found | None) -> str:
    said = f"the link {was.path!r} was replaced, which commands may not do; it is as it was"
    with contextlib.suppress(OSError, ToolError):
        aside = None
        if now is not None:
            aside = put_aside(root, was.path, set_aside_name(was.path.rpartition("/")[2]))
        put_link(root, was.path, was.leads_to)
        return f"{said}, and what replaced it is now {aside!r}" if aside else said
    return f"the link {was.path!r} was replaced, which commands may not do; tell the user"
