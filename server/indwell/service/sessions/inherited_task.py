"""Gives the task of an earlier session to a new one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from indwell.agent.compaction.summarise_call import card_of, pending_hunks
from indwell.agent.core.events import Event, Listener, TurnFinished
from indwell.agent.core.session import Session
from indwell.agent.restore.restored_state import Past, past_of
from indwell.context.conversation import queue
from indwell.errors import UserError
from indwell.messages import Text
from indwell.sessions.branches import lived
from indwell.sessions.display_records import Inherited
from indwell.sessions.storage.store import SessionStore


async def take_task(session: Session, store: SessionStore, origin: str) -> str:
    """Give ``session`` the task card of another one; the words that had no answer there, if any.

    The other one stays as it is.

    Raises:
        SessionError: There is none, or it cannot be read.
    """
    past, states = await take_card(session, store, origin)
    session.parts.log.append(Inherited(origin, session.timestamp()))
    session.parts.features.inherit(states)
    return past.draft


async def take_again(session: Session, store: SessionStore, origin: str) -> None:
    """As ``take_task``, for a session that was ended before the model had it; its log says so.

    Raises:
        SessionError: There is none, or it cannot be read.
    """
    _, states = await take_card(session, store, origin)
    session.parts.features.inherit(states)


async def take_card(
    session: Session, store: SessionStore, origin: str
) -> tuple[Past, Mapping[str, Any]]:
    """Let the next words go with the task card of ``origin``.

    Returns:
        What that session was, and the states of its features.

    Raises:
        SessionError: There is none, or it cannot be read.
    """
    reading = await asyncio.to_thread(store.open, origin)
    past = await asyncio.to_thread(past_of, reading.records, is_damaged=bool(reading.damage))
    now = session.conversation
    was = msgspec.structs.replace(now, messages=past.messages, history=past.history)
    card = await asyncio.to_thread(card_of, was, pending_hunks(session))
    if card is not None:
        session.conversation = queue(now, (card,))
    features, records = session.parts.features, reading.records
    return past, await asyncio.to_thread(features.read, lived(records), records)


def naming_new_session(view: Listener, session: str) -> Listener:
    """``view``, told which command goes on where the window is outgrown."""

    def tell(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.outgrown:
            message = f"{event.message}; here: `indwell run --new-from {session}`"
            event = msgspec.structs.replace(event, message=message)
        view(event)

    return tell


_log = logging.getLogger(__name__)


class _Left(msgspec.Struct, frozen=True):
    """A session that was outgrown; without a ``card`` only its log knows the task."""

    session: str
    card: Text | None = None
    states: Mapping[str, Any] = {}


class Tasks(Protocol):
    """Keeps whose task is to go along, and reads the logs."""

    async def take_task(self, root: Path, session: Session, origin: str) -> str:
        """Give a session the task of another one; see ``take_task``."""
        ...

    async def keep_task(self, root: Path, origin: str) -> None:
        """Keep whose task the next new session takes along; empty: none."""
        ...

    async def left_task(self, root: Path) -> str:
        """The session whose task a server that is gone was to hand on; else empty."""
        ...


class HandingOn:
    """What is to be handed on in this process.

    Args:
        tasks: Keeps it, and reads the logs.
        root: The first folder of the workspace; None if none is open.
    """

    def __init__(self, tasks: Tasks, root: Callable[[], Path | None]) -> None:
        self._tasks = tasks
        self._root = root
        self._named = ""
        self._left: _Left | None = None
        self._kept = ""
        self._has_looked = False

    async def left(self, old: Session) -> None:
        """A session is left for a new one, which takes its task along if it was outgrown."""
        await self._look()
        self._left = await _left_of(old) if old.endings.is_outgrown else None
        await self._keep()

    async def wish(self, named: str, *, for_good: bool) -> None:
        """The user wants a new session with the task of ``named``, if that is not empty.

        ``for_good``: nothing of the one that was left goes along.
        """
        await self._look()
        self._named = named
        if for_good:
            self._left = None
        await self._keep()

    async def drop(self) -> None:
        """The user goes on elsewhere."""
        await self.wish("", for_good=True)

    async def give(self, session: Session) -> None:
        """Let a new session take the task along, and its log say so.

        Raises:
            UserError: The one that the user named cannot be read.
        """
        await self._look()
        if self._named:
            try:
                await self._take(session, self._named)
            except UserError as error:
                raise UserError(f"{error}; begin a new session to go on without it") from error
        elif self._left is not None:
            await self._give_left(session, self._left)
        self._named, self._left = "", None  # on disk it stays until the turn has begun

    async def begun(self) -> None:
        """A turn of the session that took it along has begun: its log has it, and the words."""
        await self._keep()

    async def _take(self, session: Session, origin: str) -> None:
        root = self._root()
        assert root is not None, "a session has a folder"
        await self._tasks.take_task(root, session, origin)

    async def _give_left(self, session: Session, left: _Left) -> None:
        try:
            await self._take(session, left.session)
        except UserError as error:  # it could not be saved, perhaps: then it is only known here
            if left.card is None:
                words = f"the task of session {left.session} does not go along any more: {error}"
                session.notice = "; ".join(filter(None, (session.notice, words)))
                return
            session.conversation = queue(session.conversation, (left.card,))
            session.parts.features.inherit(left.states)
            return
        if left.card is None:
            words = f"the task of session {left.session} goes along, as you wanted before"
            session.notice = "; ".join(filter(None, (session.notice, words)))

    async def _look(self) -> None:
        """Take over what a server that is gone was to hand on; once."""
        if self._has_looked:
            return
        self._has_looked = True
        root = self._root()
        try:
            found = "" if root is None else await self._tasks.left_task(root)
        except UserError as error:
            _log.warning("what a new session was to take along stays for later: %s", error)
            return
        if found:
            self._left, self._kept = _Left(found), found

    async def _keep(self) -> None:
        """Have on disk what is wished now."""
        wanted = self._named or (self._left.session if self._left is not None else "")
        root = self._root()
        if wanted == self._kept or root is None:
            return
        try:
            await self._tasks.keep_task(root, wanted)
            self._kept = wanted
        except UserError as error:
            _log.warning("what a new session takes along is only known here: %s", error)


async def _left_of(old: Session) -> _Left:
    card = await asyncio.to_thread(card_of, old.conversation, pending_hunks(old))
    return _Left(old.id, card, old.parts.features.now())
