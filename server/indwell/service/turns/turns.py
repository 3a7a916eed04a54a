"""The registry of turns: one runs in each session, the others wait; cancels and answers each.

The turn of the current session is the one that clients show. A prompt that names another session
does not wait for it: its turn runs beside.

Turns are tasks of our own, and whatever way a front door has to stop a turn ends here. After a turn
that did not end well, nothing of its session begins by itself. What waits there is held until the
user says so, or sends another prompt. A front door that cannot be told of an event costs no turn
and no prompt: that is logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from indwell.agent.core import events
from indwell.agent.core.event_shape import Queued
from indwell.agent.core.session import Session
from indwell.agent.loop.turn import run_turn
from indwell.errors import UserError
from indwell.installation import installation
from indwell.service.front_door import FrontDoor, TurnFollower
from indwell.service.turns import queue as line
from indwell.service.turns.event_log import EventLog
from indwell.service.turns.queue import (
    Afterwards,
    OnEnd,
    Open,
    Queue,
    Ticket,
    WaitingPrompt,
    never_started,
    why_held,
)

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 4  # turns; each has a model stream, and holds a conversation in memory

Hear: TypeAlias = Callable[[Session, events.Event], None]


class Turns:
    """Queues, starts, finds, cancels and drains turns.

    Attributes:
        unsent_changed: Hears the words, by the id of their prompt, that are in no log yet.
        listeners: Each hears every event, after the front door.

    Args:
        door: Hears events, and shows turns.
        open_session: Gives the session of a prompt whose turn begins.
        afterwards: Hears of each end.
    """

    def __init__(self, door: FrontDoor, open_session: Open, afterwards: Afterwards) -> None:
        self.events = EventLog()
        self._door = door
        self._open = open_session
        self._afterwards = afterwards
        self._tickets: dict[str, Ticket] = {}
        self._queue = Queue()
        self._running: list[Ticket] = []  # that of the current session, and those beside it
        self._is_closed = False
        self._progress: dict[str, TurnFollower] = {}  # by the token of the turn
        self._announcing: set[asyncio.Task[None]] = set()  # their front door has not answered yet
        self._last: Session | None = None
        self._told: tuple[tuple[WaitingPrompt, ...], str] = ((), "")
        self._is_mute = False
        self.unsent_changed: Callable[[Mapping[str, str]], None] = lambda _unsent: None
        self.listeners: list[Hear] = []

    @property
    def running(self) -> Ticket | None:
        """The running turn of the current session, also while that is being opened."""
        return next((one for one in self._running if not one.is_beside), None)

    @property
    def beside(self) -> tuple[Ticket, ...]:
        """The running turns of other sessions, oldest first."""
        return tuple(one for one in self._running if one.is_beside)

    @property
    def has_room(self) -> bool:
        """May the turn of another session begin now?"""
        main = self.running
        return main is None or (main.session is not None and len(self._running) < MOST_AT_ONCE)

    def running_in(self, session: str) -> Ticket | None:
        """The running turn of a session."""
        return next(
            (one for one in self._running if one.session and one.session.id == session), None
        )

    def is_used(self, session: str) -> bool:
        """Does a turn of this session run, or is one about to begin?"""
        return any(_id_of(one) == session for one in self._running)

    def show(self, session: str) -> None:
        """Another session is the current one now: clients show its turn as the running one."""
        for one in self._running:
            if one.session is not None:
                one.is_beside = one.session.id != session

    @property
    def running_number(self) -> int | None:
        """The number of the turn that clients show as running; 0 while its session is opened.

        None from the turn's last event on, although the turn's records may not be on disk yet: a
        client that heard the end and then read the number would show a turn that never ends.
        """
        running = self.running
        return None if running is None or running.finished is not None else running.number

    @property
    def queue(self) -> Queue:
        """Those that wait."""
        return self._queue

    def home(self, current: str | None) -> str:
        """The session that a prompt for the current one is typed in; empty if that is not settled.

        It is not while the session of the running turn is being opened.
        """
        is_opening = self.running is not None and self.running.session is None
        return "" if is_opening else current or ""

    def submit(self, waiting: WaitingPrompt, on_end: OnEnd, *, first: bool = False) -> Ticket:
        """Begin a turn, or let it wait for those before it; what is held for its session goes on.

        Raises:
            UserError: Too many wait, or the server ends.
        """
        if self._is_closed:
            raise UserError("the server ends; send the words again when it is back")
        if first:
            self._queue = line.put_first(self._queue, waiting)
        else:
            self._queue = line.added(self._queue, waiting)
        ticket = self._tickets[waiting.id] = Ticket(waiting, on_end)
        self._go_on()
        if ticket not in self._running:
            self._tell_queue()
        self._unsent()
        return ticket

    def change(self, change: Callable[[Queue], Queue]) -> Queue:
        """Take the queue's next value; what is gone from it is answered with its words.

        Raises:
            UserError: From ``change``; nothing was changed.
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

    def cancel(self, token: str | int | None = None, *, session: str | None = None) -> bool:
        """Cancel a running turn; False if it does not run.

        Args:
            token: Of the progress of the turn.
            session: Of the turn. Without either it is the turn of the current session.
        """
        if token is not None:
            found = next((one for one in self._running if one.token == token), None)
        else:
            found = self.running_in(session) if session is not None else self.running
        return found is not None and _stopped(found)

    def abandon(self, ticket: Ticket) -> None:
        """Nobody wants this one any more: take it out of the queue, or stop its turn."""
        if ticket in self._running:
            _stopped(ticket)
        elif ticket.waiting.id in self._tickets:
            self.change(partial(line.removed, identifier=ticket.waiting.id))

    async def drain(self, reason: str, session: str | None = None) -> None:
        """Cancel the turn of a session, and wait until that is left valid; what waits is held.

        Args:
            reason: Why, in words for the user.
            session: Whose turn; that of the current session if None.
        """
        running = self.running if session is None else self.running_in(session)
        if running is not None:
            _stopped(running)
            self._hold(running, reason)
            await running.ended.wait()

    async def drain_all(self) -> None:
        """Cancel all turns, and wait until their sessions are left valid."""
        running = tuple(self._running)
        for one in running:
            _stopped(one)
        for one in running:
            await one.ended.wait()

    def close(self) -> tuple[str, ...]:
        """End everything for good, without waiting for what runs; gives words that are in no log.

        Those are of the prompts that waited, which are answered, and of those whose session is
        still being opened.
        """
        self._is_closed = True
        for announcing in self._announcing:
            announcing.cancel()
        opening = (one.waiting for one in self._running if one.session is None)
        unsent = (*opening, *self._queue.waiting)
        for one in self._running:
            if one.session is not None and not one.is_stopped:
                one.session.endings.is_ending = True  # not the user's stop
            _stopped(one)
        self.change(lambda queue: Queue(queue.seq + 1))
        return tuple(one.prompt.words for one in unsent)

    def tell(self, session: Session, event: events.Event) -> None:
        """Number an event, keep it, and send it."""
        seq = self.events.add(session.id, event)
        self._quietly(partial(self._door.event, session.id, seq, event))
        for listener in self.listeners:
            self._quietly(partial(listener, session, event))

    def _go_on(self) -> None:
        """Begin every turn for which there is room."""
        while not self._is_closed:
            first, self._queue = line.taken(self._queue, self._may_begin)
            if first is None:
                return
            ticket = self._tickets.pop(first.id)
            ticket.is_beside = self.running is not None
            self._running.append(ticket)
            ticket.task = asyncio.create_task(self._run(ticket))
            ticket.task.add_done_callback(partial(self._over, ticket))

    def _may_begin(self, one: WaitingPrompt) -> bool:
        """Is there room for a turn of this prompt's session?

        The first turn is one of the current session, which its opening settles. Beside it run those
        whose prompts name another session.
        """
        main = self.running
        if main is None:
            return not any(one.session == _id_of(other) for other in self._running)
        if not self.has_room:
            return False
        if one.session == "new":
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
        self._go_on()  # who waited until it is known which session is the current one
        progress = self._progress[ticket.token] = self._door.follow_turn(ticket.token)

        def emit(event: events.Event) -> None:
            if not ticket.is_written:  # its words are on disk before the first event
                ticket.is_written = True
                self._unsent()
            if isinstance(event, events.TurnFinished):
                ticket.finished = event
                self._hold_after(ticket)  # before it is told: what is sent on hearing it goes on
            self.tell(session, event)
            self._quietly(partial(progress.follow, event))
            if isinstance(event, events.Notice) and event.level != "info":
                self._quietly(partial(self._door.log, event.message))

        self._tell_queue()
        begun = asyncio.create_task(self._announce(progress, ticket.prompt.title))
        self._announcing.add(begun)
        begun.add_done_callback(self._announcing.discard)
        try:
            finished = await run_turn(session, ticket.prompt, emit)
        finally:
            del self._progress[ticket.token]
            if ticket.finished is not None:
                self._quietly(partial(progress.end, ticket.finished))
            else:
                begun.cancel()
        await ticket.on_end(session, finished)

    def hold(self, is_held: bool) -> None:  # noqa: FBT001 - a listener's only argument
        """Show with the running turns that a question waits, or waits no more."""
        for progress in self._progress.values():
            self._quietly(partial(progress.hold, is_held=is_held))

    async def _announce(self, progress: TurnFollower, title: str) -> None:
        try:
            await progress.begin(title)
        except Exception:  # noqa: BLE001 - as in _quietly
            self._not_told()

    def _quietly(self, tell: Callable[[], None]) -> None:
        """Tell something; turns and queue do not depend on whether it can be told."""
        try:
            tell()
        except Exception:  # noqa: BLE001 - the boundary to a front door: a turn must outlive it
            self._not_told()

    def _not_told(self) -> None:
        """In an ``except``: log it, once; the next event would only say the same."""
        if not self._is_mute:
            self._is_mute = True
            _log.exception("the editor could not be told what happens; turns go on")

    def _over(self, ticket: Ticket, task: asyncio.Task[None]) -> None:
        """A turn's task has ended: everybody hears, and the next begins if it may."""
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
        """Hold what waits for the session of a turn that did not end well."""
        reason = why_held(ticket)
        if reason:
            self._hold(ticket, reason)

    def _hold(self, ticket: Ticket, reason: str) -> None:
        is_unknown = ticket.session is None and not ticket.is_beside
        self._queue = line.held(self._queue, reason, "" if is_unknown else _id_of(ticket))

    def _unsent(self) -> None:
        """Say which words would be lost if the process were killed now."""
        begins = (one.waiting for one in self._running if not one.is_written)
        self.unsent_changed({one.id: one.prompt.words for one in (*begins, *self._queue.waiting)})

    def _withdrawn(self, ticket: Ticket) -> None:
        ticket.finished = never_started(ticket.prompt)
        ticket.begun.set()
        ticket.ended.set()

    def _tell_queue(self, session: Session | None = None) -> None:
        """Say what waits, if that is news and there is a session to say it in."""
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
    """The session of a turn: the one that it runs in, else the one that its prompt names."""
    return ticket.session.id if ticket.session is not None else ticket.waiting.session


def _stopped(running: Ticket) -> bool:
    """Cancel its task, once: a second time would cut its tidying up short. False: it has ended."""
    assert running.task is not None
    if not running.is_stopped:
        running.is_stopped = True
        running.task.cancel()
    return not running.task.done()
