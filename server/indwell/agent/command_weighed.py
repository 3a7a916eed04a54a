"""What the rules say of a command that no model asked for: a check's, or a hook's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from indwell.agent.asked import asked_of, with_scripts
from indwell.agent.session import Session
from indwell.policy.asked import Allow, Ask, Asked, Decision, Policy
from indwell.policy.decide import BY_ANSWER, decide
from indwell.tools.base import Facts

TOOL = "bash"  # rules that name it hold for these commands as well
OWN_RULE = "ask:"  # the user wants to be asked, whoever names the command


class Weighed(msgspec.Struct, frozen=True):
    """A command, what the rules of this moment say of it, and what they are."""

    asked: Asked
    policy: Policy
    decision: Decision


async def weighed(session: Session, command: str, folder: Path) -> Weighed:
    """Decide on it as on a command of the agent's.

    Raises:
        ToolError: Its folder cannot be used.
    """
    arguments = msgspec.json.encode({"command": command}).decode()
    facts = Facts(tool=TOOL, effect="run", command=command, cwd=str(folder))
    asked = await asked_of(session, arguments, facts)
    policy = session.parts.policy()
    if not policy.writes_confined:
        secret_files, repositories = await asyncio.to_thread(_looked_around, session)
        policy = msgspec.structs.replace(
            policy, secret_files=secret_files, repositories=repositories
        )
    decision = decide(asked, policy)
    is_by_answer = isinstance(decision, Allow) and decision.by.startswith(BY_ANSWER)
    if isinstance(decision, Ask) or is_by_answer:
        asked = await with_scripts(session, asked)
        decision = decide(asked, policy)
    return Weighed(asked, policy, decision)


def _looked_around(session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return session.parts.secret_files(), session.parts.repositories()
