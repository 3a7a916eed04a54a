"""What in a workspace is guarded from commands: looked at before each, and again after it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from indwell.cli.aftermath import SAMPLE, settle
from indwell.files.stub_folders import is_stub
from indwell.files.tree import Found, Tree, found_at, names_in
from indwell.policy.guarded import GIT_OBEYS, OBEYED_AT_ONCE, SHUT, kind_of, topmost
from indwell.sandbox.confinement import Guarded

log = logging.getLogger(__name__)


class Guard:
    """Over one folder of the workspace.

    Args:
        root: The folder, resolved.
        deny: Globs of files that are hidden from commands.
    """

    def __init__(self, root: Path, deny: tuple[str, ...]) -> None:
        self._root = root
        self._kind = kind_of(deny)
        self._is_whole = True
        self._tree = Tree(root, lambda path: bool(self._kind(path)), SHUT)

    def look(self) -> Guarded:
        """Find what is guarded now; blocks, for about a millisecond per thousand folders."""
        before = self.seen()
        hidden = [one for path, one in before.items() if self._kind(path) == "hidden"]
        # A commit changes a `.git` folder; what git obeys in it stands in `before` by itself.
        shut = [one for one in before.values() if not _is_repository(one) and one not in hidden]
        named = self._tree.other_names(before.values())
        secret = {path for path, one in named.items() if one in hidden}
        return Guarded(
            protected=(
                *self._places(before[path] for path in topmost(_paths(shut))),
                *(str(self._root / path) for path in named.keys() - secret - before.keys()),
            ),
            missing=tuple(str(self._root / one) for one in OBEYED_AT_ONCE if one not in before),
            hidden=(*self._places(hidden), *(str(self._root / path) for path in secret)),
            settle=lambda: settle(self._root, before, self.seen()),
        )

    def seen(self) -> Mapping[str, Found]:
        """All that is guarded, by path from the folder on; blocks."""
        look = self._tree.look()
        if self._is_whole and not look.is_whole:
            log.warning("%s is too big: deeper folders are not guarded from commands", self._root)
        self._is_whole = look.is_whole
        found = {one.path: one for one in look.found if not self._is_stub(one)}
        for repository in [one for one in found.values() if _is_repository(one)]:
            found |= {one.path: one for one in self._in_git(repository.path)}
        return found

    def _in_git(self, git: str) -> Iterator[Found]:
        for name in GIT_OBEYS:
            one = found_at(str(self._root), f"{git}/{name}")
            if one is None:
                continue
            yield one
            if name == "hooks" and one.is_folder:
                yield from self._hooks(one.path)

    def _hooks(self, at: str) -> Iterator[Found]:
        """Those that git runs."""
        for name in names_in(self._root / at):
            if not name.endswith(SAMPLE) and (one := found_at(str(self._root), f"{at}/{name}")):
                yield one

    def _is_stub(self, one: Found) -> bool:
        return one.path in OBEYED_AT_ONCE and one.is_folder and is_stub(self._root / one.path)

    def _places(self, found: Iterable[Found]) -> Iterator[str]:
        """Where they are; of a link what it leads to, if that is in the workspace."""
        for one in found:
            path = self._root / one.path
            if not one.leads_to:
                yield str(path)
                continue
            with contextlib.suppress(OSError, RuntimeError):
                real = path.resolve(strict=True)
                if real.is_relative_to(self._root) and real != self._root:
                    yield str(real)


def _is_repository(one: Found) -> bool:
    return one.is_folder and one.path.rpartition("/")[2] == ".git"


def _paths(found: Iterable[Found]) -> tuple[str, ...]:
    return tuple(one.path for one in found)
