"""From settings and a widening to the bounds of a command."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from indwell.files.aside import Quarantine
from indwell.files.removing import remove_own_tree
from indwell.files.scratch import NOWHERE, parted, scratch_folder
from indwell.policy.rules import globs_of
from indwell.policy.widening import Widening
from indwell.sandbox.confinement import Confinement, Guarded, Hear, Hold
from indwell.sandbox.finding import own_installation
from indwell.sandbox.gate import heed
from indwell.sandbox.strength import strength
from indwell.settings.model import Settings
from indwell.wiring.bounds.guarding import Guard
from indwell.wiring.bounds.home_view import HomeView, home_view, homes

__all__ = ["confiner", "strength"]

_OF_ROOT = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/ssl/private")
_SYSTEM_SECRETS = _OF_ROOT if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
"""That root can read."""

_NOT_WRITABLE = ("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/opt", "/srv")


def confiner(
    roots: tuple[Path, ...],
    settings: Callable[[], Settings],
    *,
    own: Sequence[str] = (),
    home: Path | None = None,
    restricted: Sequence[Path] = (),
    quarantine: Path | None = None,
) -> Bounds:
    """What gives each command of a session its bounds; None is none at all.

    Args:
        roots: The workspace's folders that are trusted, resolved.
        settings: Those of now.
        own: Folders of Indwell itself, which no widening shows.
        home: The user's folder, if it is not that of the system.
        restricted: Folders that are not trusted, in the others or beside them: nothing in them is
            changed, and their secret files are hidden as well.
        quarantine: The folder for what a command made although it may not.
    """
    place = Quarantine(quarantine, [root.resolve() for root in (*roots, *restricted)])
    heed(place)
    return Bounds(
        roots,
        settings,
        own=tuple(own),
        home=home,
        restricted=tuple(restricted),
        quarantine=place,
    )


class Bounds:
    """See ``confiner``."""

    def __init__(
        self,
        roots: tuple[Path, ...],
        settings: Callable[[], Settings],
        *,
        own: tuple[str, ...],
        home: Path | None,
        restricted: tuple[Path, ...],
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._one_at_a_time = threading.Lock()
        self._is_closed = False
        self._roots = tuple(dict.fromkeys(root.resolve() for root in roots))
        beside = dict.fromkeys(root.resolve() for root in restricted)
        self._restricted = tuple(root for root in beside if root not in self._roots)
        self._settings = settings
        self._own = own
        self._home = (home or Path.home()).resolve()
        self._homes = (home,) if home else homes()
        self._guards: dict[tuple[Path, *tuple[tuple[str, ...], ...]], Guard] = {}

    def close(self) -> None:
        """The session has ended; blocks for a moment."""
        self._is_closed = True
        for one in tuple(self._guards.values()):
            one.close()

    def __call__(self, widening: Widening) -> Confinement | None:
        """The bounds of one command; says nothing of the disk yet."""
        if widening.unconfined or strength().level in {"S1", "S0"}:
            return None
        settings = self._settings()
        # What the user's rules deny, no widening shows or opens.
        reads, edits = (globs_of(one, settings.rules_deny) for one in ("read", "edit"))
        deny = (*reads, *(() if widening.shows_secrets else settings.deny))
        only_reads = settings.mode == "plan" or widening.reads_only
        writable = () if only_reads else tuple(filter(self._may_be_written, self._roots))
        return Confinement(
            writable=tuple(map(str, writable)),
            readable=tuple(map(str, (*self._restricted, *self._roots))),
            hidden=(*self._own, *(() if widening.shows_secrets else _SYSTEM_SECRETS)),
            hosts=widening.hosts,
            look=lambda: self._look(deny, edits, writable, widening),
        )

    def _view(self, settings: Settings) -> HomeView:
        roots = (*self._roots, *self._restricted)
        return home_view(self._homes, roots, os.environ, settings.home_shown)

    def _may_be_written(self, root: Path) -> bool:
        """A home folder, or one above it, holds what runs by itself: too much for a command."""
        return not self._home.is_relative_to(root) and str(root) not in _NOT_WRITABLE

    def _look(
        self,
        deny: tuple[str, ...],
        edits: tuple[str, ...],
        writable: Collection[Path],
        widening: Widening,
    ) -> Guarded:
        harmless = self._settings().harmless_names
        seen = HomeView() if widening.shows_secrets else self._view(self._settings())
        looks = {
            root: self._guard(root, deny, edits, harmless).look(
                only_git=widening.writes_protected,
                installs=widening.installs,
                keeps_git=widening.keeps_git,
                is_writable=root in writable,
            )
            for root in self._roots
        }
        beside = [
            self._guard(root, deny, (), harmless).look(is_writable=False)
            for root in self._restricted
        ]
        open_ones = [one for root, one in looks.items() if root in writable]
        installed = () if widening.writes_protected else own_installation(self._roots)
        shut = [
            str(one)
            for one in (*self._restricted, *installed)
            if any(one.is_relative_to(root) for root in writable)
        ]
        every = (*looks.values(), *beside)
        with self._one_at_a_time:  # looks run in threads, and all share one
            scratch, mask = self._scratch
        return Guarded(
            scratch=scratch,
            mask=mask,
            protected=(*shut, *(path for one in open_ones for path in one.protected)),
            minor=tuple(path for one in open_ones for path in one.minor),
            missing=tuple(
                path for one in open_ones for path in one.missing if not _is_in_one(path, shut)
            ),
            hidden=tuple(
                dict.fromkeys((*seen.hidden, *(path for one in every for path in one.hidden)))
            ),
            shown=seen.shown,
            environment=seen.environment,
            refused=next((one.refused for one in every if one.refused), ""),
            settle=lambda: tuple(note for one in open_ones for note in one.settle()),
            settle_so_far=lambda: tuple(note for one in open_ones for note in one.settle_so_far()),
            quarantine=self._quarantine,
            watched=lambda hear, hold: _all_watched(open_ones, hear, hold),
        )

    @functools.cached_property
    def _scratch(self) -> tuple[str, str]:
        """What the session's commands find at /tmp, and where files are hidden; both go with it."""
        folder = scratch_folder()
        if folder == NOWHERE:
            return "", ""
        weakref.finalize(self, remove_own_tree, folder)
        temporary, mask = parted(folder.resolve())
        return str(temporary), str(mask)

    def _guard(
        self, root: Path, deny: tuple[str, ...], edits: tuple[str, ...], harmless: tuple[str, ...]
    ) -> Guard:
        known = self._guards.get((root, deny, edits, harmless))
        if known is None:
            known = Guard(root, deny, edits, harmless, quarantine=self._quarantine)
            self._guards[root, deny, edits, harmless] = known
            if self._is_closed:  # a look ahead that began as the session ended
                known.close()
        return known


@contextlib.contextmanager
def _all_watched(looks: Sequence[Guarded], hear: Hear, hold: Hold) -> Iterator[None]:
    """Watch all of these folders."""
    with contextlib.ExitStack() as stack:
        for one in looks:
            stack.enter_context(one.watched(hear, hold))
        yield


def _is_in_one(path: str, folders: Collection[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)
