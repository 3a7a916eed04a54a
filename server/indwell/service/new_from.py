"""A new session that takes the task of an older one along, as its card (H29)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from indwell.agent.events import Event, Listener, TurnFinished
from indwell.agent.hunks import pending_hunks
from indwell.agent.past import Past, past_of
from indwell.agent.session import Session
from indwell.agent.summarise_call import card_of
from indwell.context.conversation import queue
from indwell.sessions.branches import lived
from indwell.sessions.store import SessionStore
from indwell.sessions.told import Inherited


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
