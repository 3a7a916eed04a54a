"""Shortens the conversation to fit the model's window, before a call and on request.

A step writes the cut texts to disk before it changes the conversation. An interruption at any point
therefore leaves a valid session. A failed summary never fails a turn.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from datetime import timedelta
from difflib import get_close_matches
from functools import partial

import msgspec

from indwell.agent.compaction.summary import summary_step
from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import CONTINUE
from indwell.agent.core.session import Session, TurnState
from indwell.agent.core.session_parts import CompactionWish
from indwell.agent.requests.request_blocks import update_tools
from indwell.context.compaction.digesting.repeats import may_repeat, repeats
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.ladder import (
    Climb,
    after_run,
    climbed,
    failed,
    layer_name,
    next_step,
    take,
    trigger,
)
from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import (
    Action,
    CompactionFacts,
    CompactionStep,
    Outline,
    SpilledFile,
    nothing_pays,
    refusal,
)
from indwell.context.conversation import prompt_tokens
from indwell.context.tokens import BLOCK_OVERHEAD, tools_tokens
from indwell.context.untrusted_text import short_line
from indwell.errors import ContextOverflow, ConversationTooLarge, SessionError
from indwell.lazy_pattern import lazy_pattern
from indwell.sessions.records import Ending
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

# At most 8 texts are written to disk in parallel, because the disk causes most of the wait
AT_ONCE = 8
AIM = 0.5  # Compaction aims at this share of the budget.
# From this share of the budget on, a too large fixed part of the prompt is reported.
FULL = 0.7
CACHE_LIFE = timedelta(minutes=5)  # the time for which an endpoint keeps a prompt in its cache


async def fit(
    session: Session, turn: TurnState, incoming: int, emit: Listener, *, force: bool = False
) -> bool:
    """Compact the conversation if the next request is too large; return True if compacted.

    Args:
        session: The session.
        turn: The running turn, which pays for summaries.
        incoming: The number of tokens that are added to the conversation before the call.
        emit: Receives an event for each step.
        force: Whether to compact to half of the size, starting with the first layer, because the
            endpoint refused the request, or the user or model asked for compaction.
    """
    force = session.parts.compaction.wish.take() or force
    begun = _tokens(session, incoming)
    preset = session.parts.compaction.preset
    budget = session.conversation.config.budget
    if preset.repeats and may_repeat(session.conversation.messages):
        await _point_back(session)
        begun = _tokens(session, incoming)
    triggers = (trigger(rung, budget) for rung in preset.rungs)
    if not (force or preset.every_call or begun > min(triggers, default=float("inf"))):
        return False
    gains: Counter[str] = Counter()
    known = session.shortening.refusal
    if force or not nothing_pays(session.conversation, preset, _facts(session, incoming), known):
        gains = await _run(session, turn, incoming, emit, force=force)
        if gains.total() > 0:
            now = prompt_tokens(session.conversation)
            moment, before = Moment(session, turn.number, emit), now + gains.total()
            await session.parts.features.after_compaction(moment, before, now)
            await update_tools(session, turn.number, join=True)
    if _tokens(session, incoming) > FULL * budget:
        _tell_overhead(session, turn, emit)
    return gains.total() > 0


async def _point_back(session: Session) -> None:
    """Replace repeated content in the newest tool results by references to the earlier content."""
    now = session.conversation
    step = await asyncio.to_thread(repeats, now.messages)
    if step is not None:
        session.compact(step, take(now, step))


def too_large_for(error: ContextOverflow) -> ConversationTooLarge:
    """Return the error for the user when the endpoint refuses even the compacted conversation."""
    return ConversationTooLarge(
        f"{error}; nothing more can be shortened; start a new session, which continues the task, "
        f"or set `window` to the endpoint's limit"
    )


async def _run(
    session: Session, turn: TurnState, incoming: int, emit: Listener, *, force: bool
) -> Counter[str]:
    """Run all compaction steps that are due; return the tokens that each layer saved."""
    begun, preset = _tokens(session, incoming), session.parts.compaction.preset
    is_urgent = force or begun > session.conversation.config.budget
    idle = frozenset() if is_urgent else failed(session.shortening.restraint, begun)
    gains = await _climb(session, turn, incoming, emit, idle, force=force)
    if not force:
        always = layer_name(preset.rungs[0].layer) if preset.every_call else ""
        for layer in gains.keys() - {always}:
            session.shortening.restraint = after_run(
                session.shortening.restraint, layer, begun, begun - gains[layer]
            )
    return gains


async def _climb(
    session: Session,
    turn: TurnState,
    incoming: int,
    emit: Listener,
    idle: frozenset[str],
    *,
    force: bool,
) -> Counter[str]:
    """Apply compaction steps until no step is left; return the tokens that each layer saved.

    Every cut text stays readable in a file. If a layer's cut texts cannot be written to disk, the
    layer changes nothing and is skipped from then on.
    """
    climb = Climb(_tokens(session, incoming), force=force, out=idle)
    gains: Counter[str] = Counter()
    while True:
        now, preset = session.conversation, session.parts.compaction.preset
        facts = _facts(session, incoming)
        index = session.shortening.index
        decide = partial(next_step, climb, now, preset, facts, index)
        action = await _in_thread(decide, index)
        if action is None:
            session.shortening.refusal = refusal(now, preset, facts)
            break
        before = _tokens(session, incoming)
        if isinstance(action, CompactionStep):
            step = action
        else:
            step = await summary_step(session, turn, action, facts, emit)
        gain = await _taken(session, turn, step, incoming, emit)
        gains[action.layer] += gain
        climb = climbed(climb, action.layer, before=before, gain=gain)
    return gains


async def _in_thread(decide: Callable[[], Action | None], index: TranscriptIndex) -> Action | None:
    """Run a decision in a thread; a cancelled caller waits until the thread leaves the index."""
    deciding = asyncio.ensure_future(asyncio.to_thread(decide))
    try:
        return await asyncio.shield(deciding)
    except asyncio.CancelledError:
        index.stop()
        await asyncio.wait([deciding])
        deciding.exception()  # Retrieved, because a stopped decision raises ``DecisionStopped``.
        raise
    finally:
        index.stop(is_stopped=False)


async def _taken(
    session: Session, turn: TurnState, step: CompactionStep, incoming: int, emit: Listener
) -> int:
    """Write the cut texts to disk and apply the step; return the saved tokens, 0 on failure."""
    now = session.conversation
    shorter = await asyncio.to_thread(lambda: take(now, step))
    before, after = prompt_tokens(now), prompt_tokens(shorter)
    if after >= before:
        return 0
    try:
        await _keep(session, step)
    except SessionError as error:
        _tell_unkept(session, turn, error, emit)
        return 0
    session.compact(step, shorter)
    session.shortening.index.parts.keep(step.spills)
    emit(events.Compacted(turn.number, step.layer, before + incoming, after + incoming, step.note))
    return before - after


async def _keep(session: Session, step: CompactionStep) -> None:
    """Write the texts that a step cuts to disk; two texts of the same name are the same text.

    Raises:
        SessionError: A text could not be written.
    """
    spills = tuple({one.name: one for one in step.spills}.values())
    for at in range(0, len(spills), AT_ONCE):
        some = spills[at : at + AT_ONCE]
        await asyncio.gather(*(_keep_file(session, one) for one in some))


async def _keep_file(session: Session, file: SpilledFile) -> None:
    text = await asyncio.to_thread(lambda: file.text)
    await session.parts.spill.keep_as(file.name, text)


def _tell_unkept(session: Session, turn: TurnState, error: SessionError, emit: Listener) -> None:
    """Tell the user once that cut texts cannot be written to disk."""
    if session.shortening.told_unkept:
        return
    session.shortening.told_unkept = True
    words = f"the conversation could not be shortened enough: {error}"
    emit(events.Notice(turn.number, "warning", words))


def _facts(session: Session, incoming: int) -> CompactionFacts:
    parts = session.parts
    payer = parts if session.helping is None else session.helping.session.parts
    small = parts.model.small
    if small is not None and payer.limits.budgets.counts(payer.model.cost):
        small = small if payer.limits.budgets.counts(small.cost) else None
    return CompactionFacts(
        incoming=incoming,
        rates=parts.model.rates,
        small=small.rates if small else None,
        is_cached=_is_cached(session),
        spill_folder=str(parts.readable.own[0]) if parts.readable.own else "",
        unpinned=parts.features.unpinned,
    )


def _is_cached(session: Session) -> bool:
    """Return whether the last prompt is probably still in the prompt cache."""
    at, last = session.spending.answered_at, session.spending.last_usage
    if at is None or session.parts.clock.now() - at > CACHE_LIFE:
        return False
    is_first = session.spending.usage.input <= last.input
    return is_first or not last.reported or bool(last.cached or last.cache_write)


def _tokens(session: Session, incoming: int) -> int:
    return prompt_tokens(session.conversation) + incoming


def _tell_overhead(session: Session, turn: TurnState, emit: Listener) -> None:
    """Tell the user once that the part of the prompt that compaction may not cut is too large."""
    now, budget = session.conversation, session.conversation.config.budget
    if session.shortening.told_overhead or not session.parts.compaction.preset.rungs:
        return
    system = sum(block.meta.tokens + BLOCK_OVERHEAD for block in now.system)
    tools = tools_tokens(now.tools, now.config.model)
    pinned = Outline(now).whole.fixed
    if system + tools + pinned <= AIM * budget:
        return
    session.shortening.told_overhead = True
    words = (
        f"the system prompt ({system:,} tokens), the tools ({tools:,}) and the text that is kept "
        f"word for word ({pinned:,}) leave little of the {budget:,} tokens for a prompt, so "
        f"shortening cannot help much; choose a model with a larger window"
    )
    emit(events.Notice(turn.number, "warning", words))


COMPACT = "/compact"
_COMMAND = lazy_pattern(r"\s*(/[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?!\S)(\s+\S)?")
_NAME_LIMIT = 40  # the limit of characters for an unknown command's name in a message
# the least similarity of two names by difflib, from 0 to 1; at 0.8, one or two letters differ
_NEAR = 0.8
_MOST_LOOKED_AT = 64  # the limit of characters that are compared; no skill has a longer name


def is_compact(words: str) -> bool:
    """Return whether the user's text is exactly the command for compaction."""
    return len(words) < 3 * len(COMPACT) and words.strip().lower() == COMPACT


