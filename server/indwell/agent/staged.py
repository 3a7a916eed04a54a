"""Protected files in git's index or commits: told, asked about, and never sent unasked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from indwell.agent.events import Listener, Notice, PermissionAnswered, PermissionAsked
from indwell.agent.git_entries import Entry
from indwell.agent.session import Session
from indwell.messages import ToolUse
from indwell.policy.approvals import Question, Said, one_line
from indwell.policy.widening import Widening
from indwell.tools.base import Call, Outcome

MOST_NAMED = 20  # entries that a question or a result lists
REASON = (
    "a checkout puts them where tools run or obey them, though no file of these names was written"
)
UNCOVERED = "it is about protected files"


async def before_command(session: Session, call: Call, turn: int) -> None:
    """Note what git holds, before anything is decided about a command."""
    git = session.parts.git
    if git is not None and call.effect == "run":
        await git.begin(turn)


async def after_command(  # noqa: PLR0917 - what a call is, and who is told and asked
    session: Session, use: ToolUse, call: Call, widening: Widening, outcome: Outcome, emit: Listener
) -> Outcome:
    """Look at what the command brought into git; what it is told of that stands in the outcome."""
    git = session.parts.git
    if git is None or call.effect != "run":
        return outcome
    new = await git.look(fetches=bool(widening.hosts or widening.unconfined))
    if not new:
        return outcome
    if widening.writes_protected and all(one.blob for one in new):
        git.agree(new)  # that was the question before the command
        return outcome
    answer = await _asked(session, use, new, emit)
    if answer == "once":
        git.agree(new)
        said = "the user allowed that"
    else:
        said = (
            "the user did not allow that: take it out again (`git rm --cached`, `git reset`, "
            "`git replace -d`); until then nothing is sent anywhere without a question"
        )
    named = ", ".join(one.words for one in new[:MOST_NAMED])
    more = f" and {len(new) - MOST_NAMED:,} more" if len(new) > MOST_NAMED else ""
    told = f"protected files came into git: {named}{more}; {said}"
    emit(Notice(use.meta.turn, "warning", told))
    return msgspec.structs.replace(outcome, text=f"{outcome.text}\n[{told}]")


async def _asked(session: Session, use: ToolUse, new: Sequence[Entry], emit: Listener) -> Said:
    turn = use.meta.turn
    question = _question(use, new)
    async with session.asking:
        emit(PermissionAsked(turn, use.id, question.id, question.title, question.detail, REASON))
        answer: Said = "unanswered"
        try:
            reply = await session.parts.approver.ask(question)
            answer = reply if isinstance(reply, str) else "no"
            # A yes of before, or for longer, is none to this.
            answer = answer if answer in {"once", "no", "uncovered"} else "no"
        finally:
            emit(PermissionAnswered(turn, use.id, question.id, answer))
    return answer


def _question(use: ToolUse, new: Sequence[Entry]) -> Question:
    lines = [one_line(one.words) for one in new]
    detail = "\n".join(lines[:MOST_NAMED])
    if len(lines) > MOST_NAMED:
        detail += f"\nand {len(lines) - MOST_NAMED:,} more"
    bound = repr((use.id, new)).encode("utf-8", "backslashreplace")
    return Question(
        id=hashlib.blake2b(bound, digest_size=16).hexdigest(),
        title="Keep these protected files in git?",
        detail=detail,
        reason=REASON,
        rule="",
        uncovered=UNCOVERED,
    )
