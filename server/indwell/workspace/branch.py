"""The git branch of a workspace, read from ``.git/HEAD``: no git is started in a foreign folder."""

from __future__ import annotations

import re

from indwell.errors import ToolError
from indwell.workspace.base import Workspace

_REF = "ref: refs/heads/"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


async def branch_of(workspace: Workspace) -> str:
    """The branch's name, ten digits of a detached commit, or nothing outside a repository."""
    try:
        head = await workspace.read(workspace.resolve(".git/HEAD"))
    except ToolError:
        return ""
    line = head.text.split("\n", 1)[0].strip()
    if line.startswith(_REF):
        return line.removeprefix(_REF)
    return line[:10] if _COMMIT.fullmatch(line) else ""  # it may be a link to something else
