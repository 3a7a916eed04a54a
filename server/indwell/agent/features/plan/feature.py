"""The plan as a feature: its records, its document, the model's reminders, its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.agent.core.events import PlanChanged
from indwell.agent.core.feature import DurableState, Ended, Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.agent.features.plan.board import APPROVED, NAME, PlanBoard, make_plan
from indwell.context.injections import inject
from indwell.context.plan import MOST_BYTES, Plan, inherited
from indwell.errors import SessionError, ToolError, UserError
from indwell.files import exists, read_bytes
from indwell.messages import Source, Text
from indwell.prompt.system import mode_words, plan_mode_words
from indwell.sessions.branches import plan_of
from indwell.sessions.display_records import PlanSet
from indwell.sessions.records import Record, TurnStartRecord
from indwell.settings.model import Mode

DOCUMENT = "plan.md"  # its file name, behind a number

_log = logging.getLogger(__name__)


class PlanState(NamedTuple):
    """What survives a restart; ``told_turn`` as in ``PlanBoard``."""

    plan: Plan
    told_turn: int


def plan_feature(board: PlanBoard, mode: Callable[[], Mode]) -> Feature[Session]:
    """Return the plan of one session as a feature; ``mode`` returns the current mode."""

    async def remind(moment: Moment[Session]) -> Reminder:
        def told() -> None:
            in_plan_mode = moment.session.parts.rules().mode == "plan"
            board.told_turn = moment.turn if in_plan_mode else 0

        return Reminder(_blocks(board, moment.session, moment.turn), told)

    async def end(moment: Moment[Session], how: Ended) -> None:
        if how.ending == "done":
            await _finish(board, moment, how.words)

    def ends_turn(turn: int) -> str | None:
        return board.plan.text if board.take_end(turn) else None

    def unpinned() -> frozenset[Source]:
        return frozenset() if board.plan.state == "approved" else frozenset({"plan"})

    def restore(state: PlanState) -> None:
        board.plan, board.told_turn = state

    def inherit(state: PlanState) -> None:
        if board.plan == Plan():
            board.adopt(inherited(state.plan))

    return Feature(
        name=NAME,
        tools=(make_plan(board, mode),),
        door=board,
        tell=lambda moment: tell_plan(board, moment),
        remind=remind,
        ends_turn=ends_turn,
        end=end,
        unpinned=unpinned,
        state=DurableState(
            read=_read,
            now=lambda: PlanState(board.plan, board.told_turn),
            restore=restore,
            inherit=inherit,
        ),
        for_child=lambda: None,
    )


def board_of(session: Session) -> PlanBoard:
    """Return the plan of a session, for front doors.

    Raises:
        LookupError: The session has no plan, like a sub-agent's.
    """
    return session.parts.features.door(PlanBoard)


def _read(branch: Sequence[Record], _records: Sequence[Record]) -> PlanState:
    begun = next((one for one in reversed(branch) if isinstance(one, TurnStartRecord)), None)
    in_plan_mode = begun is not None and begun.mode == "plan"
    return PlanState(plan_of(branch), begun.turn if begun and in_plan_mode else 0)


async def tell_plan(board: PlanBoard, moment: Moment[Session]) -> None:
    """Log a changed plan, write its document if it has none, and emit its event.

    If this is cancelled while the document is written, nothing is emitted, and the next call does
    it.
    """
    session = moment.session
    while board.is_news:
        before = board.plan
        plan = await _with_document(session, before)
        if board.plan is not before:  # changed, or told by another call
            continue
        board.take_news()
        board.plan = plan
        at = session.timestamp()
        session.parts.log.append(PlanSet(moment.turn, plan.state, plan.text, at, plan.path))
        moment.emit(PlanChanged(moment.turn, plan.state, plan.text, plan.path))


async def _with_document(session: Session, plan: Plan) -> Plan:
    """Return the plan with a new document, so that the user's text is never overwritten."""
    if plan.path or not plan.text:
        return plan
    try:
        path = await session.parts.spill.keep(DOCUMENT, f"{plan.text}\n")
    except SessionError as error:  # the log and the client have the text all the same
        _log.warning("a plan has no document: %s", error)
        return plan
    return msgspec.structs.replace(plan, path=str(path))


async def _finish(board: PlanBoard, moment: Moment[Session], words: str) -> None:
    """Finish the plan that the ended turn carried out, unless steps are left.

    A turn carried the plan out if it began with the approval or changed something; ``words`` are
    the user's.
    """
    session = moment.session
    turn = session.under_way
    if board.plan.state != "approved" or session.parts.rules().mode == "plan" or turn is None:
        return
    is_work = bool(turn.changes) or board.steps().written_in == moment.turn
    if board.has_open_steps() or not (is_work or words.startswith(APPROVED)):
        return
    board.take("finish")
    await tell_plan(board, moment)


def _blocks(board: PlanBoard, session: Session, turn: int) -> tuple[Text, ...]:
    """Return the mode if it is news, and the approved plan; a sent block is not repeated."""
    parts = session.parts
    mode = parts.rules().mode
    if mode == "plan":
        if board.told_turn == turn:
            return ()
        can_propose = parts.tools.has(NAME)
        return (inject("reminder", plan_mode_words(can_propose=can_propose), turn=turn),)
    blocks: list[Text] = []
    if board.told_turn:
        blocks.append(inject("reminder", mode_words(mode), turn=turn))
    if board.plan.state == "approved":
        blocks.append(inject("plan", board.plan.text, turn=turn))
    return tuple(blocks)


def written_plan(plan: Plan) -> str:
    """Return the plan as its document has it now, or the session's if the document is gone.

    Raises:
        UserError: The document cannot be read, so the user's changes are unknown.
    """
    if not plan.path:
        return plan.text
    path = Path(plan.path)
    try:
        return read_bytes(path, [path.parent], MOST_BYTES).decode("utf-8", "replace")
    except ToolError as error:
        if not exists(path):
            return plan.text
        raise UserError(f"the plan's document cannot be read ({error}); mend it") from error
