"""Prepares a conversation for a model call: repairs it, adds reminders, drops refused pictures."""

from __future__ import annotations

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.agent.core.turn_state import TurnState
from indwell.agent.review.rejected_changes import verdict_blocks
from indwell.context import conversation as talk
from indwell.context.conversation import counted
from indwell.context.pairing import problems, repair
from indwell.context.request.assemble import without_pictures


def mend(session: Session, turn: int, emit: Listener) -> None:
    """Repair calls without results; an endpoint would refuse them in every later request."""
    session.conversation = now = counted(session.conversation)
    if not problems(now.messages, start=now.tally.n):
        return
    messages, notes = repair(now.messages)
    if notes:
        session.mend(messages, notes)
        what = f"the conversation was mended before it was sent: {'; '.join(notes)}"
        emit(events.Notice(turn, "warning", what))


async def tell_news(session: Session, turn: TurnState, emit: Listener) -> None:
    """Add what has changed since the last request."""
    await _tell_aftermath(session, turn.number, emit)


async def _tell_aftermath(session: Session, turn: int, emit: Listener) -> None:
    """Add what became of the files that the model knows (editor §4), and all reminders."""
    parts = session.parts
    if session.helping is None:  # verdicts on a sub-agent's changes go to its parent
        told = await verdict_blocks(session, turn)
        session.conversation = talk.queue(session.conversation, told)
    blocks = await session.aftermath.blocks(
        session.seen, parts.workspace, parts.hidden, turn=turn, hide=parts.hide
    )
    session.conversation = talk.queue(session.conversation, blocks)
    for reminder in await parts.features.reminders(Moment(session, turn, emit)):
        session.conversation = talk.queue(session.conversation, reminder.blocks)
        reminder.told()


def leave_out_pictures(session: Session, turn: int, emit: Listener) -> bool:
    """Remove pictures that the endpoint refuses from the conversation; False if it has none.

    The endpoint would refuse them in every later request, so the session could not go on.
    """
    before = session.conversation
    after = without_pictures(before)
    if after is before:
        return False
    what = "pictures were left out, because the endpoint refused them"
    session.mend(after.messages, (what,))
    emit(events.Notice(turn, "warning", what))
    return True
