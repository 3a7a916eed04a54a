"""Reads what project and user files contribute to a session: skills, hooks, checks."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from indwell.agent.features.checks.turn_checks import CheckCommand, SessionChecks
from indwell.agent.features.hooks.session_hooks import FoundHook, HookBook, MatchingHooks
from indwell.agent.features.skills.feature import FoundSkills, SkillCatalogue
from indwell.agent.features.skills.folders import SkillFolders
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError, ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import is_file, mark_of
from indwell.files.system.access import why_foreign
from indwell.files.watch.file_watch import FolderWatch
from indwell.sandbox.environment import program_on_path
from indwell.service.user_settings import workspace_file
from indwell.settings.load import WORKSPACE_FILE, workspace_table
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file
from indwell.settings.table_types import project_hooks
from indwell.workspace.base import Workspace
from indwell.workspace.problems.checks import FILES, ProjectCheck, found_checks


def hooks_of(
    workspace: Workspace, settings: Callable[[], Settings], trust: FolderTrust
) -> HookBook:
    """Create the hook book, which reads the files again in each turn.

    A project's file applies only with its trusted content.
    """
    root = workspace.roots[0]

    def look() -> MatchingHooks:
        own = tuple(FoundHook(hook, is_own=True) for hook in settings().hooks)
        data = workspace_file(root)
        # An error is reported with the settings.
        if data is None or why_foreign(root / WORKSPACE_FILE):
            return MatchingHooks(own, root)
        if not trust.obeys(root, WORKSPACE_FILE, data):
            return MatchingHooks(own, root)
        try:
            table = workspace_table(data.decode("utf-8", "replace"))
        except SettingsError:  # An error is reported where the settings are read.
            return MatchingHooks(own, root)
        hooks, _ = project_hooks(table, WORKSPACE_FILE)
        return MatchingHooks((*own, *(FoundHook(hook, is_own=False) for hook in hooks)), root)

    return HookBook(look)


MOST_B = 1_000_000  # The limit is in bytes of a file that names checks.


def checks_of(
    workspace: Workspace, settings: Callable[[], Settings], trust: FolderTrust
) -> SessionChecks:
    """Create the checks of a session; the editor's checkers are added later."""
    return SessionChecks(finder=ProjectChecks(workspace, settings, trust), settings=settings)


class ProjectChecks:
    """Finds checks each time, because the files may change; implements ``CheckFinder``.

    Args:
        workspace: The workspace, with its folders.
        settings: Returns the current settings; ``check_command`` is the user's own.
        trust: The trust in folders; in an untrusted folder, no check runs.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Settings], trust: FolderTrust
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._trust = trust

    def commands(self, paths: Sequence[Path]) -> tuple[CheckCommand, ...]:
        """Return the checks for these files; reads five small files of each folder."""
        roots = [
            root
            for root in self._workspace.roots
            if self._trust.may_start(root) and any(path.is_relative_to(root) for path in paths)
        ]
        own = self._settings().check_command.strip()
        if own:
            return tuple(CheckCommand(own, own, root, is_own=True) for root in roots[:1])
        found = (command for root in roots for command in _found(root))
        return tuple(one for one in found if any(map(one.is_about, paths)))

    def mark(self, folder: Path) -> str:
        """Return a value that changes with the folder's files; see ``mark_of``."""
        return mark_of(folder)


def _found(root: Path) -> list[CheckCommand]:
    """Return the checks that the project names and whose programs exist."""
    contents = {}
    for name in FILES:
        with contextlib.suppress(ToolError):  # The file is missing, or not a regular file.
            contents[name] = read_bytes(root / name, [root], MOST_B).decode("utf-8", "replace")
    commands = []
    for check in found_checks(contents):
        program = _program(root, check)
        if program:
            words = f"{shlex.quote(program)} {check.arguments}"
            commands.append(CheckCommand(check.name, words, root, check.suffixes))
    return commands


def _program(root: Path, check: ProjectCheck) -> str:
    """Return the first existing program of a check, as the shell finds it, or an empty text."""
    for program in check.programs:
        if "/" in program:
            if is_file(root / program):
                return program
        elif program_on_path(program) is not None:
            return program
    return ""


def user_folders() -> tuple[Path, ...]:
    """Return the folders of the user's skills; the first folder takes precedence."""
    return (user_file().parent / "skills", Path.home() / ".agents" / "skills")


def skill_catalogue_of(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> SkillCatalogue:
    """Create the skills of a session in ``workspace``, and scan them; blocks for milliseconds."""
    folders = _folders(workspace.roots, settings, trust, environment, watch=FolderWatch())
    skill_catalogue = SkillCatalogue(folders)
    skill_catalogue.look_now()
    return skill_catalogue


async def skill_catalogue_beside(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust | None,
    environment: Mapping[str, str],
) -> SkillCatalogue | None:
    """Create the skills in a thread, because a hundred skills take some ten milliseconds."""
    if trust is None:
        return None
    return await asyncio.to_thread(skill_catalogue_of, workspace, settings, trust, environment)


def skills_here(
    roots: Sequence[Path],
    settings: Settings,
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> FoundSkills:
    """Return the skills of folders, without a session; blocks."""
    return _folders(roots, lambda: settings, trust, environment).look()


def names_here(
    roots: Sequence[Path], environment: Mapping[str, str], *, is_given: bool
) -> tuple[str, ...]:
    """Return the names of the skills that the user could call; blocks to read files.

    In an untrusted folder no file is read, and the names of the skills' folders are used. With
    ``is_given``, the command line trusts all folders.
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
