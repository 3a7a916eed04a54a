"""May a call run, and how? Decides, asks the user, and binds the answer to what was shown."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.agent.asked import asked_of, with_scripts
from indwell.agent.events import Listener, Notice, PermissionAnswered, PermissionAsked
from indwell.agent.secrecy import carrying
from indwell.agent.session import Session
from indwell.errors import SettingsError, ToolError
from indwell.messages import ToolUse
from indwell.policy.approvals import Said, question_for
from indwell.policy.asked import Allow, Ask, Asked, Decision, Deny, Policy
from indwell.policy.decide import decide
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sessions.decided import Decided, Verdict
from indwell.tools.base import Call

_HUNK = re.compile(r"^@@ .*", re.MULTILINE)  # no line of a text begins so in a diff
_WORDS: Mapping[type, Verdict] = {Allow: "allow", Ask: "ask", Deny: "deny"}

_log = logging.getLogger(__name__)


class Permit(msgspec.Struct, frozen=True):
    """How a call may run: where its paths led when that was decided, and with what beyond."""

    judged: Mapping[str, Path] = {}
    widening: Widening = NOTHING_MORE


Preview: TypeAlias = Callable[[Permit], Awaitable[str]]
"""The diff of what a call would change, with its paths as they were judged."""


class _Weighed(msgspec.Struct, frozen=True):
    """A call, what the rules of that moment say of it, and what they are."""

    asked: Asked
    decision: Decision
    policy: Policy


async def permitted(  # noqa: PLR0917 - what a call is, and who is told and asked
    session: Session,
    use: ToolUse,
    call: Call,
    emit: Listener,
    preview: Preview,
    asking: asyncio.Lock,
) -> Permit:
    """Return if the call may run, and how.

    One question stands at a time, by ``asking``: an answer to one of two could be taken for the
    other's.

    Raises:
        ToolError: It may not; the model reads why.
    """
    weighed = await _weigh(session, use, call)
    decision = weighed.decision
    if isinstance(decision, Ask):
        async with asking:
            weighed = await _weigh(session, use, call)  # an answer before it may have allowed it
            decision = weighed.decision
            if isinstance(decision, Ask):
                return await _asked_for(session, use, call, weighed, decision, emit, preview)
    _note(session, use, weighed)
    if isinstance(decision, Deny):
        raise ToolError(f"not allowed: {decision.reason}")
    return Permit(_judged(call, weighed.asked), decision.widening)


async def _asked_for(  # noqa: PLR0917 - as above
    session: Session,
    use: ToolUse,
    call: Call,
    weighed: _Weighed,
    ask: Ask,
    emit: Listener,
    preview: Preview,
) -> Permit:
    """Ask, and take a yes for what it was for.

    Raises:
        ToolError: A no, or it would do something else by now.
    """
    permit = Permit(_judged(call, weighed.asked))
    shown = await preview(permit)
    try:
        answer = await _answer(session, use, weighed, ask, shown, emit)
    except asyncio.CancelledError:  # the turn was stopped while the question stood
        _note(session, use, weighed)
        raise
    _note(session, use, weighed, answer)
    _check_answer(answer)
    await _check_unchanged(session, use, call, weighed, preview, shown)
    if answer != "once" and ask.rule:
        try:
            await session.parts.grant(ask.rule, answer == "always")
        except SettingsError as error:  # the yes holds all the same
            emit(Notice(use.meta.turn, "warning", str(error)))
    return msgspec.structs.replace(permit, widening=ask.widening)


def _check_answer(answer: Said) -> None:
    """Tell the model of a no.

    Raises:
        ToolError: It may not run.
    """
    if answer == "no":
        raise ToolError(
            "the user did not allow this; go on without it, or say what it is needed for"
        )
    if answer == "unanswered":
        raise ToolError(
            "nobody answered whether this may run, so it did not; go on without it, or say what "
            "it is needed for"
        )


async def _answer(  # noqa: PLR0917 - all that is shown
    session: Session, use: ToolUse, weighed: _Weighed, ask: Ask, shown: str, emit: Listener
) -> Said:
    turn = use.meta.turn
    question = question_for(use.id, weighed.asked, ask, shown, weighed.policy.sandbox)
    question = carrying(session, question, use.arguments)
    emit(
        PermissionAsked(turn, use.id, question.id, question.title, question.detail, question.reason)
    )
    answer = await session.parts.approver.ask(question)
    if not ask.rule and answer in {"session", "always"}:
        answer = "no"  # nobody was offered that
    emit(PermissionAnswered(turn, use.id, question.id, answer))
    return answer


async def _weigh(session: Session, use: ToolUse, call: Call) -> _Weighed:
    """Decide by the rules of now; where that fails, the answer is no (POL-20).

    Raises:
        ToolError: A path of the call is none that tools may go to.
    """
    asked, policy = await asked_of(session, use, call.facts), Policy("plan")
    try:
        policy = session.parts.policy()
        if asked.effect == "run" and not policy.writes_confined:
            found = await asyncio.to_thread(session.parts.secret_files)
            policy = msgspec.structs.replace(policy, secret_files=found)
        asked = await with_scripts(session, asked)
        return _Weighed(asked, decide(asked, policy), policy)
    except Exception:  # noqa: BLE001 - the boundary of the policy: an error is a denial
        _log.exception("a call could not be decided on")
        reason = "Indwell could not decide on this call, through a fault of its own; tell the user"
        return _Weighed(asked, Deny(reason, by="fault"), policy)


async def _check_unchanged(  # noqa: PLR0917 - all that an answer is bound to
    session: Session, use: ToolUse, call: Call, weighed: _Weighed, preview: Preview, shown: str
) -> None:
    """A yes is for what was shown: the same paths, the same change, under the rules of now.

    Raises:
        ToolError: Something moved while the question stood; nothing was done.
    """
    now = await _weigh(session, use, call)
    again = await preview(Permit(_judged(call, now.asked)))
    # Somebody may type above the lines that were shown while the question stands. That moves the
    # same change by some lines; the lines themselves, and those around them, are what was allowed.
    if now.asked != weighed.asked or _HUNK.sub("@@", again) != _HUNK.sub("@@", shown):
        raise ToolError("what it would do changed while the user was asked; nothing was done")
    if isinstance(now.decision, Deny):
        raise ToolError(f"not allowed: {now.decision.reason}")
    if now.policy.sandbox != weighed.policy.sandbox:
        raise ToolError("how commands are held changed while the user was asked; nothing was done")


def _judged(call: Call, asked: Asked) -> Mapping[str, Path]:
    return dict(zip(call.facts.paths, map(Path, asked.resolved), strict=True))


def _note(session: Session, use: ToolUse, weighed: _Weighed, answer: str = "") -> None:
    """Write down what was decided, and by which rule, for ``indwell audit``; reads are not."""
    asked, decision = weighed.asked, weighed.decision
    if asked.effect == "read" and isinstance(decision, Allow):
        return
    session.parts.log.append(
        Decided(
            turn=use.meta.turn,
            tool_use_id=use.id,
            tool=asked.tool,
            what=asked.command or ", ".join(asked.paths),
            cwd=asked.cwd,
            decision=_WORDS[type(decision)],
            rule=decision.by,
            reason="" if isinstance(decision, Allow) else decision.reason,
            answer=answer,
            widening="" if isinstance(decision, Deny) else decision.widening.words,
            sandbox=_held(weighed),
            at=session.timestamp(),
        )
    )


def _held(weighed: _Weighed) -> str:
    """How a command is held if it runs, in words; empty for all else."""
    decision = weighed.decision
    if weighed.asked.effect != "run" or isinstance(decision, Deny):
        return ""
    return "not sandboxed" if decision.widening.unconfined else weighed.policy.sandbox
