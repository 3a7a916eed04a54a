"""Finds the secret files that a session hides from the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.files.disk_names import leads_abroad, real_path_here
from indwell.files.listing import has_other_names, linked_mark, names_of_file, same_file
from indwell.files.watch.tree import FoundChanges, Tree, found_at, listings_of
from indwell.policy.guarded_paths import SHUT, kind_of, ordinary_of
from indwell.policy.paths import is_beneath, matches_any
from indwell.settings.model import Settings
from indwell.workspace.git.repository import nested
from indwell.workspace.paths import display as escaped

FRESH_S = 1.0  # Results are reused for 1 s, because a search asks for every file.


class SecretPlaces:
    """Finds the secret files of a workspace, and searches again when folders change.

    Args:
        roots: The folders of the workspace.
        deny: Returns the globs that match secret files.
        monotonic: Returns the time of a monotonic clock in seconds.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        deny: Callable[[], tuple[str, ...]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._deny = deny
        self._monotonic = monotonic
        self._trees: dict[tuple[Path, tuple[str, ...]], Tree] = {}
        self._numbers: frozenset[int] = frozenset()
        self._looked = float("-inf")

    def look(self) -> tuple[str, ...]:
        """Return absolute paths of all secret files, and of links out of the workspace; blocks."""
        found = [(root.as_posix(), *self._in(root)) for root in self._roots]
        secret = tuple(f"{root}/{one.path}" for root, ones, _, _ in found for one in ones)
        others = tuple(f"{root}/{path}" for root, _, paths, _ in found for path in paths)
        links = (f"{root}/{one.path}" for root, _, _, ones in found for one in ones)
        return (*secret, *others, *(one for one in links if self._leads_astray(one, secret)))

    def repositories(self) -> tuple[str, ...]:
        """Return subfolders that contain a repository; all subfolders if too many do; blocks."""
        found = [(root, *nested(root)) for root in self._roots]
        ones = [one.as_posix() for _, holders, _ in found for one in holders]
        return (*ones, *(root.as_posix() for root, _, is_whole in found if not is_whole))

    def is_other_name(self, path: Path) -> bool:
        """Return whether the path is another name of a secret file; blocks for a microsecond."""
        here = found_at(str(path.parent), path.name)
        if here is None or here.is_folder or here.leads_to or here.n_names < 2:  # noqa: PLR2004
            return False
        if self._monotonic() - self._looked > FRESH_S:
            ones = (one for root in self._roots for one in self._in(root)[0])
            self._numbers = frozenset(one.stamp.number for one in ones if one.n_names > 1)
            self._looked = self._monotonic()
        return here.stamp.number in self._numbers

    def _in(self, root: Path) -> tuple[list[FoundChanges], list[str], list[FoundChanges]]:
        """Return the secret files of one folder, their other names, and all links."""
        deny = self._deny()
        kind = kind_of(deny)
        tree = self._trees.setdefault(
            (root, deny),
            Tree(
                root,
                lambda path: kind(path) == "hidden",
                SHUT,
                with_links=True,
                is_ordinary=ordinary_of(deny),
                listings=listings_of(root),
            ),
        )
        found = tree.look().found
        secret = [one for one in found if kind(one.path) == "hidden"]
        return secret, list(tree.other_names(secret)), list(_links(found))

    def _leads_astray(self, link: str, secret: tuple[str, ...]) -> bool:
        try:
            real = Path(real_path_here(link, self._roots)).as_posix()
        except OSError:  # the link was replaced or removed during the search
            return True
        if not is_beneath(real, tuple(map(str, self._roots))):
            return True
        return (
            real in secret
            or is_beneath(real, secret)
            or any(is_beneath(one, (real,)) for one in secret)
        )


def _links(found: Sequence[FoundChanges]) -> Iterator[FoundChanges]:
    return (one for one in found if one.leads_to)


def visible_place(path: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> Path | None:
    """Return the resolved path of a file, or None if the file must stay hidden from models.

    The globs are applied to the file's name and to its target's name. A file with several names
    (hard links) is hidden, because one of the names could be that of a secret file. The call blocks
    for a moment.

    Args:
        path: The absolute path as it was found.
        roots: The workspace's folders.
        deny: Globs of files that no model may see.
    """
    if leads_abroad(path, roots):
        return None
    real = path.resolve()
    names = (escaped(one, tuple(roots)) for one in (path, real))
    if any(matches_any(name, deny) for name in names) or has_other_names(real):
        return None
    return real


def other_names(
    paths: Sequence[Path], roots: Sequence[Path], secret: Sequence[str]
) -> tuple[Path, ...]:
    """Find the other names (hard links) of files, in their folders and above; blocks.

    Args:
        paths: Resolved paths of files with several names.
        roots: The workspace roots.
        secret: Absolute paths in the workspace that lead to secret files.
    """
    hidden = tuple(map(Path, secret))
    found: list[Path] = []
    for path in paths:
        found += names_of_file(path, folders_above(path, roots))
        found += (one for one in hidden if same_file(path, one))
    return tuple(found)


def denied_name(
    path: Path, roots: Sequence[Path], secret: Sequence[str], deny: tuple[str, ...]
) -> str:
    """Return the displayed path of a file's hard link that ``deny`` matches, or an empty text.

    The call blocks; see ``other_names``.
    """
    for other in other_names([path], roots, secret):
        shown = escaped(other, roots)
        if any(matches_any(one, deny) for one in (shown, other.as_posix())):
            return shown
    return ""


def folders_above(path: Path, roots: Sequence[Path]) -> list[Path]:
    """Return the folders of the workspace that contain a path."""
    inside = [root for root in roots if path.is_relative_to(root)]
    return [one for one in path.parents if any(map(one.is_relative_to, inside))]


class _Looked(NamedTuple):
    """The result for one file: another name of it that a rule denies, or an empty text."""

    mark: tuple[int, ...]
    deny: tuple[str, ...]
    name: str


class OtherNames:
    """Finds hard links that a rule denies, in a thread, and caches the results.

    Most files have a single name and need no search.

    Args:
        roots: Returns the folders of the workspace.
    """

    def __init__(self, roots: Callable[[], Sequence[Path]]) -> None:
        self._roots = roots
        self._looked: dict[Path, _Looked] = {}

    def is_kept_back(self, path: Path, settings: Settings) -> bool:
        """Return whether a file is denied, or was changed since its check; returns at once."""
        mark = linked_mark(path)
        if mark is None:
            return False
        return self._looked.get(path) != _Looked(mark, settings.deny, "")

    async def look(self, paths: Iterable[Path], settings: Settings) -> None:
        """Check the present state of these resolved files."""
        for path in dict.fromkeys(paths):
            await self.kept_by(path, settings)

    async def kept_by(self, path: Path, settings: Settings) -> str:
        """Return the displayed other name of a file that a rule denies, or an empty text."""
        mark = linked_mark(path)
        if mark is None:
            return ""
        name = await asyncio.to_thread(self._denied_name, path, settings)
        self._looked[path] = _Looked(mark, settings.deny, name)
        return name

    def _denied_name(self, path: Path, settings: Settings) -> str:
        roots = tuple(self._roots())
        secret = SecretPlaces(roots, lambda: settings.deny).look()
        return denied_name(path, roots, secret, settings.deny)
