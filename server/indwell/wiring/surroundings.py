"""Facts of the moment for a session: machine, day, branch."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from indwell.prompt.environment import Surroundings
from indwell.prompt.system import Machine
from indwell.sessions.spending import local_day
from indwell.workspace.base import Workspace
from indwell.workspace.branch import branch_of


async def surroundings_of(workspace: Workspace, model: str) -> Surroundings:
    """What the reminder of a turn tells."""
    return Surroundings(
        date=local_day(datetime.now(UTC)),
        folder=str(workspace.roots[0]),
        branch=await branch_of(workspace),
        model=model,
    )


def this_machine() -> Machine:
    """What the system prompt tells of it."""
    return Machine(  # noqa: S604 - `shell` is a word for the prompt, nothing is run
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        shell="bash",
        python=platform.python_version(),
    )
