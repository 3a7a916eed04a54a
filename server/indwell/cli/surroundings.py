"""Facts of the moment for a session: machine, day, branch, and the project's own instructions."""

from __future__ import annotations

import asyncio
import platform
from datetime import UTC, datetime

from indwell.cli.folder_trust import FolderTrust
from indwell.errors import ToolError
from indwell.files import has_other_names, read_bytes
from indwell.policy.paths import matches_any
from indwell.prompt.environment import Surroundings
from indwell.prompt.instructions import FILE_NAME
from indwell.prompt.system import Machine
from indwell.sessions.spending import local_day
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.branch import branch_of
from indwell.workspace.paths import display

MOST_INSTRUCTIONS_B = 1 << 20  # no longer file is read at all; see also ``instructions.LIMIT``


async def surroundings_of(workspace: Workspace, model: str) -> Surroundings:
    """What the reminder of a turn tells."""
    return Surroundings(
        date=local_day(datetime.now(UTC)),
        folder=str(workspace.roots[0]),
        branch=await branch_of(workspace),
        model=model,
    )


async def instructions_of(workspace: Workspace, settings: Settings, trust: FolderTrust) -> str:
    """AGENTS.md of a trusted folder, as it was trusted; of any other none is read (H13)."""
    root = workspace.roots[0]
    if not trust.is_trusted(root):
        return ""
    try:
        path = workspace.resolve(FILE_NAME)
        if matches_any(display(path, workspace.roots), settings.deny):
            return ""
        if has_other_names(path):  # perhaps of a secret file, which no name tells
            return ""
        data = await asyncio.to_thread(read_bytes, path, [root], MOST_INSTRUCTIONS_B)
        if trust.is_whole(root):
            return (await workspace.read(path)).text
    except ToolError:
        return ""
    return data.decode("utf-8-sig", "replace") if trust.obeys(root, FILE_NAME, data) else ""


def this_machine() -> Machine:
    """What the system prompt tells of it."""
    return Machine(  # noqa: S604 - `shell` is a word for the prompt, nothing is run
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        shell="bash",
        python=platform.python_version(),
    )
