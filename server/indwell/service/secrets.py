"""Secret files and secret values that a session keeps from the model."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.permission.other_names import denied_name
from indwell.files import linked_mark
from indwell.files.watch.tree import FoundChanges, Tree, found_at, listings_of
from indwell.policy.guarded import SHUT, kind_of, ordinary_of
from indwell.policy.paths import is_beneath
from indwell.secrets.hiding import Hider
from indwell.secrets.names import secrets_of
from indwell.settings.credentials import Secret
from indwell.settings.model import Settings
from indwell.workspace.git.repository import nested

FRESH_S = 1.0  # for which a look counts in a search, which asks for every file


class SecretPlaces:
    """The secret files of a workspace, looked for anew as its folders change.

    Args:
        roots: Its folders.
        deny: Globs of secret files, those of now.
        monotonic: Seconds of a clock that never goes back.
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
        """All of these names, absolute, and links that lead out of the workspace; blocks."""
        found = [(root, *self._in(root)) for root in self._roots]
        secret = tuple(f"{root}/{one.path}" for root, ones, _, _ in found for one in ones)
        others = tuple(f"{root}/{path}" for root, _, paths, _ in found for path in paths)
        links = (f"{root}/{one.path}" for root, _, _, ones in found for one in ones)
        return (*secret, *others, *(one for one in links if self._leads_astray(one, secret)))

    def repositories(self) -> tuple[str, ...]:
        """Folders beneath with a repository of their own, or all if they are too many; blocks."""
        found = [(root, *nested(root)) for root in self._roots]
        ones = [str(one) for _, holders, _ in found for one in holders]
        return (*ones, *(str(root) for root, _, is_whole in found if not is_whole))

    def is_other_name(self, path: Path) -> bool:
        """Is this another name of a secret file? Blocks for a millionth of a second, mostly."""
        here = found_at(str(path.parent), path.name)
        if here is None or here.is_folder or here.leads_to or here.n_names < 2:  # noqa: PLR2004
            return False
        if self._monotonic() - self._looked > FRESH_S:
            ones = (one for root in self._roots for one in self._in(root)[0])
            self._numbers = frozenset(one.stamp.number for one in ones if one.n_names > 1)
            self._looked = self._monotonic()
        return here.stamp.number in self._numbers

    def _in(self, root: Path) -> tuple[list[FoundChanges], list[str], list[FoundChanges]]:
        """Secret files of one folder, their other names, and all links."""
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
            real = os.path.realpath(link)
        except OSError:  # a link became a folder, or was gone, in the middle of it
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


class _Looked(NamedTuple):
    """What was found of a file: by which other name it is kept back; empty if by none."""

    mark: tuple[int, ...]
    deny: tuple[str, ...]
    name: str


class OtherNames:
    """Looks for other names beside the event loop, and knows what it found.

    Most files have one name: of those nothing is looked for.

    Args:
        roots: Of the workspace, those of now.
    """

    def __init__(self, roots: Callable[[], Sequence[Path]]) -> None:
        self._roots = roots
        self._looked: dict[Path, _Looked] = {}

    def is_kept_back(self, path: Path, settings: Settings) -> bool:
        """Does a rule keep it back, or has nobody looked since it changed? Returns at once."""
        mark = linked_mark(path)
        if mark is None:
            return False
        return self._looked.get(path) != _Looked(mark, settings.deny, "")

    async def look(self, paths: Iterable[Path], settings: Settings) -> None:
        """Know it of these files (resolved) as they are now."""
        for path in dict.fromkeys(paths):
            await self.kept_by(path, settings)

    async def kept_by(self, path: Path, settings: Settings) -> str:
        """The other name by which a rule keeps a file back, as people read it; else empty."""
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


class Secrecy:
    """What takes secrets out of a text: one for all parts of a session, so none knows fewer keys.

    Args:
        settings: Those of the moment; they may turn off all but the keys (INJ-17).
        key: Of the endpoint.
        environment: Variables of the process.
    """

    def __init__(
        self, settings: Callable[[], Settings], key: Secret | None, environment: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._known = secrets_of(environment)
        self._keys = frozenset(one.reveal() for one in (key, settings().api_key) if one is not None)
        self._learn(self._keys)

    def hide(self, text: str) -> str:
        """The text without them; the same object if there are none."""
        by_form, ours = self._hiders
        return (by_form if self._settings().redact_secrets else ours).hide(text)

    def also_hide(self, key: str) -> None:
        """Hide the key of another endpoint, too."""
        if key not in self._keys:
            self._learn(self._keys | {key})

    def _learn(self, keys: frozenset[str]) -> None:
        self._keys = keys
        by_form = Hider(own=keys, known=self._known)
        self._hiders = by_form, Hider(own=keys, knows_forms=False)
