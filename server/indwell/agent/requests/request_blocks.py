"""Collects the blocks of a request: environment, context, attachments, changed tools.

The tools are at the beginning of every request, so a change of the tools empties the prompt cache.
A reminder at the end describes a changed list of tools, until the request itself gets the new list.
The request gets the new list at once if that is cheaper, and otherwise with the next compaction.
The reminder always compares with the tools in the request, so the newest reminder replaces all
earlier reminders, even in a compacted, resumed or rewound conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from indwell.agent.core.events import Event
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.requests.sending import has_cache, idle_s
from indwell.context import conversation as talk
from indwell.context.attachments import is_cut, picture_blocks
from indwell.context.compaction.step import TokenRates
from indwell.context.injections import inject, is_oversize, oversize_words
from indwell.context.request.cache_health import first_difference, life_s, total_tokens
from indwell.context.tokens import tools_tokens
from indwell.errors import UserError
from indwell.messages import Block, Text, ToolSpec
from indwell.prompt.reminders import Surroundings, surroundings_words

CALLS_TO_COME = 36
"""The expected number of further model calls: half of the 73 calls of an average session, as in 129
recordings.
"""
_HEAD = "Your tools have changed since the list of functions in front of this conversation."
_ADDED = "These are new or have changed; call them by name like the others:"
_SAME = "Your tools are again exactly those of the list of functions in front of this conversation."


async def gathered(moment: Moment[Session], prompt: Prompt, now: Surroundings) -> list[Text]:
    """Return the environment reminder, then the features' blocks for the prompt."""
    session, turn = moment.session, moment.turn
    blocks = _environment(session, now, turn)
    blocks += await session.parts.features.prompt_blocks(moment, prompt)
    return blocks


def _environment(session: Session, now: Surroundings, turn: int) -> list[Text]:
    """Return the environment reminder, or empty for small models, which mistake it for the task."""
    if session.parts.tools.is_lean:
        return []
    return [inject("environment", surroundings_words(now), turn=turn)]


class ToolChanges(NamedTuple):
    """The differences between the tools in a request and the present tools.

    Attributes:
        added: Present tools that are new or have another description or schema than in the request.
        departed: Tools in the request that can no longer be called.
    """

    added: tuple[ToolSpec, ...] = ()
    departed: tuple[ToolSpec, ...] = ()


class AttachedBlocks(NamedTuple):
    """The blocks of a prompt's attachments, and notices for the user."""

    blocks: tuple[Block, ...]
    notices: tuple[str, ...]


async def attached_blocks(session: Session, prompt: Prompt, turn: int) -> AttachedBlocks:
    """Return blocks of attached texts and pictures, and a notice for each text that was cut."""
    blocks: list[Block] = []
    notices = [
        cut_words(f"{one.path}:{one.first_line}-{one.last_line}", "the file")
        for one in (*filter(None, (prompt.selection,)), *prompt.mentioned)
        if is_cut(one)
    ]
    window = session.conversation.config.window
    for one in prompt.texts:
        text = await session.hidden(one.text)
        if is_oversize(text, window):
            path = await session.parts.spill.keep("attached", text)
            text = oversize_words(text, str(path))
            notices.append(cut_words(one.label, str(path)))
        blocks.append(inject("attached", text, turn=turn, attributes={"name": one.label}))
    blocks += picture_blocks(prompt.pictures, turn=turn)
    return AttachedBlocks(tuple(blocks), tuple(notices))


def cut_words(what: str, where: str) -> str:
    """Return a notice that the model gets only a part of a text."""
    return (
        f"{what} is too long for one message: the model gets its beginning and its end, and can "
        f"read the rest in {where}"
    )


def check_pictures(session: Session, prompt: Prompt) -> None:
    """Check that the model accepts the attached pictures.

    Raises:
        UserError: Pictures are attached, but the model does not accept pictures.
    """
    config = session.conversation.config
    if prompt.pictures and not config.takes_pictures:
        raise UserError(no_pictures_words(config.model))


def no_pictures_words(model: str) -> str:
    """Return the reason why pictures cannot be sent, with advice."""
    return (
        f"the model {model!r} may not accept pictures, so nothing was sent; remove the pictures, "
        f"choose another model, or set `pictures = true` in your settings if it accepts them"
    )


KIND: Literal["tool_list"] = "tool_list"
_NONE = ToolChanges()


async def update_tools(session: Session, turn: int, *, join: bool = False) -> None:
    """Describe changed tools in a reminder, or put the present tools into the next request.

    Args:
        session: The session that sends the request.
        turn: The turn that the request belongs to.
        join: Whether to put the tools into the request in any case, because the cache is already
            lost.
    """
    now = session.conversation
    # Drop a reminder that was not sent, because it may be outdated.
    if any(block.meta.source == KIND for block in now.pending):
        pending = tuple(block for block in now.pending if block.meta.source != KIND)
        session.conversation = msgspec.structs.replace(now, pending=pending)
    changes = _changes(session)
    if changes != _NONE and (join or await _is_rebuild_cheaper(session, turn, changes)):
        session.retool(session.parts.tools.specs)
        changes = _NONE
    if reminder := await _reminder(session, turn, changes):
        session.conversation = talk.queue(session.conversation, reminder)


