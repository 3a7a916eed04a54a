"""Which names in the workspace lead to secret files: their own, links, other names (hard links).

What a rule of names cannot see. Without a sandbox a command may not read them unasked, and no
search shows them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from indwell.files.tree import Found, Tree, found_at, listings_of
from indwell.policy.guarded import SHUT, kind_of, ordinary_of
from indwell.policy.paths import is_beneath
from indwell.workspace.repository import nested

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

    def _in(self, root: Path) -> tuple[list[Found], list[str], list[Found]]:
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


def _links(found: Sequence[Found]) -> Iterator[Found]:
    return (one for one in found if one.leads_to)
