"""Keeps the conversation inside the window before a model call: the ladder, step by step (H18).

What a step cuts is on disk before the step is taken, and a step is taken whole or not at all; so
whatever ends this in the middle leaves a valid session. A summary never fails a turn (H28).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import msgspec

from indwell.agent import events
from indwell.agent.events import Listener
from indwell.agent.session import Session
from indwell.agent.summarise_call import summary_step
from indwell.agent.turn_state import TurnState
from indwell.context import conversation as talk
from indwell.context.compaction.engine import layer_name, next_action, take, trigger
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.preset import Preset
from indwell.context.compaction.restraint import after_run, failed
from indwell.context.compaction.step import Step
from indwell.context.tokens import BLOCK_OVERHEAD, tools_tokens
from indwell.errors import ContextOverflow, ConversationTooLarge, SessionError

MOST_ACTIONS = 12  # before one call; the default needs four
LEAST_STEP = 0.01  # of the prompt; a layer whose step gains less has nothing more to give now
FORCED_AIM = 0.5  # of what there was; the hard rungs aim at half (H18)
SMALLER = 0.95  # of what the endpoint found too long; less than that is worth another try
FULL = 0.7  # of the budget: the soft threshold, from which on overhead is worth a word (H18, H30)
CACHE_LIFE = timedelta(minutes=5)  # H34


async def fit(
    session: Session, turn: TurnState, incoming: int, emit: Listener, *, force: bool = False
) -> bool:
    """Make room for the next request, if it is time to; gives whether anything became shorter.

    Args:
        session: Whose conversation it is.
        turn: The one under way; it pays for summaries.
        incoming: Tokens that will join before the call.
        emit: Hears of each step.
        force: The endpoint says that it does not fit, or somebody asked for it: from the lowest
            rung on, down to half of what there is.
    """
    force = session.parts.wish.take() or force
    begun = _tokens(session, incoming)
    preset = session.parts.preset
    budget = session.conversation.config.budget
    if not (force or preset.every_call or begun > _lowest(preset, budget)):
        return False
    idle = failed(session.restraint, begun) if not force and begun <= budget else frozenset()
    gains: Counter[str] = Counter()
    try:
        gains = await _climb(session, turn, incoming, emit, set(idle), force=force)
    except SessionError as error:  # nothing is cut that cannot be read again
        emit(events.Notice(turn.number, "warning", f"nothing could be shortened: {error}"))
    if not force:
        always = layer_name(preset.rungs[0].layer) if preset.every_call else ""
        for layer in gains.keys() - {always}:
            session.restraint = after_run(session.restraint, layer, begun, begun - gains[layer])
    if _tokens(session, incoming) > FULL * budget:
        await _tell_overhead(session, turn, emit)
    return gains.total() > 0


def too_large_for(error: ContextOverflow) -> ConversationTooLarge:
    """What the user reads when the endpoint refuses even what was shortened."""
    return ConversationTooLarge(
        f"{error}; no more can be shortened, so begin a new session, which takes the task along, "
        "or set `window` to what the endpoint takes"
    )


async def _climb(
    session: Session,
    turn: TurnState,
    incoming: int,
    emit: Listener,
    idle: set[str],
    *,
    force: bool,
) -> Counter[str]:
    """Take actions until there is none; gives what each layer gained, in tokens."""
    begun = _tokens(session, incoming)
    limit = begun if force else 0
    gains: Counter[str] = Counter()
    for _ in range(MOST_ACTIONS):
        now = session.conversation
        facts = _facts(session, incoming, frozenset(idle), force=force)
        seen, preset = _narrowed(now, limit), _without(session.parts.preset, idle)
        action = await asyncio.to_thread(lambda: next_action(seen, preset, facts))  # noqa: B023
        if action is None:
            break
        before = _tokens(session, incoming)
        if isinstance(action, Step):
            step = action
        else:
            step = await summary_step(session, turn, action, facts, emit)
        gain = await _taken(session, turn, step, incoming, emit)
        gains[action.layer] += gain
        if gain < LEAST_STEP * before:
            idle.add(action.layer)
        if force and _tokens(session, incoming) <= FORCED_AIM * begun:
            force, limit = False, 0
    return gains


async def _taken(
    session: Session, turn: TurnState, step: Step, incoming: int, emit: Listener
) -> int:
    """Keep what is cut, then go on with what is left; tokens gained, 0 if it was not worth it."""
    now = session.conversation
    shorter = await asyncio.to_thread(lambda: take(now, step))
    before, after = talk.prompt_tokens(now), talk.prompt_tokens(shorter)
    if after >= before:
        return 0
    for spill in step.spills:
        await session.parts.keep_as(spill.name, spill.text)
    session.compact(step, shorter)
    emit(events.Compacted(turn.number, step.layer, before + incoming, after + incoming, step.note))
    return before - after


def _facts(session: Session, incoming: int, idle: frozenset[str], *, force: bool) -> Facts:
    parts = session.parts
    return Facts(
        incoming=incoming,
        rates=parts.rates,
        small=parts.small.rates if parts.small else None,
        is_cached=_is_cached(session),
        spill_folder=str(parts.read_roots[0]) if parts.read_roots else "",
        failed=idle,
        force=force,
    )


def _is_cached(session: Session) -> bool:
    """Is the last prompt in a cache, as far as one can know?"""
    at, last = session.answered_at, session.last_usage
    if at is None or session.parts.now() - at > CACHE_LIFE:
        return False
    is_first = session.usage.input <= last.input
    return is_first or not last.reported or bool(last.cached or last.cache_write)


def _tokens(session: Session, incoming: int) -> int:
    return talk.prompt_tokens(session.conversation) + incoming


def _lowest(preset: Preset, budget: int) -> float:
    return min((trigger(rung, budget) for rung in preset.rungs), default=float("inf"))


def _narrowed(conversation: talk.Conversation, limit: int) -> talk.Conversation:
    """As if the window held ``limit`` tokens of prompt; 0: as it is."""
    config = conversation.config
    if not 0 < limit < config.budget:
        return conversation
    config = msgspec.structs.replace(config, window=limit + config.max_output)
    return msgspec.structs.replace(conversation, config=config)


def _without(preset: Preset, idle: set[str]) -> Preset:
    """The rungs that may still give something; the engine asks all of them when it is forced."""
    rungs = tuple(rung for rung in preset.rungs if layer_name(rung.layer) not in idle)
    is_first = bool(rungs) and rungs[0] is preset.rungs[0]
    return msgspec.structs.replace(preset, rungs=rungs, every_call=preset.every_call and is_first)


async def _tell_overhead(session: Session, turn: TurnState, emit: Listener) -> None:
    """Say once that what no compaction may touch is too much already (H30)."""
    now, budget = session.conversation, session.conversation.config.budget
    aim = max((rung.aim for rung in session.parts.preset.rungs), default=0.0) * budget
    if session.told_overhead or not aim:
        return
    system = sum(block.meta.tokens + BLOCK_OVERHEAD for block in now.system)
    tools = tools_tokens(now.tools)
    pinned = await asyncio.to_thread(lambda: _pinned_tokens(now))
    if system + tools + pinned <= aim:
        return
    session.told_overhead = True
    words = (
        f"the system prompt ({system:,} tokens), the tools ({tools:,}) and what stays word for "
        f"word ({pinned:,}) leave little of the {budget:,} tokens that a prompt may have, and "
        "shortening the rest cannot help much; a model with a larger window can"
    )
    emit(events.Notice(turn.number, "warning", words))


def _pinned_tokens(conversation: talk.Conversation) -> int:
    """Of blocks that stay: pinned ones, and the user's words."""
    return sum(
        block.meta.tokens + BLOCK_OVERHEAD
        for message in conversation.messages
        for block in message.blocks
        if block.meta.pinned or block.meta.source == "user"
    )
