"""The git branch of a workspace, read from ``.git/HEAD``: no git is started in a foreign folder."""

from __future__ import annotations

from indwell.errors import ToolError
from indwell.workspace.base import Workspace

_REF = "ref: refs/heads/"


async def branch_of(workspace: Workspace) -> str:
    """The branch's name, ten digits of a detached commit, or nothing outside a repository."""
    try:
        head = await workspace.read(workspace.resolve(".git/HEAD"))
    except ToolError:
        return ""
    line = head.text.split("\n", 1)[0].strip()
    return line.removeprefix(_REF) if line.startswith(_REF) else line[:10]
