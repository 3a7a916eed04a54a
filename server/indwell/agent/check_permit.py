"""May a check run, without a question? The same decision as for a command of the agent's."""

from __future__ import annotations

import msgspec

from indwell.agent.command_weighed import OWN_RULE, weighed
from indwell.agent.gate.gate import Command
from indwell.agent.session import Session
from indwell.errors import ToolError
from indwell.policy.call_facts import Allow, Ask, Deny
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sessions.decided import Decided

CHECK = "check"  # what the log calls it


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
    try:
        found = await weighed(session, command.command, command.folder)
    except ToolError as error:
        return Refused(str(error))
    policy, decision = found.policy, found.decision
    if policy.mode == "plan":
        return Refused("the mode is `plan`")
    is_run = isinstance(decision, Allow) or (
        isinstance(decision, Ask) and command.is_own and not decision.by.startswith(OWN_RULE)
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
            return Widening(reads_only=widening.reads_only, keeps_git=widening.keeps_git)
        case Ask():
            if is_run:
                return NOTHING_MORE
            return Refused(decision.reason, is_askable=True, advice=_advice(command, decision))
        case Deny():
            return Refused(decision.reason)


def _advice(command: Command, ask: Ask) -> str:
    """What would let it run without a question."""
    if ask.by.startswith(OWN_RULE):
        rule = ask.by.removeprefix(OWN_RULE).strip()
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
