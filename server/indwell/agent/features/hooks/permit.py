"""Decides whether a hook may run, by the same policy as a command of the agent.

The user's own hook is as good as an answer; a project's that would be asked for is asked for once
a session. Nothing that is denied to a command runs as a hook.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from indwell.agent.core.events import Listener, Notice, PermissionAnswered, PermissionAsked
from indwell.agent.core.session import Session
from indwell.agent.features.hooks.book import FoundHook, HookBook
from indwell.agent.permission.evaluate_policy import OWN_RULE, Weighed, weighed
from indwell.errors import ToolError
from indwell.policy.approvals import Said, question_for
from indwell.policy.call_facts import Allow, Ask, Deny, may_stand, rule_of
from indwell.policy.decide import decide, judged
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sessions.told import Decided, Verdict

HOOK = "hook"  # what the log calls it
RESTRICTED = "restricted folder"  # by what is denied there
_FOR_PEOPLE = {
    RESTRICTED: "its folder is not trusted, and nothing runs there until you trust it",
    "plan": "the mode is `plan`, and nothing here keeps it from changing something",
}
"""Reasons of denials are worded for a model; by the rule."""
_YES: frozenset[Said] = frozenset({"once", "session", "always", "beforehand"})


class RefusedHook(msgspec.Struct, frozen=True):
    """It does not run; ``why`` is a clause; ``by_user``: asked for it, nobody said yes."""

    why: str
    by_user: bool = False


class _HookRun(msgspec.Struct, frozen=True):
    """A run of a hook that is to be decided on."""

    turn: int
    id: str
    found: FoundHook


async def hook_permit(  # noqa: PLR0917 - what runs where, and who is told
    session: Session,
    turn: int,
    run_id: str,
    found: FoundHook,
    folder: Path,
    emit: Listener,
) -> Widening | RefusedHook:
    """What a hook may do beyond the sandbox, if it may run; it is written down for the audit."""
    run = _HookRun(turn, run_id, found)
    try:
        seen = await weighed(session, found.hook.command, folder)
    except ToolError as error:
        return RefusedHook(str(error))
    match seen.decision:
        case Allow(widening=widening):
            _note(session, run, seen)
            return widening
        case Deny(reason=reason, by=by):
            if found.is_own and _only_reads(seen, by):
                _note(session, run, seen, decision="allow", rule="hooks")
                return Widening(reads_only=True)
            _note(session, run, seen)
            return RefusedHook(_FOR_PEOPLE.get(by, reason))
        case Ask(by=by) if found.is_own and not by.startswith(OWN_RULE):
            _note(session, run, seen, decision="allow", rule="hooks")
            return NOTHING_MORE
        case Ask() as ask:
            async with session.asking:
                answer = await _answered(session, run, seen, ask, emit)
            if isinstance(answer, RefusedHook):
                return answer
            return await _unchanged(session, run, seen, folder) or answer


async def _unchanged(
    session: Session, run: _HookRun, seen: Weighed, folder: Path
) -> RefusedHook | None:
    """Why a yes does not hold any more; None if scripts and rules are those of the question."""
    try:
        now = await weighed(session, run.found.hook.command, folder)
    except ToolError as error:
        return RefusedHook(str(error))
    if isinstance(now.decision, Deny):
        _note(session, run, now)
        return RefusedHook(now.decision.reason)
    if now.asked != seen.asked or now.policy.sandbox != seen.policy.sandbox:
        return RefusedHook("what it would run, or its sandbox, changed while you were asked")
    return None


def _only_reads(seen: Weighed, by: str) -> bool:
    """Does the sandbox let it read and nothing else, where it is denied for what it could do more?

    In a folder that is not trusted that is not enough: nothing of the folder may be started, and
    only of what is known to read is that sure. So a grep through the user's words works there.
    """
    if not seen.policy.writes_confined:
        return False
    if by != RESTRICTED:
        return by == "plan"
    anywhere = msgspec.structs.replace(seen.policy, restricted=())
    allowed = decide(seen.asked, anywhere)
    return isinstance(allowed, Allow) and judged(seen.asked, seen.policy).reads_only


async def _answered(
    session: Session, run: _HookRun, seen: Weighed, ask: Ask, emit: Listener
) -> Widening | RefusedHook:
    """The user's answer: a no is for the command, a yes also for the scripts as they were."""
    answers, command = session.parts.features.door(HookBook).answers, run.found.hook.command
    rule = rule_of(seen.asked, widening=ask.widening)
    yes = answers.get(command, answers.get(rule))
    if yes is None:
        yes = await _asked(session, run, seen, ask, emit)
        if not yes and not run.found.is_own:
            words = f"{run.found.name} is passed over in this session: it was not allowed to run"
            emit(Notice(run.turn, "info", words))
        if not yes or may_stand(seen.asked, ask.widening):
            answers[rule if yes else command] = yes
    else:
        _note(session, run, seen, answer="session" if yes else "no")
    if not yes:
        return RefusedHook("you did not allow it to run in this session", by_user=True)
    return ask.widening


async def _asked(session: Session, run: _HookRun, seen: Weighed, ask: Ask, emit: Listener) -> bool:
    event = run.found.hook.event
    whose = "a hook of yours" if run.found.is_own else "a hook of this project"
    reason = f"{whose} for {event}, asked once a session; {ask.reason}"
    worded = msgspec.structs.replace(ask, reason=reason, rule="")
    question = question_for(run.id, seen.asked, worded, "", seen.policy.sandbox)
    emit(
        PermissionAsked(
            run.turn, run.id, question.id, question.title, question.detail, question.reason
        )
    )
    _note(session, run, seen)  # as long as the question stands, and if it never is answered
    said: Said = "unanswered"
    try:
        reply = await session.parts.approver.ask(question)
        said = reply if isinstance(reply, str) else "no"
    finally:
        emit(PermissionAnswered(run.turn, run.id, question.id, said))
    _note(session, run, seen, answer=said)
    return said in _YES


def _note(
    session: Session,
    run: _HookRun,
    seen: Weighed,
    *,
    decision: Verdict | None = None,
    rule: str = "",
    answer: str = "",
) -> None:
    found = seen.decision
    names: Mapping[type, Verdict] = {Allow: "allow", Ask: "ask", Deny: "deny"}
    verdict = decision or names[type(found)]
    session.parts.log.append(
        Decided(
            turn=run.turn,
            tool_use_id=run.id,
            tool=HOOK,
            what=run.found.hook.command,
            cwd=seen.asked.cwd,
            decision=verdict,
            rule=rule or found.by,
            reason="" if decision or isinstance(found, Allow) else found.reason,
            answer=answer,
            widening="" if isinstance(found, Deny) else found.widening.words,
            sandbox="" if verdict == "deny" else seen.policy.sandbox,
            at=session.timestamp(),
        )
    )


def note_ending(session: Session, turn: int, run_id: str, found: FoundHook, words: str) -> None:
    """Write down how a hook ended that was allowed."""
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=run_id,
            tool=HOOK,
            what=found.hook.command,
            decision="allow",
            at=session.timestamp(),
            ending=words,
        )
    )