def no_command(words: str, skills: Collection[str] = ()) -> str:
    """Return the error for a text that looks like an unknown command, or empty for other texts.

    A single word such as ``/foo`` looks like a command, and so does a word close to a known name. A
    path (``/usr/bin``) and any other text is a prompt. A name in ``skills`` calls a skill.
    """
    match = _COMMAND.match(words)
    if match is None:
        return ""
    name, has_more = match[1], match[2] is not None
    if has_more and name.lower() == COMPACT:
        return (
            f"`{COMPACT}` takes no arguments; send it alone, and put instructions into a "
            f"separate prompt"
        )
    known = (COMPACT[1:], CONTINUE[1:], *skills)
    if name[1:].lower() in known:
        return ""
    shown = short_line(name, _NAME_LIMIT)
    near = get_close_matches(name[1 : _MOST_LOOKED_AT + 1].lower(), known, cutoff=_NEAR)
    if near:
        meant = " or ".join(f"`/{one}`" for one in near)
        return f"there is no command or skill {shown!r}; did you mean {meant}? Nothing was sent"
    if has_more:
        return ""
    names = ", ".join(f"`/{one}`" for one in known)
    return f"unknown command {shown!r}; the commands are {names}, and other text is a prompt"


def unshortened(preset: Preset) -> str:
    """Return a hint for an error message if the user's settings turn compaction layers off."""
    if preset.rungs:
        return ""
    return f'; the setting `compaction = "{preset.name}"` is why nothing was shortened'


async def compact_now(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Compact the conversation because the user asked; return the turn's ending and message."""
    turn.draft = ""
    before = prompt_tokens(session.conversation)
    preset = session.parts.compaction.preset
    if not preset.rungs:
        return "done", (
            f'nothing is shortened with `compaction = "{preset.name}"`; choose another preset in '
            "the settings"
        )
    if not await fit(session, turn, 0, emit, force=True):
        return "done", (
            f"nothing can be shortened: the conversation has {before:,} tokens, and its older "
            f"parts are already short"
        )
    after = prompt_tokens(session.conversation)
    return "done", f"the conversation is shorter now: {after:,} tokens instead of {before:,}"


NAME = "compact"


class CompactArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``compact``."""

    reason: str = ""


def make_compact(wish: CompactionWish) -> Tool[CompactArguments]:
    """Make the tool with which the model of a session asks for compaction."""

    async def run(arguments: CompactArguments, context: ToolContext) -> Outcome:
        del arguments, context
        wish.want()
        return Outcome("older parts will be shortened before your next step", figure="asked")

    return Tool(
        name=NAME,
        description="Shorten older parts of the conversation when a new phase begins or they "
        "distract. The user's words stay.",
        arguments=CompactArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=given.reason),
        run=run,
    )
