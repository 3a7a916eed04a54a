"""The bounds of a command, by the folders that are trusted at that moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from indwell.agent.features.skills.shelf import Shelf
from indwell.policy.widening import Widening
from indwell.sandbox.confinement import Confinement, showing
from indwell.service.folder_trust import FolderTrust
from indwell.settings.model import Settings
from indwell.wiring.bounds.confining import Bounds, confiner
from indwell.workspace.base import Workspace


class BoundsNow:
    """What gives each command of a session its bounds; None is none at all.

    Args:
        workspace: Its folders.
        settings: Those of now.
        trust: How the folders stand.
        shelf: Whose skills a command can read.
        own: Folders of Indwell itself.
        quarantine: One of them, for what a command made although it may not.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Callable[[], Settings],
        trust: FolderTrust,
        shelf: Shelf,
        *,
        own: tuple[str, ...],
        quarantine: Path,
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._trust = trust
        self._shelf = shelf
        self._own = own
        self._quarantine = quarantine
        self._folders: tuple[tuple[Path, ...], tuple[str, ...]] | None = None
        self._bounds: Bounds | None = None

    def __call__(self, widening: Widening) -> Confinement | None:
        """The bounds of one command."""
        roots = self._workspace.roots
        folders = self._trust.trusted(roots), self._trust.restricted(roots)
        if self._bounds is None or folders != self._folders:
            self._folders = folders
            self._bounds = self._made(*folders)
        held = self._bounds(widening)
        return held and showing(held, self._shelf.readable)

    def close(self) -> None:
        """The session has ended: watch nothing any more; blocks for a moment."""
        if self._bounds is not None:
            self._bounds.close()

    def _made(self, trusted: tuple[Path, ...], restricted: tuple[str, ...]) -> Bounds:
        left = tuple(dict.fromkeys(Path(one).resolve() for one in restricted))
        return confiner(
            trusted, self._settings, own=self._own, restricted=left, quarantine=self._quarantine
        )