async def tool_reminder(session: Session, turn: int) -> tuple[Text, ...]:
    """Return the tool reminder of the next request for a preview, without changing state.

    The conversation may already contain the reminder.
    """
    changes = _changes(session)
    if changes != _NONE and await _is_rebuild_cheaper(session, turn, changes):
        changes = _NONE
    return await _reminder(session, turn, changes)


async def _reminder(session: Session, turn: int, changes: ToolChanges) -> tuple[Text, ...]:
    """Return a block that describes changed tools, or empty if no tool has changed."""
    newest, _ = talk.sent_texts(session.conversation)
    if changes == _NONE and KIND not in newest:
        return ()
    # The descriptions of deferred tools come from other programs, so secrets are removed.
    words = await session.hidden(change_words(changes))
    return (inject(KIND, words, turn=turn),)


def _changes(session: Session) -> ToolChanges:
    sent, now = session.conversation.tools, session.parts.tools.specs
    return _NONE if sent == now else changes_between(sent, now)


async def _is_rebuild_cheaper(session: Session, turn: int, changes: ToolChanges) -> bool:
    """Return whether a new list of tools costs less than a reminder of the changes."""
    newest, _ = talk.sent_texts(session.conversation)
    (block,) = await _reminder(session, turn, changes)
    return is_rebuild_cheaper(
        changes,
        cached=_cached_tokens(session),
        reminder=0 if newest.get(KIND) == block.text else block.meta.tokens,
        rates=session.parts.model.rates,
    )


def _cached_tokens(session: Session) -> int:
    """Return the tokens that the next request can read from the cache if its tools stay."""
    last, idle, now = session.health.last, idle_s(session), session.conversation
    if last is None or last.model != now.config.model or not has_cache(session):
        return 0
    if idle is None or idle > life_s(last.cache_life):
        return 0
    next_one = msgspec.structs.replace(
        last, tools=now.tools, system=now.system, messages=now.messages
    )
    difference = first_difference(last, next_one)
    return total_tokens(last) if difference is None else difference.common


class Forthcoming(NamedTuple):
    """The blocks of the next request, before and after the editor's attachments."""

    before: tuple[Text, ...] = ()
    behind: tuple[Text, ...] = ()


NOTHING = Forthcoming()


def _tell_nobody(_event: Event) -> None:
    """Drop an event, because a preview emits no events."""


async def forthcoming(session: Session) -> Forthcoming:
    """Return the blocks that the next prompt would send, including blocks already sent."""
    parts, turn = session.parts, session.turns + 1
    before = _environment(session, await parts.surroundings(), turn)
    moment = Moment(session, turn, _tell_nobody)
    before += await parts.features.prompt_blocks(moment, Prompt(""))
    reminders = await parts.features.reminders(moment)
    tools = await tool_reminder(session, turn)
    return Forthcoming(
        tuple(before), (*tools, *(block for one in reminders for block in one.blocks))
    )


def changes_between(sent: Sequence[ToolSpec], now: Sequence[ToolSpec]) -> ToolChanges:
    """Compare the tools in the request with the present tools, in any order."""
    before = {spec.name: spec for spec in sent}
    names = {spec.name for spec in now}
    return ToolChanges(
        tuple(spec for spec in now if before.get(spec.name) != spec),
        tuple(spec for spec in sent if spec.name not in names),
    )


def change_words(changes: ToolChanges) -> str:
    """Return the reminder about changed tools; without changes, it revokes earlier reminders."""
    added, departed = changes
    if not added and not departed:
        return _SAME
    parts = [_HEAD]
    if departed:
        parts.append(f"No longer available: {', '.join(spec.name for spec in departed)}.")
    if added:
        parts.append(_ADDED)
        parts += [f"{one.name}: {one.description}\n  {one.parameters}" for one in added]
    return "\n".join(parts)


def is_rebuild_cheaper(
    changes: ToolChanges, *, cached: int, reminder: int, rates: TokenRates
) -> bool:
    """Return whether new tools in the request are cheaper than a reminder.

    A rebuilt request must write the whole prompt to the cache again. With a reminder, each later
    call still pays for the removed tools. If the cache is empty, a rebuild loses nothing.

    Args:
        changes: The changes of the tools.
        cached: The tokens that the next request could read from the cache if its tools stayed.
        reminder: The tokens of the reminder, or 0 if the conversation already contains the
            reminder.
        rates: The prices of the model's tokens.
    """
    lost = cached * (rates.cache_write - rates.cached)
    if lost <= 0:
        return True
    kept = rates.cached * CALLS_TO_COME
    added, departed = tools_tokens(changes.added), tools_tokens(changes.departed)
    rebuild = lost + added * (rates.cache_write + kept)
    remind = reminder * (rates.cache_write + kept) + departed * kept
    return rebuild < remind
