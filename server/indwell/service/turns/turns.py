"""Queues, starts, finds and stops the turns of a process.

Each session runs one turn at a time. Clients show the turn of the current session. A prompt for
another session does not wait for that turn; both turns run at once.

Each turn is a task of this module, so only this module stops turns. After a turn that was stopped
or failed, prompts that wait for its session are held until the user releases them or sends another
prompt. If an event cannot be sent to the client, the failure is logged and the turn continues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from indwell.agent.compaction.fit import is_compact
from indwell.agent.core import events
from indwell.agent.core.event_log import EventLog
from indwell.agent.core.events import Queued
from indwell.agent.core.prompt import is_continue
from indwell.agent.core.session import Session
from indwell.agent.loop.turn import run_turn
from indwell.errors import UserError
from indwell.installation import installation
from indwell.service.front_door import FrontDoor
from indwell.service.turns import queue as line
from indwell.service.turns.queue import (
    Afterwards,
    OnEnd,
    Open,
    Queue,
    SteeringOutcome,
    Ticket,
    WaitingPrompt,
    never_started,
    why_held,
)

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 4  # Each of at most 4 turns streams from a model and keeps a conversation in memory.


class Turns:
    """Queues, starts, finds, cancels and drains turns.

    Attributes:
        unsent_changed: A function that is called with the prompts that no log contains yet, by id.

    Args:
        door: Receives events and shows turns.
        open_session: Returns the session of a prompt whose turn begins.
        afterwards: Called when a turn has ended.
    """

    def __init__(self, door: FrontDoor, open_session: Open, afterwards: Afterwards) -> None:
        self.events = EventLog()
        self.events.listeners += [
            ((events.TurnStarted, events.TurnFinished), self._note),
            (object, door.event),
        ]
        self._door = door
        self._open = open_session
        self._afterwards = afterwards
        self._tickets: dict[str, Ticket] = {}
        self._queue = Queue()
        # The list has running turns of the current session and of other sessions.
        self._running: list[Ticket] = []
        self._is_closed = False
        self._announcing: set[asyncio.Task[None]] = set()  # The client has not answered yet.
        self._last: Session | None = None
        self._told: tuple[tuple[WaitingPrompt, ...], str] = ((), "")
        self.unsent_changed: Callable[[Mapping[str, str]], None] = lambda _unsent: None

    @property
    def running(self) -> Ticket | None:
        """The running turn of the current session, even while the session is being opened."""
        return next((one for one in self._running if not one.is_beside), None)

    @property
    def beside(self) -> tuple[Ticket, ...]:
        """The running turns of other sessions, oldest first."""
        return tuple(one for one in self._running if one.is_beside)

    @property
    def has_room(self) -> bool:
        """Return whether the turn of another session may begin now."""
        main = self.running
        return main is None or (main.session is not None and len(self._running) < MOST_AT_ONCE)

    def running_in(self, session: str) -> Ticket | None:
        """Return the running turn of a session."""
        return next(
            (one for one in self._running if one.session and one.session.id == session), None
        )

    def is_used(self, session: str) -> bool:
        """Return whether a turn of this session runs or is about to begin."""
        return any(_id_of(one) == session for one in self._running)

    def show(self, session: str) -> None:
        """Let clients show this session's turn as the running turn; empty to show no turn."""
        for one in self._running:
            if one.session is not None:
                one.is_beside = one.session.id != session

    def put_beside(self, session: str) -> None:
        """Let the prompts that wait for a session begin while another session is current."""
        self._queue = line.put_beside(self._queue, session)
        for waiting in self._queue.waiting:
            self._tickets[waiting.id].waiting = waiting

    @property
    def running_number(self) -> int | None:
        """The number of the running turn that clients show; 0 while its session is being opened.

        The number is None from the turn's last event on, even if the turn's end is still being
        shown. Otherwise, a client that reads the number after the last event would show a turn that
        never ends.
        """
        running = self.running
        return None if running is None or running.finished is not None else running.number

    def number_in(self, session: str) -> int | None:
        """Return the number of the turn that runs in a session; see ``running_number``."""
        running = self.running_in(session)
        return None if running is None or running.finished is not None else running.number

    @property
    def queue(self) -> Queue:
        """The prompts that wait."""
        return self._queue

    def home(self, current: str | None) -> str:
        """Return the session for a prompt that names no session.

        The result is empty while the running turn's session is being opened, because the current
        session is then unknown.
        """
        is_opening = self.running is not None and self.running.session is None
        return "" if is_opening else current or ""

    def submit(self, waiting: WaitingPrompt, on_end: OnEnd, *, first: bool = False) -> Ticket:
        """Start a turn or queue its prompt; held prompts of its session are released.

        Raises:
            UserError: Too many prompts wait, or the server is ending.
        """
        if self._is_closed:
            raise UserError("the server is shutting down; send the words again when it is back")
        if first:
            self._queue = line.put_first(self._queue, waiting)
        else:
            self._queue = line.added(self._queue, waiting)
        for one in self._running:
            if one.is_stopped and not one.is_left and waiting.session in {"", _id_of(one)}:
                one.is_followed = True  # The user goes on, as after the end of a stopped turn.
        ticket = self._tickets[waiting.id] = Ticket(waiting, on_end)
        self._go_on()
        if ticket not in self._running:
            self._tell_queue()
        self._unsent()
        return ticket

    def change(self, change: Callable[[Queue], Queue]) -> Queue:
        """Replace the queue by its next value; a removed prompt ends with its text returned.

        Raises:
            UserError: The function ``change`` failed; the queue is unchanged.
        """
        before, self._queue = self._queue, change(self._queue)
        if self._queue.seq == before.seq:
            return self._queue
        for one in self._queue.waiting:
            self._tickets[one.id].waiting = one
        left = {one.id for one in self._queue.waiting}
        for one in before.waiting:
            if one.id not in left:
                self._withdrawn(self._tickets.pop(one.id))
        self._go_on()
        self._tell_queue(self._last)
        self._unsent()
        return self._queue

    async def steer(
        self, running: Ticket, session: Session, text: str, *, numbered: bool
    ) -> SteeringOutcome:
        """Give a message to a running turn, or answer a command that needs no turn.

        Raises:
            UserError: The command cannot be carried out now, or too many messages wait.
        """
        if is_compact(text) or is_continue(text):
            name = text.strip()
            raise UserError(f"{name} needs a turn of its own; send it when this turn is over")
        if (answer := await session.parts.features.answer_words(text)) is not None:
            self.tell(session, events.Steered(running.number, text, delivered=True))
            self.tell(session, events.Notice(running.number, "info", answer))
            return "answered"
        if not session.turn_runs and running.finished is None:
            # The turn takes no more messages, but its end is not shown before it is on disk.
            await running.ended.wait()
        return "chosen" if session.steer(text, numbered=numbered) else "sent"

    def cancel(self, token: str | int | None = None, *, session: str | None = None) -> bool:
        """Cancel a running turn; return False if the turn does not run.

        Args:
            token: The token of the turn's progress.
            session: The turn's session; without token and session, the current session's turn is
                cancelled.
        """
        if token is not None:
            found = next((one for one in self._running if one.token == token), None)
        else:
            found = self.running_in(session) if session is not None else self.running
        return found is not None and _stopped(found)

    def abandon(self, ticket: Ticket) -> None:
        """Remove a prompt from the queue, or stop its turn, because its sender has disconnected."""
        if ticket in self._running:
            _stopped(ticket)
        elif ticket.waiting.id in self._tickets:
            self.change(partial(line.removed, identifier=ticket.waiting.id))

    async def drain(self, reason: str, session: str | None = None) -> None:
        """Cancel the turn of a session, wait for the turn's end, and hold waiting prompts.

        Args:
            reason: The reason, as a text for the user.
            session: The session, or None for the current session.
        """
        running = self.running if session is None else self.running_in(session)
        if running is not None:
            running.is_left = True
            _stopped(running)
            self._hold(running, reason)
            await running.ended.wait()

    async def drain_all(self) -> None:
        """Cancel all turns and wait until they have ended in order."""
        running = tuple(self._running)
        for one in running:
            _stopped(one)
        for one in running:
            await one.ended.wait()

    def close(self) -> tuple[str, ...]:
        """Stop all turns without waiting, and return the prompts that no log contains.

        The prompts are those that wait, and those whose session is still being opened.
        """
        self._is_closed = True
        for announcing in self._announcing:
            announcing.cancel()
        opening = (one.waiting for one in self._running if one.session is None)
        unsent = (*opening, *self._queue.waiting)
        for one in self._running:
            if one.session is not None and not one.is_stopped:
                one.session.endings.is_ending = True  # Indwell stops the turn, not the user.
            _stopped(one)
        self.change(lambda queue: Queue(queue.seq + 1))
        return tuple(one.prompt.words for one in unsent)

    def tell(self, session: Session, event: events.Event) -> None:
        """Send an event of a session to the client."""
        self.events.tell(session.id, event)

    def _note(self, session: str, _seq: int, event: events.Event) -> None:
        """Record the beginning (when the log contains the prompt) or the end of a turn."""
        ticket = self.running_in(session)
        if ticket is None or event.turn != ticket.number:
            return
        if not ticket.is_written:
            ticket.is_written = True
            self._unsent()
        if isinstance(event, events.TurnFinished):
            ticket.finished = event
            # Prompts are held first, because an answer to the event starts the next turn.
            self._hold_after(ticket)

    def _go_on(self) -> None:
        """Start waiting turns until the limit of running turns is reached."""
        while not self._is_closed:
            first, self._queue = line.taken(self._queue, self._may_begin)
            if first is None:
                return
            ticket = self._tickets.pop(first.id)
            ticket.is_beside = first.is_beside or self.running is not None
            self._running.append(ticket)
            ticket.task = asyncio.create_task(self._run(ticket))
            ticket.task.add_done_callback(partial(self._over, ticket))

    def _may_begin(self, one: WaitingPrompt) -> bool:
        """Return whether the turn of this prompt may begin now.

        The first turn belongs to the current session, which is known only when the session is open.
        Turns of prompts that name another session run at the same time.
        """
        main = self.running
        if main is None:
            has_place = len(self._running) < MOST_AT_ONCE
            return has_place and not any(one.session == _id_of(other) for other in self._running)
        if not self.has_room:
            return False
        if one.session in line.FRESH:
            return True
        return one.session not in {"", *map(_id_of, self._running)}

    async def _run(self, ticket: Ticket) -> None:
        try:
            session = await self._open(ticket)
        except UserError as error:
            ticket.error = error
            return
        ticket.session, ticket.number = session, session.turns + 1
        if not ticket.is_beside:
            self._last = session
        ticket.begun.set()
        self._go_on()  # Prompts may have waited until the current session was known.

        self._tell_queue()
        begun = asyncio.create_task(self._announce(ticket, session.id))
        self._announcing.add(begun)
        begun.add_done_callback(self._announcing.discard)
        try:
            emit = partial(self.events.tell, session.id)
            finished = await run_turn(session, ticket.prompt, emit)
        finally:
            if ticket.finished is None:
                begun.cancel()
        await ticket.on_end(session, finished)

    async def _announce(self, ticket: Ticket, session: str) -> None:
        try:
            await self._door.begin_turn(session, ticket.token, ticket.prompt.title)
        except Exception:  # noqa: BLE001 - the boundary to a front door: a turn outlives it
            self.events.not_told()

    def _over(self, ticket: Ticket, task: asyncio.Task[None]) -> None:
        """Finish a turn whose task has ended, and start the next one."""
        self._running.remove(ticket)
        bug = None if task.cancelled() else task.exception()
        if bug is not None:
            _log.error("a turn ended badly", exc_info=bug)
        if ticket.finished is None:
            if bug is not None:
                ticket.error = UserError(installation.fault_words(bug))
            if ticket.error is None:
                ticket.finished = never_started(ticket.prompt)
            self._hold_after(ticket)
        ticket.begun.set()
        ticket.ended.set()
        self._go_on()
        self._tell_queue(self._last if self.running is None else None)
        self._unsent()
        if not self._is_closed:
            self._afterwards(ticket)

    def _hold_after(self, ticket: Ticket) -> None:
        """Hold prompts for the session of a turn that was stopped or failed."""
        reason = why_held(ticket)
        if reason and not ticket.is_followed:
            self._hold(ticket, reason)

    def _hold(self, ticket: Ticket, reason: str) -> None:
        is_unknown = ticket.session is None and not ticket.is_beside
        self._queue = line.held(self._queue, reason, "" if is_unknown else _id_of(ticket))

    def _unsent(self) -> None:
        """Report the prompts that would be lost if the process were killed now."""
        begins = (one.waiting for one in self._running if not one.is_written)
        self.unsent_changed({one.id: one.prompt.words for one in (*begins, *self._queue.waiting)})

    def _withdrawn(self, ticket: Ticket) -> None:
        ticket.finished = never_started(ticket.prompt)
        ticket.begun.set()
        ticket.ended.set()

    def _tell_queue(self, session: Session | None = None) -> None:
        """Report the waiting prompts if they have changed and a session can send the event."""
        session = session or (self.running.session if self.running else None)
        state = (self._queue.waiting, self._queue.held)
        if session is None or state == self._told:
            return
        self._told = state
        told = events.QueueChanged(
            turn=session.turns,
            seq=self._queue.seq,
            held=self._queue.held,
            waiting=tuple(
                Queued(one.id, one.prompt.title, one.prompt.words) for one in self._queue.waiting
            ),
        )
        self.tell(session, told)


def _id_of(ticket: Ticket) -> str:
    """Return the id of a turn's session; until it is open, the id that the prompt names."""
    return ticket.session.id if ticket.session is not None else ticket.waiting.session


def _stopped(running: Ticket) -> bool:
    """Cancel a turn's task once, because a second cancellation would stop the clean-up.

    Returns:
        False if the turn had already ended.
    """
    assert running.task is not None
    if not running.is_stopped:
        running.is_stopped = True
        running.task.cancel()
    return not running.task.done()
