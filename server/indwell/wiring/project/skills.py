"""The skills of a session: their folders, a watch on the folders, and their allowed reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from indwell.agent.features.skills.feature import FoundSkills, Shelf
from indwell.agent.features.skills.folders import SkillFolders
from indwell.bounds.folder_trust import FolderTrust
from indwell.files.watch.file_watch import FolderWatch
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file
from indwell.workspace.base import Workspace


def user_folders() -> tuple[Path, ...]:
    """Return the folders of the user's skills; the first takes precedence."""
    return (user_file().parent / "skills", Path.home() / ".agents" / "skills")


def shelf_of(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> Shelf:
    """Create the skills of a session in ``workspace``, scanned at once; blocks for milliseconds."""
    folders = _folders(workspace.roots, settings, trust, environment, watch=FolderWatch())
    shelf = Shelf(folders)
    shelf.look_now()
    return shelf


async def shelf_beside(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust | None,
    environment: Mapping[str, str],
) -> Shelf | None:
    """The same off the event loop, because a hundred skills take some ten milliseconds."""
    if trust is None:
        return None
    return await asyncio.to_thread(shelf_of, workspace, settings, trust, environment)


def skills_here(
    roots: Sequence[Path],
    settings: Settings,
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> FoundSkills:
    """Return the skills here, without a session; blocks."""
    return _folders(roots, lambda: settings, trust, environment).look()


def names_here(
    roots: Sequence[Path], environment: Mapping[str, str], *, is_given: bool
) -> tuple[str, ...]:
    """Return the names of the skills that the user could call here. Reads files, so it blocks.

    In an untrusted folder nothing is read, and the names of the skills' folders count.
    ``is_given``: the command line trusts all folders.
    """
    trust = FolderTrust(environment, is_given=is_given)
    trust.look(roots, Settings())
    found = skills_here(roots, Settings(), trust, environment).ranked
    return tuple(dict.fromkeys((*found.by_name, *found.withheld)))


def _folders(
    roots: Sequence[Path],
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
    *,
    watch: FolderWatch | None = None,
) -> SkillFolders:
    private = (str(state_folder(environment).resolve()), str(user_file().parent.resolve()))
    return SkillFolders(roots, settings, trust, watch=watch, own=user_folders(), private=private)
