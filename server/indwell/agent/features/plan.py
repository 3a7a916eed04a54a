"""Manages the plan of a session: the tool ``plan``, log records, the plan's document.

Each change writes the complete plan to the log, so a resumed, forked or rewound session has the
right plan. The plan is not part of the prompt prefix. An approved plan is sent to the model at the
end of a request, word for word, and compaction keeps the plan.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from indwell.agent.core.events import PlanChanged
from indwell.agent.core.feature import DurableState, Ended, Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.context.task_state import (
    MOST_BYTES,
    Plan,
    PlanInput,
    TodoItem,
    inherited,
    is_open,
    next_state,
    plan_text,
)
from indwell.context.untrusted_text import narrow
from indwell.errors import SessionError, ToolError, UserError
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import exists
from indwell.messages import Source, Text
from indwell.prompt.system import mode_words, plan_mode_words
from indwell.sessions.branches import plan_of
from indwell.sessions.records import PlanSet, Record, TurnStartRecord
from indwell.settings.model import Mode
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "plan"
APPROVED = "The plan is approved: carry it out."
"""The prompt of the turn that carries out the approved plan."""

SHOWN = "the plan is shown to the user, who approves it or says what should be different"
NOT_NEEDED = "the mode is `{mode}`, in which no plan needs approval: go on with the work itself"


class Steps(NamedTuple):
    """The steps of the to-do list, and the turn in which the model wrote them."""

    items: tuple[TodoItem, ...] = ()
    written_in: int = 0


class PlanBoard:
    """The plan of one session, and whether the model knows the plan's present state.

    Args:
        steps: Returns the to-do list of the session.

    Attributes:
        plan: The present plan.
        proposed_in: The turn in which the model proposed the plan, or 0 if another process ran the
            turn.
        told_turn: The last turn in which the model was told that the mode is ``plan``, or 0 if the
            model was last told of another mode.
        older_steps: The to-do list at the time of approval; its open steps are not part of the
            plan.
    """

    def __init__(self, steps: Callable[[], Steps] = Steps) -> None:
        self.steps = steps
        self.plan = Plan()
        self.told_turn = 0
        self.older_steps: tuple[TodoItem, ...] = ()
        self._is_news = False
        self.proposed_in = 0
        self._ends_turn = False

    @property
    def is_news(self) -> bool:
        """Return whether the client or the log lacks the present plan."""
        return self._is_news

    def approve(self, text: str | None) -> None:
        """Record that the user approves the plan, with this text.

        Raises:
            UserError: See ``take``.
        """
        self.take("approve", text)
        self.older_steps = self.steps().items

    def has_open_steps(self) -> bool:
        """Return whether the to-do list has open steps that were written after the approval."""
        items = self.steps().items
        return is_open(items) and items != self.older_steps

    def take(self, happens: PlanInput, text: str | None = None) -> None:
        """Move the plan to the next state; a ``text`` replaces the plan's text and document.

        Raises:
            UserError: The plan cannot move to this state, or the text cannot be a plan; nothing has
                changed.
        """
        state = next_state(self.plan.state, happens)
        plan = msgspec.structs.replace(self.plan, state=state)
        if text is not None and (kept := plan_text(text)) != plan.text:
            plan = Plan(state, kept)
        self._ends_turn = False
        self.adopt(plan)

    def rewrite(self, text: str) -> None:
        """Replace the plan's text with the user's text in the plan's document.

        Raises:
            UserError: The plan cannot be changed now, or the text cannot be a plan.
        """
        state = next_state(self.plan.state, "edit")
        self.adopt(Plan(state, plan_text(text), self.plan.path))

    def adopt(self, plan: Plan) -> None:
        """Use a plan unchanged, such as the plan of another session."""
        self._is_news |= plan != self.plan
        self.plan = plan

    def tell_again(self) -> None:
        """Mark the plan as changed, so that a missing document is written again."""
        self._is_news = True

    def propose(self, text: str, turn: int) -> None:
        """Propose a plan and end the turn; the user sees all characters of the plan.

        Raises:
            UserError: The text cannot be a plan.
        """
        self.take("propose", narrow(text.replace("\r\n", "\n").strip()))
        self._is_news = self._ends_turn = True  # An equal text still counts as a new proposal.
        self.proposed_in = turn

    def take_news(self) -> bool:
        """Return whether the plan has changed since the last call."""
        was_news, self._is_news = self._is_news, False
        return was_news

    def take_end(self, turn: int) -> bool:
        """Return whether this turn has proposed a plan since this method was last called."""
        ends, self._ends_turn = self._ends_turn and self.proposed_in == turn, False
        return ends


class PlanToolArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``plan``."""

    text: Annotated[str, Meta(description="Markdown: steps, files, checks")]


