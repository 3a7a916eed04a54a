"""Passes the task of an earlier session to a new session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from indwell.agent.compaction.summary import card_of, notes_of, pending_hunks
from indwell.agent.core.events import Event, Listener, TurnFinished
from indwell.agent.core.session import Session
from indwell.agent.restore import Past, past_of
from indwell.context.compaction.transcripts import Files
from indwell.context.conversation import Conversation, queue
from indwell.errors import SessionError, UserError
from indwell.messages import Text
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.sessions.branches import lived
from indwell.sessions.records import Inherited
from indwell.sessions.storage.store import SessionStore


async def take_task(session: Session, store: SessionStore, origin: str) -> str:
    """Give ``session`` the task card of another session, which stays unchanged.

    Returns:
        The user's unanswered message of the other session, or empty if all messages were answered.

    Raises:
        SessionError: The session does not exist, or cannot be read.
    """
    past, states = await take_card(session, store, origin)
    session.parts.log.append(Inherited(origin, session.timestamp()))
    session.parts.features.inherit(states)
    return past.draft


async def take_again(session: Session, store: SessionStore, origin: str) -> None:
    """Repeat ``take_task`` for a session that ended before the model had received the task.

    Raises:
    SessionError: The session does not exist, or cannot be read.
    """
    _, states = await take_card(session, store, origin)
    session.parts.features.inherit(states)


async def take_card(
    session: Session, store: SessionStore, origin: str
) -> tuple[Past, Mapping[str, Any]]:
    """Send the task card of ``origin`` with the next prompt.

    ``session`` cannot read files of ``origin``, so the user's words that may still hold are written
    to files of ``session``.

    Returns:
        The restored history of ``origin``, and the states of its features.

    Raises:
        SessionError: The session does not exist, or cannot be read.
    """
    reading = await asyncio.to_thread(store.open, origin)
    past = await asyncio.to_thread(past_of, reading.records, is_damaged=bool(reading.damage))
    now = session.conversation
    was = msgspec.structs.replace(now, messages=past.messages, history=past.history)
    card = await _card_for(session, was)
    if card is not None:
        session.conversation = queue(now, (card,))
    features, records = session.parts.features, reading.records
    return past, await asyncio.to_thread(features.read, lived(records), records)


async def _card_for(session: Session, was: Conversation) -> Text | None:
    """Return the card of another conversation, with its notes in files of ``session``.

    If the files cannot be written, the card does not name the files.
    """
    notes = Files("", ())
    if session.parts.readable.own:
        folder = str(session.parts.readable.own[0])
        notes = await asyncio.to_thread(notes_of, was, folder)
    try:
        for file in notes.spills:
            await session.parts.spill.keep_as(file.name, file.text)
    except SessionError as error:
        _log.warning("the user's words of the task are not in files: %s", error)
        notes = Files("", ())
    return await asyncio.to_thread(card_of, was, pending_hunks(session), notes.named)


def naming_new_session(view: Listener, session: str) -> Listener:
    """Return ``view`` with a hint on the command that continues a task that is too long."""

    def tell(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.outgrown:
            message = f"{event.message}; here: `indwell run --new-from {session}`"
            event = msgspec.structs.replace(event, message=message)
        view(event)

    return tell


_log = logging.getLogger(__name__)


class _Left(msgspec.Struct, frozen=True):
    """A session that outgrew its window; if ``card`` is None, the task is only in its log."""

    session: str
    card: Text | None = None
    states: Mapping[str, Any] = {}


class HandingOn:
    """The task that the next new session of this process continues.

    Args:
        stored: Stores the choice, and reads the logs.
    """

    def __init__(self, stored: StoredSessions) -> None:
        self._stored = stored
        self._named = ""
        self._left: _Left | None = None
        self._kept = ""
        self._has_looked = False

    async def left(self, old: Session) -> None:
        """Record that the user left a session, and pass on the task of an outgrown session."""
        await self._look()
        self._left = await _left_of(old) if old.endings.is_outgrown else None
        await self._keep()

    async def wish(self, named: str, *, for_good: bool) -> None:
        """Choose the session whose task the next session continues.

        Args:
            named: The session that the user named; may be empty.
            for_good: Whether to drop the task of the session that the user left.
        """
        await self._look()
        self._named = named
        if for_good:
            self._left = None
        await self._keep()

    async def drop(self) -> None:
        """Pass no task on, because the user continues another session."""
        await self.wish("", for_good=True)

    async def give(self, session: Session) -> None:
        """Give a new session the task, and record the task in the session's log.

        Raises:
        UserError: The session that the user named cannot be read.
        """
        await self._look()
        if self._named:
            try:
                await take_task(session, self._stored.store, self._named)
            except UserError as error:
                raise UserError(f"{error}; begin a new session to go on without it") from error
        elif self._left is not None:
            await self._give_left(session, self._left)
        self._named, self._left = "", None  # The copy on disk stays until the turn has begun.

    async def begun(self) -> None:
        """Delete the stored choice, because the new session's log has the task and the prompt."""
        await self._keep()

    async def _give_left(self, session: Session, left: _Left) -> None:
        try:
            await take_task(session, self._stored.store, left.session)
        except UserError as error:  # The choice is not stored, so only this process knows the task.
            if left.card is None:
                words = f"the task of session {left.session} is no longer carried over: {error}"
                session.notice = "; ".join(filter(None, (session.notice, words)))
                return
            session.conversation = queue(session.conversation, (left.card,))
            session.parts.features.inherit(left.states)
            return
        if left.card is None:
            words = f"the task of session {left.session} continues here, as you asked before"
            session.notice = "; ".join(filter(None, (session.notice, words)))

    async def _look(self) -> None:
        """Take the task that an earlier server stored when it ended; only once."""
        if self._has_looked:
            return
        self._has_looked = True
        try:
            found = await self._stored.left_task() if self._stored.keeps else ""
        except UserError as error:
            _log.warning("what a new session was to take along stays for later: %s", error)
            return
        if found:
            self._left, self._kept = _Left(found), found

    async def _keep(self) -> None:
        """Store the current choice."""
        wanted = self._named or (self._left.session if self._left is not None else "")
        if wanted == self._kept or not self._stored.keeps:
            return
        try:
            await self._stored.keep_task(wanted)
            self._kept = wanted
        except UserError as error:
            _log.warning("what a new session takes along is only known here: %s", error)


async def _left_of(old: Session) -> _Left:
    card = await asyncio.to_thread(card_of, old.conversation, pending_hunks(old))
    return _Left(old.id, card, old.parts.features.now())
