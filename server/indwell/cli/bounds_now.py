"""The bounds of a command, by the folders that are trusted at that moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from indwell.agent.features.skills.shelf import Shelf
from indwell.cli.confining import confiner
from indwell.cli.folder_trust import FolderTrust
from indwell.policy.widening import Widening
from indwell.sandbox.confinement import Confinement, showing
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace


def bounds_now(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust,
    shelf: Shelf,
    *,
    own: tuple[str, ...],
    quarantine: Path,
) -> Callable[[Widening], Confinement | None]:
    """What gives each command of a session its bounds; None is none at all.

    Args:
        workspace: Its folders.
        settings: Those of now.
        trust: How the folders stand.
        shelf: Whose skills a command can read.
        own: Folders of Indwell itself.
        quarantine: One of them, for what a command made although it may not.
    """

    @lru_cache(maxsize=1)
    def bounds(
        trusted: tuple[Path, ...], restricted: tuple[str, ...]
    ) -> Callable[[Widening], Confinement | None]:
        left = tuple(dict.fromkeys(Path(one).resolve() for one in restricted))
        return confiner(trusted, settings, own=own, restricted=left, quarantine=quarantine)

    def confine(widening: Widening) -> Confinement | None:
        held = bounds(trust.trusted(workspace.roots), trust.restricted(workspace.roots))(widening)
        return held and showing(held, shelf.readable)

    return confine
