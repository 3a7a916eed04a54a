"""The user's actions on a proposed plan: open, edit, approve or reject the plan."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import is_blank, taken_words
from indwell.agent.core.session import Session
from indwell.agent.features.plan import APPROVED, board_of, tell_plan, written_plan
from indwell.context.task_state import Plan, PlanInput, next_state
from indwell.errors import UserError
from indwell.service.configuration import Configuration
from indwell.service.sessions.open_sessions import OpenSessions
from indwell.service.sessions.session_commands import SessionCommands
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.service.turns import queue as line
from indwell.service.turns.queue import PLAN_WAITS
from indwell.service.turns.turns import Turns
from indwell.sessions.branches import plan_of
from indwell.settings.model import Mode

BeginTurn = Callable[[Session, str, Mode | None], None]
"""Begins a turn of a session with a prompt, and in the given mode, if any."""


async def approve(session: Session, words: str = "", text: str | None = None) -> str:
    """Approve the plan of a session.

    Args:
        session: The session, in which no turn runs.
        words: The user's additional instructions.
        text: The approved text of the plan, or None for the text of its document.

    Returns:
        The prompt of the turn that carries out the plan.

    Raises:
        UserError: The session has no plan to approve, or the document is not a valid plan.
    """
    board = board_of(session)
    next_state(board.plan.state, "approve")
    if text is None:
        text = await asyncio.to_thread(written_plan, board.plan)
    board.approve(text)
    return "\n\n".join(filter(None, (APPROVED, words.strip())))


class PlanCommands:
    """Carries out the user's decisions on plans.

    Args:
        sessions: The open sessions.
        stored: All sessions.
        turns: The running turns; no turn may run in the session of the plan.
        commands: Switches to the session of a plan.
        configuration: Leaves the mode ``plan`` when a plan is approved.

    Attributes:
        document: Returns the text of a plan's document if it is open in the editor, or None.
    """

    def __init__(
        self,
        sessions: OpenSessions,
        stored: StoredSessions,
        turns: Turns,
        commands: SessionCommands,
        configuration: Configuration,
    ) -> None:
        self.document: Callable[[Path], str | None] = lambda _path: None
        self._sessions = sessions
        self._stored = stored
        self._turns = turns
        self._commands = commands
        self._configuration = configuration

    async def shown(self, wanted: str | None) -> Plan:
        """Return the plan of the named session, or of the current session if none is named.

        Raises:
            UserError: There is no such session.
        """
        if wanted is None and self._sessions.current is None:
            return Plan()
        identifier = self._sessions.id_of(wanted)
        opened = self._sessions.find(identifier)
        if opened is not None:
            return board_of(opened).plan
        return plan_of((await self._stored.session(identifier)).records)

    async def with_document(self, wanted: str | None) -> Plan:
        """Return the plan, with a document.

        If the current session's plan has no document, as in an old fork, a document is created.
        """
        plan, current = await self.shown(wanted), self._sessions.current
        if current is None or current.id != self._sessions.id_of(wanted):
            return plan
        if plan.text and not plan.path:
            board_of(current).tell_again()
            await self.tell(current)
        return board_of(current).plan

    async def edit(self, wanted: str | None, text: str | None) -> Plan:
        """Replace the text of a plan.

        Raises:
            UserError: The plan cannot be edited; the message says why.
        """
        if text is None:
            raise UserError("`edit` needs `text`, the new plan")
        session = await self._taken_up(wanted, "edit")
        board_of(session).take("edit", text)
        return await self.tell(session)

    async def approve(
        self, wanted: str | None, text: str | None, begin: BeginTurn, asked: Plan | None = None
    ) -> Plan:
        """Approve a plan, and start the turn that carries out the plan.

        Args:
            wanted: The plan's session, or None for the current session.
            text: The approved text of the plan, or None for the text of its document.
            begin: Starts the turn that carries out the plan.
            asked: The plan that the user saw; a different plan is not approved.

        Raises:
            UserError: There is no plan to approve, the plan has changed, or a turn runs in the
                session.
        """
        session = await self._taken_up(wanted, "approve")
        board = board_of(session)
        if text is None:
            await self._check_told(session)
            plan = asked or board.plan
            text = await self._words(plan)
            self._check_idle(session.id)
            if not _is_same(board.plan, plan):
                raise UserError("the plan has changed; look at it, then try again")
        words = await approve(session, text=text)
        self._leave_plan(session)
        told = await self.tell(session)
        begin(session, words, None)
        return told

    async def reject(self, wanted: str | None, words: str | None, begin: BeginTurn) -> Plan:
        """Reject a plan; with ``words``, the model revises the plan in a new turn.

        Raises:
            UserError: There is no plan to reject, or a turn runs in the session.
        """
        session = await self._taken_up(wanted, "reject")
        taken = "" if words is None or is_blank(words) else taken_words(words)
        board_of(session).take("reject")
        told = await self.tell(session)
        if taken:
            begin(session, taken, "plan")
        elif self._turns.queue.held == PLAN_WAITS:
            self._turns.change(line.released)
        return told

    async def tell(self, session: Session) -> Plan:
        """Write the plan's state to the log on disk, and notify the client."""
        moment = Moment(session, session.turns, partial(self._turns.events.tell, session.id))
        await tell_plan(board_of(session), moment)
        await session.parts.log.commit()
        return board_of(session).plan

    def _leave_plan(self, session: Session) -> None:
        """End the session's plan mode."""
        if session is self._sessions.current:
            self._configuration.leave_plan()
            return
        settings = self._sessions.settings_of(session)
        assert settings is not None, "the session was taken up"
        settings.leave_plan()

    async def _taken_up(self, wanted: str | None, happens: PlanInput) -> Session:
        """Return the named session, opened and idle, if its plan allows the change.

        The session becomes the current one, unless a turn of the current session runs.

        Raises:
            UserError: The session cannot be opened, a turn runs in the session, or the plan does
                not allow the change.
        """
        next_state((await self.shown(wanted)).state, happens)
        identifier = self._sessions.id_of(wanted)
        self._check_idle(identifier)
        if identifier != self._sessions.id:
            running = self._turns.running
            if running is not None and running.finished is None:
                opened = self._sessions.find(identifier)
                return opened or await self._sessions.get_beside(identifier)
            await self._commands.switch(identifier)
            self._check_idle(identifier)
        session = self._sessions.current
        assert session is not None
        return session

    def _check_idle(self, session: str) -> None:
        running = self._turns.running_in(session)
        if running is not None and running.finished is None:
            raise UserError("a turn is running; wait for its end or stop it, then try again")

    async def _check_told(self, session: Session) -> None:
        """Check that the user has seen the plan's state.

        Raises:
            UserError: The state was reported only now, because the turn of the plan was stopped
                before.
        """
        board = board_of(session)
        if board.is_news and board.proposed_in:
            await self.tell(session)
            raise UserError("the plan has not been shown yet; look at it, then try again")

    async def _words(self, plan: Plan) -> str:
        """Return the text of the plan's document, from its buffer or file.

        If both are missing, return the plan's text.
        """
        if not plan.path:
            return plan.text
        open_text = self.document(Path(plan.path))
        if open_text is not None:
            return open_text
        return await asyncio.to_thread(written_plan, plan)


def _is_same(plan: Plan, other: Plan) -> bool:
    """Return whether both values are the same plan.

    Each plan has its own document, which the user may edit.
    """
    return plan.path == other.path and (bool(plan.path) or plan.text == other.text)
