"""What in a workspace is guarded from commands: looked at before each, and again after it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from indwell.cli.aftermath import Look, settle, without
from indwell.cli.git_guarding import GitGuard
from indwell.files.stub_folders import is_stub
from indwell.files.tree import MOST_FOLDERS, Found, Tree, found_at
from indwell.policy.guarded import (
    BARE,
    OBEYED_AT_ONCE,
    SHUT,
    is_guarded,
    is_minor,
    is_posing,
    kind_of,
    topmost,
)
from indwell.policy.paths import is_installed, is_unknown
from indwell.sandbox.confinement import Guarded
from indwell.sandbox.strength import strength


class Guard:
    """Over one folder of the workspace.

    Args:
        root: The folder, resolved.
        deny: Globs of files that are hidden from commands.
        edits: Globs of files that the user's rules let nobody change.
        most_folders: In a bigger one no command can be held.
    """

    def __init__(
        self,
        root: Path,
        deny: tuple[str, ...],
        edits: tuple[str, ...] = (),
        *,
        most_folders: int = MOST_FOLDERS,
    ) -> None:
        self._root = root
        self._kind = kind_of(deny, edits)
        self._tree = Tree(root, self._is_wanted, SHUT, most_folders=most_folders)
        self._git = GitGuard(root)

    def look(self, *, only_git: bool = False, installs: bool = False) -> Guarded:
        """Find what is guarded now; blocks, for about a millisecond per thousand folders.

        Args:
            only_git: The user lets this command change protected files; but not what git obeys.
            installs: The user lets it change the programs that are installed in the workspace.
        """
        before = _less_installed(self.seen(), is_left_out=installs)
        if why := self._why_not(before):
            return Guarded(refused=why)
        open_ones = {path: one for path, one in before.found.items() if not before.is_closed(path)}
        hidden = [one for one in open_ones.values() if self._is_hidden(one)]
        # A commit changes a `.git` folder; what git obeys in it stands in `before` by itself.
        shut = [
            one
            for path, one in open_ones.items()
            if not (_is_repository(one) or before.is_head(path))
            and one not in hidden
            and (not only_git or path in before.git or _is_gits(path) or self._is_denied(path))
        ]
        named = self._tree.other_names(open_ones.values())
        secret = {path for path, one in named.items() if one in hidden}
        others = {
            path for path, one in named.items() if one in shut and path not in open_ones
        } - secret
        kept = topmost([*(one.path for one in shut if not one.leads_to), *others])
        sure = {*before.git, *before.ends, *others}
        minor = [one for one in kept if one not in sure and not _is_obeyed(one)]
        major = [path for path in kept if path not in minor]
        copies = self._git.copies(open_ones, before.git)
        missing = () if only_git else tuple(one for one in OBEYED_AT_ONCE if one not in open_ones)

        # Where they cannot be made, it is the user who makes them while a command runs.
        unmade = missing if strength().level in {"S3", "S3m"} else ()

        def settle_now(*, so_far: bool) -> tuple[str, ...]:
            seen = _less_installed(self.seen(), is_left_out=installs)
            after = without(seen, unmade if so_far else ())
            is_secret = self._is_secret
            return settle(
                *(self._root, before, after, is_secret, copies), only_git=only_git, so_far=so_far
            )

        return Guarded(
            protected=(
                *self._whole(major),
                *self._ends(one for one in shut if one.leads_to),
            ),
            minor=tuple(self._whole(minor)),
            missing=tuple(self._whole(missing)),
            hidden=(
                *self._whole(one.path for one in hidden if not one.leads_to),
                *self._ends(one for one in hidden if one.leads_to),
                *self._whole(secret),
                *self._whole(before.closed),
            ),
            settle=lambda: settle_now(so_far=False),
            settle_so_far=lambda: settle_now(so_far=True),
        )

    def seen(self) -> Look:
        """All that is guarded, by path from the folder on; blocks."""
        look = self._tree.look()
        wanted = [one for one in look.found if not self._is_stub(one)]
        found = {one.path: one for one in wanted if self._is_listed(one)}
        odd = {one.path: one for one in _odd(wanted) if one.path not in found}
        led = dict(self._led_to(found.values()))
        names = self._git.names(found.values())
        by_git = {one.path: one for one in self._git.there(names)}
        linked = dict(self._led_to(by_git.values()))
        there = {path: one for path, one in {**odd, **led, **linked}.items() if one is not None}
        return Look(
            found={**there, **found, **by_git},
            git=frozenset((*names, *by_git, *linked)),
            ends=frozenset((*led, *odd)),
            todos=self._git.todos(names),
            closed=look.unreadable,
            is_whole=look.is_whole,
        )

    def _led_to(self, found: Iterable[Found]) -> Iterator[tuple[str, Found | None]]:
        """What protected links lead to beneath the folder, be it there or not."""
        for one in found:
            if not one.leads_to or is_installed(one.path) or self._is_hidden(one):
                continue
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                real = (self._root / one.path).resolve()
                if real.is_relative_to(self._root) and real != self._root:
                    at = real.relative_to(self._root).as_posix()
                    yield at, found_at(str(self._root), at)

    def _why_not(self, before: Look) -> str:
        """Why no command can be held here; empty if one can."""
        if "" in before.closed:
            return f"{str(self._root)!r} cannot be looked into"
        if before.is_whole:
            return ""
        return (
            f"{str(self._root)!r} holds more than {MOST_FOLDERS:,} folders, or a million files, "
            "which is more than can be looked through for secret and protected files"
        )

    def _is_wanted(self, path: str) -> bool:
        is_kind = bool(self._kind(path)) or self._kind(f"{path}/x") == "hidden"
        return is_kind or is_unknown(path.rpartition("/")[2]) or is_posing(path)

    def _is_listed(self, one: Found) -> bool:
        is_kind = bool(self._kind(one.path))
        return is_kind or (bool(one.leads_to) and self._kind(f"{one.path}/x") == "hidden")

    def _is_hidden(self, one: Found) -> bool:
        """Is it a secret file, or a link to a folder under whose name all is secret?"""
        is_secret = self._is_secret(one.path)
        return is_secret or (bool(one.leads_to) and self._is_secret(f"{one.path}/x"))

    def _is_secret(self, path: str) -> bool:
        return self._kind(path) == "hidden"

    def _is_denied(self, path: str) -> bool:
        return self._kind(path) == "denied"

    def _is_stub(self, one: Found) -> bool:
        return one.path in OBEYED_AT_ONCE and one.is_folder and is_stub(self._root / one.path)

    def _whole(self, paths: Iterable[str]) -> Iterator[str]:
        return (str(self._root / path) for path in paths)

    def _ends(self, links: Iterable[Found]) -> Iterator[str]:
        """What links lead to, if that is in the workspace."""
        for one in (one for one in links if not (is_installed(one.path) or is_posing(one.path))):
            with contextlib.suppress(OSError, RuntimeError):
                real = (self._root / one.path).resolve(strict=True)
                if real.is_relative_to(self._root) and real != self._root:
                    yield str(real)


def _is_repository(one: Found) -> bool:
    return one.is_folder and _is_git(one.path)


def _is_obeyed(path: str) -> bool:
    """Does something obey it by itself?"""
    return is_guarded(path) and not is_minor(path)


def _odd(found: Sequence[Found]) -> Iterator[Found]:
    """What only the disk tells: unknown dot names of nested repositories, programs led away."""
    roots = {one.path.rpartition("/")[0] for one in found if _is_git(one.path)}
    for one in found:
        folder, _, name = one.path.rpartition("/")
        if (folder in roots and is_unknown(name)) or (is_posing(one.path) and not one.is_folder):
            yield one


def _less_installed(look: Look, *, is_left_out: bool) -> Look:
    """The same without the programs that a command may install, if it may."""
    if not is_left_out:
        return look
    found = {
        path: one for path, one in look.found.items() if not (is_installed(path) or is_posing(path))
    }
    return msgspec.structs.replace(look, found=found)


def _is_git(path: str) -> bool:
    return path.rpartition("/")[2] == ".git"


def _is_gits(path: str) -> bool:
    return ".git" in path.split("/") or path.rpartition("/")[2] == BARE
