"""Finds files that a command changed on disk while the editor has them open."""

from __future__ import annotations

from indwell.workspace.base import Workspace
from indwell.workspace.paths import display


async def notes_after(workspace: Workspace) -> list[str]:
    """What a command changed beneath the user's hands."""
    changed = await workspace.changed_under_buffers()
    if not changed:
        return []
    names = ", ".join(display(path, workspace.roots) for path in changed)
    note = "[the command changed files that are open in the editor: "
    return [f"{note}{names}; the editor may still show the old text]"]
