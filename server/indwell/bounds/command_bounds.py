"""Computes the sandbox bounds of commands from the settings, policy and folder trust."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.guarded_scan import FolderGuard
from indwell.bounds.home_view import HomeView, home_view, homes
from indwell.bounds.rules import ReadableFolders
from indwell.files.private import NOWHERE, parted, remove_scratch, scratch_folder
from indwell.files.quarantine import Quarantine
from indwell.policy.approvals import UNHELD
from indwell.policy.call_facts import Policy
from indwell.policy.rules import Widening, globs_of
from indwell.sandbox.confine.strength import cage_for, strength
from indwell.sandbox.confinement import Confinement, Guarded, Hear, Hold, Level, Strength, showing
from indwell.sandbox.environment import own_installation
from indwell.sandbox.gate import heed
from indwell.sandbox.shells import command_language
from indwell.settings.model import Mode, Settings
from indwell.workspace.base import Workspace

__all__ = ["confiner", "strength"]

_OF_ROOT = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/ssl/private")
_SYSTEM_SECRETS = _OF_ROOT if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
"""Paths whose content root can read, such as the password file."""

_NOT_WRITABLE = ("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/opt", "/srv")


def confiner(
    roots: tuple[Path, ...],
    settings: Callable[[], Settings],
    *,
    own: Sequence[str] = (),
    home: Path | None = None,
    restricted: Sequence[Path] = (),
    quarantine: Path | None = None,
    held: Callable[[], Strength] = strength,
) -> Bounds:
    """Create the source of bounds for a session's commands; return None if there is no sandbox.

    Args:
        roots: The trusted workspace folders, resolved.
        settings: Returns the current settings.
        own: The data folders of Indwell, which stay hidden from every command.
        home: The user's home folder; by default, the system's answer.
        restricted: Untrusted folders, inside or outside the trusted folders. Commands may not
            change files in untrusted folders, and secret files there are hidden, too.
        quarantine: The folder for files that a command created without permission.
        held: Returns how strongly this machine's sandbox confines commands.
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
        held=held,
    )


class Bounds:
    """Computes the bounds of a session's commands; see ``confiner``."""

    def __init__(
        self,
        roots: tuple[Path, ...],
        settings: Callable[[], Settings],
        *,
        own: tuple[str, ...],
        home: Path | None,
        restricted: tuple[Path, ...],
        quarantine: Quarantine,
        held: Callable[[], Strength],
    ) -> None:
        self._quarantine = quarantine
        self._held = held
        self._one_at_a_time = threading.Lock()
        self._is_closed = False
        self._remove_scratch: Callable[[], object] = lambda: None
        self._roots = tuple(dict.fromkeys(root.resolve() for root in roots))
        beside = dict.fromkeys(root.resolve() for root in restricted)
        self._restricted = tuple(root for root in beside if root not in self._roots)
        self._settings = settings
        self._own = own
        self._home = (home or Path.home()).resolve()
        self._homes = (home,) if home else homes()
        self._guards: dict[tuple[Path, *tuple[tuple[str, ...], ...]], FolderGuard] = {}

    def close(self) -> None:
        """Stop watching the folders, and remove the session's own /tmp; blocks for a moment."""
        self._is_closed = True
        for one in tuple(self._guards.values()):
            one.close()
        with self._one_at_a_time:
            self._remove_scratch()
            self.__dict__.pop("_scratch", None)  # a later command makes a new folder

    def __call__(self, widening: Widening) -> Confinement | None:
        """Return the bounds of one command under the current settings."""
        return self.under(self._settings(), widening)

    def under(self, settings: Settings, widening: Widening) -> Confinement | None:
        """Return one command's bounds under these settings, before a scan of the disk adds more."""
        only_reads = settings.mode == "plan" or widening.reads_only
        held = self._held()
        if widening.unconfined or not (held.holds_readers if only_reads else held.holds_writers):
            return None
        if not held.holds_writers:
            return Confinement(writable=(), readable=tuple(map(str, self._roots)))
        # A widened permission never shows or opens files that the user's rules deny.
        reads, edits = (globs_of(one, settings.rules_deny) for one in ("read", "edit"))
        deny = (*reads, *(() if widening.shows_secrets else settings.deny))
        writable = () if only_reads else tuple(filter(self._may_be_written, self._roots))
        return Confinement(
            writable=tuple(map(str, writable)),
            readable=tuple(map(str, (*self._restricted, *self._roots))),
            hidden=(*self._own, *(() if widening.shows_secrets else _SYSTEM_SECRETS)),
            hosts=widening.hosts,
            look=lambda: self._look(settings, deny, edits, writable, widening),
        )

    def _view(self, settings: Settings) -> HomeView:
        roots = (*self._roots, *self._restricted)
        return home_view(self._homes, roots, os.environ, settings.home_shown)

    def _may_be_written(self, root: Path) -> bool:
        """Return whether commands may write in this folder.

        Commands may not write in a home folder or above, because a home folder contains programs
        that start by themselves.
        """
        return not self._home.is_relative_to(root) and str(root) not in _NOT_WRITABLE

    def _look(
        self,
        settings: Settings,
        deny: tuple[str, ...],
        edits: tuple[str, ...],
        writable: Collection[Path],
        widening: Widening,
    ) -> Guarded:
        harmless = settings.harmless_names
        seen = HomeView() if widening.shows_secrets else self._view(settings)
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
        with self._one_at_a_time:  # Scans run in several threads, and all threads share one result.
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
        """Return the session's own /tmp folder, with empty files that replace hidden files."""
        folder = scratch_folder()
        if folder == NOWHERE:
            return "", ""
        self._remove_scratch = weakref.finalize(self, remove_scratch, folder)
        temporary, mask = parted(folder.resolve())
        return str(temporary), str(mask)

    def _guard(
        self, root: Path, deny: tuple[str, ...], edits: tuple[str, ...], harmless: tuple[str, ...]
    ) -> FolderGuard:
        known = self._guards.get((root, deny, edits, harmless))
        if known is None:
            known = FolderGuard(root, deny, edits, harmless, quarantine=self._quarantine)
            self._guards[root, deny, edits, harmless] = known
            if self._is_closed:  # a scan in advance may have begun before the session ended
                known.close()
        return known


