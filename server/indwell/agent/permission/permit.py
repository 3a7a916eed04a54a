"""Decides whether a call may run: evaluates, asks the user, binds the answer to what was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.agent.core.events import Listener, Notice, PermissionAnswered, PermissionAsked
from indwell.agent.core.session import Session
from indwell.agent.permission.evaluate_policy import Weighed, first_weighed, note, weigh
from indwell.agent.permission.redaction import carrying
from indwell.errors import SettingsError, ToolError
from indwell.messages import ToolUse
from indwell.policy.approvals import (
    UNHELD,
    Chosen,
    Question,
    Reply,
    Said,
    chosen_of,
    question_for,
    why_uncovered,
)
from indwell.policy.call_facts import Ask, CallFacts, Deny
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.tools.base import Call, Preview
from indwell.workspace.comparing.hunks import diff_hunks, is_same_change

MOST_REFUSED = 5  # questions in a row without a yes; then the turn asks no more
NO_MORE = (
    f"{MOST_REFUSED} questions in a row got no yes, so nothing more is asked in this turn; "
    "what would need it is not done"
)


class Permit(msgspec.Struct, frozen=True):
    """Permission for a call, and its bounds.

    Attributes:
        judged: Where the call's paths led at the decision.
        widening: What the call may do beyond the sandbox.
        chosen: The hunks of its preview that the user allowed, if not all.
        was_reviewed: Whether the user saw the diff of the change and allowed it.
    """

    judged: Mapping[str, Path] = {}
    widening: Widening = NOTHING_MORE
    chosen: Chosen | None = None
    was_reviewed: bool = False


Previewing: TypeAlias = Callable[[Permit], Awaitable[Preview]]
"""Returns what a call would change, given the permit with its resolved paths."""


async def permitted(  # noqa: PLR0917 - what a call is, and who is told and asked
    session: Session,
    use: ToolUse,
    call: Call,
    emit: Listener,
    preview: Previewing,
    asking: asyncio.Lock,
) -> Permit:
    """The permit for a call; asks the user if the policy demands it.

    The lock ``asking`` allows one question at a time, so that no answer is taken for another's.

    Raises:
        ToolError: The call may not run; the model reads why.
    """
    weighed = await first_weighed(session, use, call)
    decision = weighed.decision
    if isinstance(decision, Ask):
        async with asking:
            weighed = await weigh(session, call)  # the answer before may have allowed this call
            decision = weighed.decision
            if isinstance(decision, Ask):
                _check_patience(session, use, weighed)
                return await _asked_for(session, use, call, weighed, decision, emit, preview)
    note(session, use, weighed)
    if isinstance(decision, Deny):
        raise ToolError(f"not allowed: {decision.reason}")
    return Permit(_judged(call, weighed.asked), decision.widening)


async def _asked_for(  # noqa: PLR0917 - as above
    session: Session,
    use: ToolUse,
    call: Call,
    weighed: Weighed,
    ask: Ask,
    emit: Listener,
    preview: Previewing,
) -> Permit:
    """Ask the user; a yes holds for exactly what was shown.

    Raises:
        ToolError: The user refused, or the call would do something else by now.
    """
    permit = Permit(_judged(call, weighed.asked))
    shown = await preview(permit)
    note(session, use, weighed)  # recorded first, in case the question is never answered
    reply = await _answer(session, use, weighed, ask, shown, emit)
    answer: Said = "hunks" if isinstance(reply, Chosen) else reply
    note(session, use, weighed, _answer_words(reply))
    asker = _asker(session)
    asker.refused = asker.refused + 1 if answer in {"no", "unanswered"} else 0
    if asker.refused == MOST_REFUSED:
        emit(Notice(use.meta.turn, "warning", NO_MORE))
    _check_answer(answer, weighed, ask)
    await _check_unchanged(session, call, weighed, preview, shown)
    if answer in {"session", "always"} and ask.rule:
        try:
            await session.parts.grant(ask.rule, answer == "always")
        except SettingsError as error:  # the yes holds for this call
            emit(Notice(use.meta.turn, "warning", str(error)))
    return msgspec.structs.replace(
        permit,
        widening=ask.widening,
        chosen=reply if isinstance(reply, Chosen) else None,
        was_reviewed=bool(shown.diff) and answer != "beforehand",
    )


def _answer_words(reply: Reply) -> str:
    """An answer as it is written down."""
    if isinstance(reply, Chosen):
        return f"{len(reply.hunks)} of {len(reply.of)} hunks"
    return reply


def _asker(session: Session) -> Session:
    """Whose user is asked: a sub-agent gets no patience of its own."""
    return session if session.helping is None else session.helping.session


def _check_patience(session: Session, use: ToolUse, weighed: Weighed) -> None:
    """Ask no more in this turn after several refusals in a row.

    Raises:
        ToolError: The call may not run, and the user is not asked.
    """
    if _asker(session).refused < MOST_REFUSED:
        return
    decision = Deny(f"{MOST_REFUSED} questions in a row got no yes", by="no more questions")
    note(session, use, msgspec.structs.replace(weighed, decision=decision))
    raise ToolError(
        f"not allowed: the last {MOST_REFUSED} questions to the user got no yes, so nothing more "
        "is asked in this turn; go on with what needs no question, or end the turn and say what "
        "you would do"
    )


def _check_answer(answer: Said, weighed: Weighed, ask: Ask) -> None:
    """Return if the answer allows the call.

    Raises:
        ToolError: The answer refuses it; the model reads why.
    """
    if answer == "no":
        raise ToolError(
            "the user did not allow this; go on without it, or say what it is needed for"
        )
    if answer == "uncovered":
        why = why_uncovered(weighed.asked, ask, is_held=weighed.policy.sandbox != UNHELD)
        raise ToolError(
            f"not allowed: the user allowed commands beforehand (--allow-commands), but that does "
            f"not cover this one, as {why or 'it is more than that'}; nobody can be asked, so go "
            "on without it"
        )
    if answer == "unanswered":
        raise ToolError(
            "nobody answered whether this may run, so it did not; go on without it, or say what "
            "it is needed for"
        )


async def _answer(  # noqa: PLR0917 - all that is shown
    session: Session, use: ToolUse, weighed: Weighed, ask: Ask, shown: Preview, emit: Listener
) -> Reply:
    turn = use.meta.turn
    question = await asyncio.to_thread(_question, use, weighed, ask, shown)
    question = carrying(session, question, weighed.asked.arguments)
    if session.helping is not None:
        title = f"Sub-agent {session.helping.name}: {question.title}"
        question = msgspec.structs.replace(question, title=title)
    emit(
        PermissionAsked(turn, use.id, question.id, question.title, question.detail, question.reason)
    )
    try:
        reply = await session.parts.approver.ask(question)
    except asyncio.CancelledError:  # the turn is stopped: front doors withdraw the question
        emit(PermissionAnswered(turn, use.id, question.id, "unanswered"))
        raise
    answer = chosen_of(question, reply)
    if isinstance(answer, Chosen):
        emit(PermissionAnswered(turn, use.id, question.id, "hunks", answer.hunks))
        return answer
    if not ask.rule and answer in {"session", "always"}:
        answer = "no"  # the question did not offer this answer
    emit(PermissionAnswered(turn, use.id, question.id, answer))
    return answer


def _question(use: ToolUse, weighed: Weighed, ask: Ask, shown: Preview) -> Question:
    """The question; run this in a thread, because a long diff takes a while."""
    hunks = diff_hunks(shown.diff) if shown.by_hunk else ()
    return question_for(use.id, weighed.asked, ask, shown.diff, weighed.policy.sandbox, hunks)


async def _check_unchanged(
    session: Session,
    call: Call,
    weighed: Weighed,
    preview: Previewing,
    shown: Preview,
) -> None:
    """Check that paths, change and current policy still are what the user was shown.

    Raises:
        ToolError: Something changed during the question; nothing was done.
    """
    now = await weigh(session, call)
    again = await preview(Permit(_judged(call, now.asked)))
    texts = shown.diff, shown.before, again.diff, again.before
    if now.asked != weighed.asked or not await asyncio.to_thread(is_same_change, *texts):
        raise ToolError("what it would do changed while the user was asked; nothing was done")
    if isinstance(now.decision, Deny):
        raise ToolError(f"not allowed: {now.decision.reason}")
    if now.policy.sandbox != weighed.policy.sandbox:
        raise ToolError("how commands are held changed while the user was asked; nothing was done")


def _judged(call: Call, asked: CallFacts) -> Mapping[str, Path]:
    return dict(zip(call.facts.paths, map(Path, asked.resolved), strict=True))
