"""What the log, the client and the next request hear of the plan, and of the mode it is made in."""

from __future__ import annotations

import logging

import msgspec

from indwell.agent.events import Listener, PlanChanged
from indwell.agent.plan_board import APPROVED, NAME
from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.plan import Plan
from indwell.errors import SessionError
from indwell.messages import Text
from indwell.prompt.planning import mode_words, plan_mode_words
from indwell.sessions.told import PlanSet

DOCUMENT = "plan.md"  # its name, behind a number

_log = logging.getLogger(__name__)


async def tell_plan(session: Session, turn: int, emit: Listener) -> None:
    """Write a changed plan down, give it a document if it has none, and tell of it.

    Who is stopped while the document is written has told nothing: it is news for the next one.
    """
    board = session.parts.plan
    while board.is_news:
        before = board.plan
        plan = await _with_document(session, before)
        if board.plan is not before:  # changed, or told by somebody else
            continue
        board.take_news()
        board.plan = plan
        at = session.timestamp()
        session.parts.log.append(PlanSet(turn, plan.state, plan.text, at, plan.path))
        emit(PlanChanged(turn, plan.state, plan.text, plan.path))


async def _with_document(session: Session, plan: Plan) -> Plan:
    """Each text has a document of its own, so nothing that the user writes is written over."""
    if plan.path or not plan.text:
        return plan
    try:
        path = await session.parts.spill(DOCUMENT, f"{plan.text}\n")
    except SessionError as error:  # the log and the client have the text all the same
        _log.warning("a plan has no document: %s", error)
        return plan
    return msgspec.structs.replace(plan, path=str(path))


async def finish_plan(session: Session, turn: TurnState, words: str, emit: Listener) -> None:
    """A turn is done: so is the plan that was carried out in it, unless steps are left.

    It was if the turn began with the approval, or changed something; ``words`` are the user's.
    """
    parts, board = session.parts, session.parts.plan
    if board.plan.state != "approved" or parts.mode() == "plan":
        return
    is_work = bool(turn.changes) or board.steps().written_in == turn.number
    if board.has_open_steps() or not (is_work or words.startswith(APPROVED)):
        return
    board.take("finish")
    await tell_plan(session, turn.number, emit)


def remind_of_plan(session: Session, turn: int) -> None:
    """Let the next request end with what is new of mode and plan."""
    blocks = plan_blocks(session, turn)
    session.parts.plan.told_turn = turn if session.parts.mode() == "plan" else 0
    session.conversation = talk.queue(session.conversation, blocks)


def plan_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """The mode where it is news, and the plan that the user has approved; once sent it stays."""
    parts, board = session.parts, session.parts.plan
    mode = parts.mode()
    if mode == "plan":
        if board.told_turn == turn:
            return ()
        can_propose = any(one.name == NAME for one in parts.tools.specs)
        return (inject("reminder", plan_mode_words(can_propose=can_propose), turn=turn),)
    blocks: list[Text] = []
    if board.told_turn:
        blocks.append(inject("reminder", mode_words(mode), turn=turn))
    if board.plan.state == "approved":
        blocks.append(inject("plan", board.plan.text, turn=turn))
    return tuple(blocks)
