"""The skills of a session, put together: folders, a watch on them, and what it may read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from indwell.agent.features.skills.shelf import Looked, Shelf
from indwell.files.watching import FolderWatch
from indwell.service.folder_trust import FolderTrust
from indwell.settings.model import Settings
from indwell.settings.places import state_folder, user_file
from indwell.wiring.project.skill_folders import SkillFolders
from indwell.workspace.base import Workspace


def shelf_of(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> Shelf:
    """The skills of a session in ``workspace``, looked at once; blocks for some milliseconds."""
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
    """The same, off the event loop: a hundred skills take some ten milliseconds; for a trust."""
    if trust is None:
        return None
    return await asyncio.to_thread(shelf_of, workspace, settings, trust, environment)


def skills_here(
    roots: Sequence[Path],
    settings: Settings,
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> Looked:
    """What there is without a session; blocks."""
    return _folders(roots, lambda: settings, trust, environment).look()


def names_here(
    roots: Sequence[Path], environment: Mapping[str, str], *, is_given: bool
) -> tuple[str, ...]:
    """What skills could be called here, if the folders are trusted; blocks.

    In a folder that is not trusted (yet) nothing is read: there its folders' names count.
    ``is_given``: the command line trusts them all.
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
    return SkillFolders(roots, settings, trust, watch=watch, private=private)