def make_plan(board: PlanBoard, mode: Callable[[], Mode]) -> Tool[PlanToolArguments]:
    """Make the tool ``plan`` for the session of ``board``; ``mode`` returns the current mode."""

    async def run(arguments: PlanToolArguments, context: ToolContext) -> Outcome:
        if (now := mode()) != "plan":
            return Outcome(NOT_NEEDED.format(mode=now), figure="not needed")
        text = await asyncio.to_thread(context.hide, arguments.text)
        try:
            board.propose(text, context.turn)
        except UserError as error:
            raise ToolError(str(error)) from error
        return Outcome(SHOWN, figure="proposed")

    return Tool(
        name=NAME,
        description="In mode `plan`, propose what you would do. The user approves or edits it.",
        arguments=PlanToolArguments,
        effect="read",
        facts=lambda _: ToolFacts(tool=NAME, effect="read"),
        run=run,
    )


DOCUMENT = "plan.md"  # the file name of the plan's document, with a number before it

_log = logging.getLogger(__name__)


class PlanState(NamedTuple):
    """The stored state of the plan; ``told_turn`` is explained in ``PlanBoard``."""

    plan: Plan
    told_turn: int


def plan_feature(board: PlanBoard, mode: Callable[[], Mode]) -> Feature[Session]:
    """Return the feature for one session's plan; ``mode`` returns the current mode."""

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
    """Return the plan of a session, for user interfaces.

    Raises:
        LookupError: A sub-agent's session, for example, has no plan.
    """
    return session.parts.features.door(PlanBoard)


def _read(branch: Sequence[Record], _records: Sequence[Record]) -> PlanState:
    begun = next((one for one in reversed(branch) if isinstance(one, TurnStartRecord)), None)
    in_plan_mode = begun is not None and begun.mode == "plan"
    return PlanState(plan_of(branch), begun.turn if begun and in_plan_mode else 0)


async def tell_plan(board: PlanBoard, moment: Moment[Session]) -> None:
    """Log a changed plan, write a missing document, and emit the event.

    If a cancellation interrupts the writing of the document, the next call emits the event.
    """
    session = moment.session
    while board.is_news:
        before = board.plan
        plan = await _with_document(session, before)
        # The plan has changed meanwhile, or another call has emitted the event.
        if board.plan is not before:
            continue
        board.take_news()
        board.plan = plan
        at = session.timestamp()
        session.parts.log.append(PlanSet(moment.turn, plan.state, plan.text, at, plan.path))
        moment.emit(PlanChanged(moment.turn, plan.state, plan.text, plan.path))


async def _with_document(session: Session, plan: Plan) -> Plan:
    """Return the plan with a new document file; existing documents are never overwritten."""
    if plan.path or not plan.text:
        return plan
    try:
        path = await session.parts.spill.keep(DOCUMENT, f"{plan.text}\n")
    except SessionError as error:  # The log and the client still contain the plan's text.
        _log.warning("the plan's document could not be written: %s", error)
        return plan
    return msgspec.structs.replace(plan, path=str(path))


async def _finish(board: PlanBoard, moment: Moment[Session], words: str) -> None:
    """Mark the plan as done if the ended turn carried it out and no step is open.

    A turn carried out the plan if the turn began with the approval or changed a file; ``words`` is
    the user's prompt.
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
    """Return the blocks that are not sent yet: about a new mode, and with the approved plan."""
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
    """Return the text of the plan's document, or the session's text if no document exists.

    Raises:
        UserError: The document cannot be read, so the user's changes are unknown.
    """
    if not plan.path:
        return plan.text
    path = Path(plan.path)
    if not path.is_absolute():  # The log was written on another operating system.
        return plan.text
    try:
        return read_bytes(path, [path.parent], MOST_BYTES).decode("utf-8", "replace")
    except ToolError as error:
        if not exists(path):
            return plan.text
        raise UserError(f"the plan's document cannot be read ({error}); fix it") from error
