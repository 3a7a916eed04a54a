"""What the rules say of a command that no model asked for: a check's, or a hook's."""

from __future__ import annotations

from pathlib import Path

import msgspec

from indwell.agent.asked import asked_of
from indwell.agent.session import Session
from indwell.agent.weighing import Weighed, by_policy
from indwell.tools.base import Facts

TOOL = "bash"  # rules that name it hold for these commands as well
OWN_RULE = "ask:"  # the user wants to be asked, whoever names the command


async def weighed(session: Session, command: str, folder: Path) -> Weighed:
    """Decide on it as on a command of the agent's.

    Raises:
        ToolError: Its folder cannot be used.
    """
    arguments = msgspec.json.encode({"command": command}).decode()
    facts = Facts(tool=TOOL, effect="run", command=command, cwd=str(folder))
    asked = await asked_of(session, arguments, facts)
    return await by_policy(session, asked, session.parts.policy())
