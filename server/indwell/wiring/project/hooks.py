"""The hooks of a session: the user's own, then those of a trusted workspace (H56)."""

from __future__ import annotations

from collections.abc import Callable

from indwell.agent.features.hooks.book import Found, FoundHook, HookBook
from indwell.errors import SettingsError
from indwell.files.guarded import why_foreign
from indwell.service.folder_trust import FolderTrust
from indwell.service.user_settings import workspace_file
from indwell.settings.hook_tables import project_hooks
from indwell.settings.load import WORKSPACE_FILE, workspace_table
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace


def hooks_of(
    workspace: Workspace, settings: Callable[[], Settings], trust: FolderTrust
) -> HookBook:
    """A book that looks anew each turn; a project's file counts only as it was trusted."""
    root = workspace.roots[0]

    def look() -> Found:
        own = tuple(FoundHook(hook, is_own=True) for hook in settings().hooks)
        data = workspace_file(root)
        if data is None or why_foreign(root / WORKSPACE_FILE):  # said with the settings
            return Found(own, root)
        if not trust.obeys(root, WORKSPACE_FILE, data):
            return Found(own, root)
        try:
            table = workspace_table(data.decode("utf-8", "replace"))
        except SettingsError:  # said where the settings are read
            return Found(own, root)
        hooks, _ = project_hooks(table, WORKSPACE_FILE)
        return Found((*own, *(FoundHook(hook, is_own=False) for hook in hooks)), root)

    return HookBook(look)
