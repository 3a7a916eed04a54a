"""May a check run, without a question? The same decision as for a command of the agent's."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.asked import asked_of, with_scripts
from indwell.agent.gate.gate import Command
from indwell.agent.session import Session
from indwell.errors import ToolError
from indwell.policy.asked import Allow, Ask, Deny
from indwell.policy.decide import BY_ANSWER, decide
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sessions.decided import Decided
from indwell.tools.base import Facts

TOOL = "bash"  # rules that name it hold for checks as well
CHECK = "check"  # what the log calls it
_OWN_RULE = "ask:"  # the user wants to be asked, whoever names the command


class Refused(msgspec.Struct, frozen=True):
    """It does not run.

    Attributes:
        why: A clause.
        is_askable: A person could allow it, and nobody asks in the middle of a turn.
        advice: How to allow it then.
    """

    why: str
    is_askable: bool = False
    advice: str = ""


async def check_permit(session: Session, turn: int, command: Command) -> Widening | Refused:
    """What the check may do beyond the sandbox: nothing, if it may run at all.

    The user's own ``check_command`` is as good as an answer. It is written down for the audit.
    """
    arguments = msgspec.json.encode({"command": command.command}).decode()
    facts = Facts(tool=TOOL, effect="run", command=command.command, cwd=str(command.folder))
    try:
        asked = await asked_of(session, arguments, facts)
    except ToolError as error:
        return Refused(str(error))
    policy = session.parts.policy()
    if policy.mode == "plan":
        return Refused("the mode is `plan`")
    if not policy.writes_confined:
        look = asyncio.to_thread(_looked_around, session)
        secret_files, repositories = await look
        policy = msgspec.structs.replace(
            policy, secret_files=secret_files, repositories=repositories
        )
    decision = decide(asked, policy)
    if isinstance(decision, Ask) or decision.by.startswith(BY_ANSWER):
        asked = await with_scripts(session, asked)
        decision = decide(asked, policy)
    is_run = isinstance(decision, Allow) or (
        isinstance(decision, Ask) and command.is_own and not decision.by.startswith(_OWN_RULE)
    )
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=check_id(turn),
            tool=CHECK,
            what=command.command,
            cwd=str(command.folder),
            decision="allow" if is_run else "deny",
            rule="check_command" if is_run and isinstance(decision, Ask) else decision.by,
            reason="" if isinstance(decision, Allow) else decision.reason,
            answer="",
            widening="",
            sandbox=policy.sandbox,
            at=session.timestamp(),
        )
    )
    match decision:
        case Allow(widening=widening):
            return Widening(reads_only=widening.reads_only)
        case Ask():
            if is_run:
                return NOTHING_MORE
            return Refused(decision.reason, is_askable=True, advice=_advice(command, decision))
        case Deny():
            return Refused(decision.reason)


def _advice(command: Command, ask: Ask) -> str:
    """What would let it run without a question."""
    if ask.by.startswith(_OWN_RULE):
        rule = ask.by.removeprefix(_OWN_RULE).strip()
        return f"to allow it, take the rule {rule!r} that asks for it out of your `rules_ask`"
    places = "`rules_allow` or `check_command`" if ask.rule else "`check_command`"
    return f"to allow it, put {command.command!r} into {places} of your settings"


def note_ending(session: Session, turn: int, command: Command, words: str) -> None:
    """Write down how a check ended that was allowed."""
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=check_id(turn),
            tool=CHECK,
            what=command.command,
            decision="allow",
            at=session.timestamp(),
            ending=words,
        )
    )


def check_id(turn: int) -> str:
    """One runs after the other, so the newest of that id is meant."""
    return f"check-{turn}"


def _looked_around(session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return session.parts.secret_files(), session.parts.repositories()