@contextlib.contextmanager
def _all_watched(looks: Sequence[Guarded], hear: Hear, hold: Hold) -> Iterator[None]:
    """Watch all of these folders until the context ends."""
    with contextlib.ExitStack() as stack:
        for one in looks:
            stack.enter_context(one.watched(hear, hold))
        yield


def _is_in_one(path: str, folders: Collection[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)


class BoundsNow:
    """Takes snapshots of the sandbox bounds for a session's commands.

    ``beside`` are folders outside the workspace that commands may only read, and whose secret files
    are hidden.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Callable[[], Settings],
        trust: FolderTrust,
        readable: ReadableFolders,
        *,
        own: tuple[str, ...],
        quarantine: Path,
        beside: tuple[str, ...] = (),
    ) -> None:
        self._beside = beside
        self._workspace = workspace
        self._settings = settings
        self._trust = trust
        self._readable = readable
        self._own = own
        self._quarantine = quarantine
        self._folders: tuple[tuple[Path, ...], tuple[str, ...]] | None = None
        self._bounds: Bounds | None = None

    def snapshot(
        self, settings: Settings, roots: tuple[Path, ...]
    ) -> Callable[[Widening], Confinement | None]:
        """Return the bounds of commands under these settings and the current trust."""
        now = self._trust.now(roots)
        folders = now.trusted, (*now.restricted, *self._beside)
        readable = self._readable.opened

        def confine(widening: Widening) -> Confinement | None:
            held = self._of(folders).under(settings, widening)
            return held and showing(held, readable)

        return confine

    def _of(self, folders: tuple[tuple[Path, ...], tuple[str, ...]]) -> Bounds:
        """Return the bounds for these trusted and restricted folders; the last result is cached."""
        if self._bounds is None or folders != self._folders:
            self._folders = folders
            self._bounds = self._made(*folders)
        return self._bounds

    def close(self) -> None:
        """Stop watching the folders at the end of the session; blocks for a moment."""
        if self._bounds is not None:
            self._bounds.close()

    def _made(self, trusted: tuple[Path, ...], restricted: tuple[str, ...]) -> Bounds:
        left = tuple(dict.fromkeys(Path(one).resolve() for one in restricted))
        return confiner(
            trusted, self._settings, own=self._own, restricted=left, quarantine=self._quarantine
        )


def policy_under(policy: Policy, held: Strength) -> Policy:
    """Return the policy that applies to commands under this sandbox strength."""
    return msgspec.structs.replace(
        policy,
        writes_confined=held.is_whole,
        asks_for_all=held.asks_for_all,
        sandbox=held.words if held.holds_writers or not held.holds_readers else UNHELD,
        readers_sandbox=held.words if held.holds_readers else "",
        language=command_language(),
    )


_HELD = "what reads, builds, tests and works on the folder's files runs without a question"
_READS = "commands that only read run without a question; Indwell asks about all others"
CONSEQUENCES: Mapping[Level, str] = {
    "S3": _HELD,
    "S3m": _HELD,
    "S2": _READS,
    "S2w": _READS,
    "S1": "commands known to only read run without a question; Indwell asks about all others",
    "S0": "Indwell asks about every command",
}
"""Says, for each level, which commands run without a question; ``decide`` implements this."""


def state_words(held: Strength, *, mode: Mode = "review", is_restricted: bool = False) -> str:
    """Return one sentence on how commands are confined, and when the user is asked.

    Args:
        held: How strongly the sandbox confines commands.
        mode: The mode in the settings.
        is_restricted: Whether the commands' folder is untrusted.
    """
    return (
        f"commands are {held.words or 'not sandboxed'}: {_consequence(held, mode, is_restricted)}"
    )


def _consequence(held: Strength, mode: Mode, is_restricted: bool) -> str:  # noqa: FBT001
    if is_restricted:
        return "none runs in this folder, which is restricted"
    if mode == "plan":
        tests = ", and builds and tests that then write nothing" if held.is_whole else ""
        return f"only what reads runs{tests}; the mode is `plan`"
    if mode == "ask" and held.is_whole:
        return f"{_READS}; the mode is `ask`"
    return CONSEQUENCES[held.level]


def home_words(held: Strength) -> str:
    """Describe, for the doctor, what commands can read in the home folder; may be empty."""
    if held.hides_home:
        return ""
    return (
        "; nothing hides your home folder from a command that runs: it can read your keys there, "
        "and reach the network"
    )


def container_words(held: Strength, folder: Path) -> str:
    """Describe, for the doctor, what an AppContainer sandbox protects in a folder open to it."""
    if held.level != "S2w" or cage_for((str(folder),)) != "container":
        return ""
    return "; in this folder they also have no network and no view of your home (AppContainer)"


def notice_of(held: Strength) -> str:
    """Return the notice before the first turn, or an empty text if the sandbox is complete."""
    if held.is_whole:
        return ""
    reason = f" ({held.reason})" if held.reason else ""
    state = "sandbox: limited" if held.holds_readers else "sandbox: off"
    return f"{state}{reason}; {state_words(held)}"
