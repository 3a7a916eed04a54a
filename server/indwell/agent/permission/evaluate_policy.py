"""Evaluates the current policy for a tool call or command, and records the decision."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from indwell.agent.core.session import Session
from indwell.agent.permission.call_facts import asked_of, with_scripts
from indwell.errors import ToolError
from indwell.messages import ToolUse
from indwell.policy.approvals import short_line
from indwell.policy.call_facts import BY_ANSWER, Allow, Ask, CallFacts, Decision, Deny, Policy
from indwell.policy.decide import decide
from indwell.sessions.told import Decided, Verdict
from indwell.tools.base import Call, ToolFacts

_WORDS: Mapping[type, Verdict] = {Allow: "allow", Ask: "ask", Deny: "deny"}

NAME_LIMIT = 128  # characters of the name and arguments of an unknown tool in a record
_log = logging.getLogger(__name__)


class Weighed(msgspec.Struct, frozen=True):
    """A call, the policy at one moment, and its decision on the call."""

    asked: CallFacts
    decision: Decision
    policy: Policy


async def first_weighed(session: Session, use: ToolUse, call: Call) -> Weighed:
    """Decide on a call; a refusal because of its paths is recorded, too.

    Raises:
        ToolError: Tools may not access a path of the call.
    """
    try:
        return await weigh(session, call)
    except ToolError as error:
        facts = call.facts
        asked = CallFacts(
            facts.tool, facts.effect, facts.paths, command=facts.command, cwd=facts.cwd
        )
        note(session, use, Weighed(asked, Deny(str(error), by="place"), Policy("plan")))
        raise


async def weigh(session: Session, call: Call) -> Weighed:
    """Decide by the current policy; a fault in the policy denies the call (POL-20).

    Raises:
        ToolError: Tools may not access a path of the call.
    """
    asked, policy = await asked_of(session, call.arguments, call.facts), Policy("plan")
    try:
        policy = session.parts.policy()
        return await by_policy(session, asked, policy)
    except Exception:  # noqa: BLE001 - the boundary of the policy: an error is a denial
        _log.exception("a call could not be decided on")
        reason = "Indwell could not decide on this call, through a fault of its own; tell the user"
        return Weighed(asked, Deny(reason, by="fault"), policy)


async def by_policy(session: Session, asked: CallFacts, policy: Policy) -> Weighed:
    """Decide by a policy, with facts from the disk where the decision depends on them."""
    if asked.effect == "run" and not policy.writes_confined:
        policy = await asyncio.to_thread(_looked_around, session, policy)
    decision = decide(asked, policy)
    if _hangs_on_files(decision):
        asked = await with_scripts(session, asked)
        decision = decide(asked, policy)
    return Weighed(asked, decision, policy)


def _hangs_on_files(decision: Decision) -> bool:
    """Is it by an answer, which is for what the files of the workspace hold?"""
    return isinstance(decision, Ask) or (
        isinstance(decision, Allow) and decision.by.startswith(BY_ANSWER)
    )


def _looked_around(session: Session, policy: Policy) -> Policy:
    """The policy, with what only the disk can tell; blocks."""
    return msgspec.structs.replace(
        policy,
        secret_files=session.parts.secret_files(),
        repositories=session.parts.repositories(),
    )


def note(session: Session, use: ToolUse, weighed: Weighed, answer: str = "") -> None:
    """Record the decision and its rule for ``indwell audit``; allowed reads are not recorded."""
    asked, decision = weighed.asked, weighed.decision
    if asked.effect == "read" and isinstance(decision, Allow):
        return
    session.parts.log.append(
        Decided(
            turn=use.meta.turn,
            tool_use_id=use.id,
            tool=asked.tool,
            what=asked.command
            or ", ".join(asked.paths)
            or (asked.arguments if asked.keeps else ""),
            cwd=asked.cwd,
            decision=_WORDS[type(decision)],
            rule=decision.by,
            reason="" if isinstance(decision, Allow) else decision.reason,
            answer=answer,
            widening="" if isinstance(decision, Deny) else decision.widening.words,
            sandbox=_held(weighed),
            at=session.timestamp(),
            agent="" if session.helping is None else session.helping.name,
        )
    )


def note_not_given(session: Session, use: ToolUse, why: str) -> None:
    """Record that a sub-agent called a tool that it does not have."""
    if session.helping is None or any(one.name == use.name for one in session.parts.tools.specs):
        return
    session.parts.log.append(
        Decided(
            turn=use.meta.turn,
            tool_use_id=use.id,
            tool=short_line(use.name, NAME_LIMIT),
            what=short_line(use.arguments, NAME_LIMIT),
            decision="deny",
            rule="its list of tools",
            reason=why,
            at=session.timestamp(),
            agent=session.helping.name,
        )
    )


def _held(weighed: Weighed) -> str:
    """How a command would be sandboxed, in words; empty for other calls."""
    decision = weighed.decision
    if weighed.asked.effect != "run" or isinstance(decision, Deny):
        return ""
    return "not sandboxed" if decision.widening.unconfined else weighed.policy.sandbox


TOOL = "bash"  # rules for this tool hold for commands of hooks and checks, too
OWN_RULE = "ask:"  # the user's rule asks, whoever runs the command


async def weighed(session: Session, command: str, folder: Path) -> Weighed:
    """Decide on it as on a command of the agent's.

    Raises:
        ToolError: Its folder cannot be used.
    """
    arguments = msgspec.json.encode({"command": command}).decode()
    facts = ToolFacts(tool=TOOL, effect="run", command=command, cwd=str(folder))
    asked = await asked_of(session, arguments, facts)
    return await by_policy(session, asked, session.parts.policy())
