"""Keeps the model's list of tools current while tools come and go (see ``tool_changes``).

A changed list is described by a reminder, or joins the requests themselves: at once where that is
cheaper, at the latest with the next compaction, which gives up most of the prompt cache anyway.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from indwell.agent.core.session import Session
from indwell.agent.permission.redaction import hidden
from indwell.agent.requests.sending import has_cache, idle_s
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.request.cache_health import LIFE_S, first_difference, total_tokens
from indwell.context.request.tool_changes import (
    ToolChanges,
    change_words,
    changes_between,
    is_rebuild_cheaper,
)
from indwell.messages import Text

KIND: Literal["tool_list"] = "tool_list"
_NONE = ToolChanges()


async def update_tools(session: Session, turn: int, *, join: bool = False) -> None:
    """Bring the next request up to date with the tools of the moment.

    Args:
        session: The session that sends the request.
        turn: The turn that the request belongs to.
        join: Change the tools of the request whatever that costs, because the cache is lost anyway.
    """
    now = session.conversation
    if any(block.meta.source == KIND for block in now.pending):  # never sent, and maybe stale
        pending = tuple(block for block in now.pending if block.meta.source != KIND)
        session.conversation = msgspec.structs.replace(now, pending=pending)
    if _changes(session) != _NONE and (join or await _is_rebuild_cheaper(session, turn)):
        session.retool(session.parts.tools.specs)
    if reminder := await _reminder(session, turn, _changes(session)):
        session.conversation = talk.queue(session.conversation, reminder)


async def tool_reminder(session: Session, turn: int) -> tuple[Text, ...]:
    """The reminder that the next request would carry, for a preview; nothing changes.

    The block may be one that the conversation shows already.
    """
    changes = _changes(session)
    if changes != _NONE and await _is_rebuild_cheaper(session, turn):
        changes = _NONE
    return await _reminder(session, turn, changes)


async def _reminder(session: Session, turn: int, changes: ToolChanges) -> tuple[Text, ...]:
    """A block that describes the changes; none if the model knows its tools."""
    newest, _ = talk.sent_texts(session.conversation)
    if changes == _NONE and KIND not in newest:
        return ()
    words = await hidden(session, change_words(changes))  # others describe late tools
    return (inject(KIND, words, turn=turn),)


def _changes(session: Session) -> ToolChanges:
    sent, now = session.conversation.tools, session.parts.tools.specs
    return _NONE if sent == now else changes_between(sent, now)


async def _is_rebuild_cheaper(session: Session, turn: int) -> bool:
    changes = _changes(session)
    newest, _ = talk.sent_texts(session.conversation)
    (block,) = await _reminder(session, turn, changes)
    return is_rebuild_cheaper(
        changes,
        cached=_cached_tokens(session),
        reminder=0 if newest.get(KIND) == block.text else block.meta.tokens,
        rates=session.parts.model.rates,
    )


def _cached_tokens(session: Session) -> int:
    """Tokens that the next request can read from the prompt cache if its tools stay as they are."""
    last, idle, now = session.health.last, idle_s(session), session.conversation
    if last is None or last.model != now.config.model or not has_cache(session):
        return 0
    if idle is None or idle > LIFE_S:
        return 0
    next_one = msgspec.structs.replace(
        last, tools=now.tools, system=now.system, messages=now.messages
    )
    difference = first_difference(last, next_one)
    return total_tokens(last) if difference is None else difference.common
