"""Has a summary written: by the cheapest model that can, in a bounded time, or by extraction (H28).

Nothing that goes wrong here fails a turn; only a cancelled turn ends it, before anything is taken.
"""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent import events
from indwell.agent.accounting import charge, leave
from indwell.agent.budget import expected_usage
from indwell.agent.events import Listener
from indwell.agent.sent import log_attempt, log_request
from indwell.agent.session import Session
from indwell.agent.summary_request import alone, appended, sizes_of
from indwell.agent.turn_state import TurnState
from indwell.context.audit import audited
from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.fallback import extract
from indwell.context.compaction.source import pieces, source_text
from indwell.context.compaction.step import Spill, Step, SummaryPlan
from indwell.context.compaction.summariser import Reader, readers
from indwell.context.compaction.summary import apply_summary, is_usable
from indwell.context.conversation import Conversation
from indwell.context.history import transcript
from indwell.context.task_card import task_card
from indwell.context.tokens import estimate_tokens
from indwell.errors import BadReply, UserError
from indwell.messages import BROKEN_OFF, Reply, Request, Text, Usage
from indwell.providers import base as stream
from indwell.providers.base import Provider

MOST_PIECES = 8  # calls for one summary; what needs more is extracted
LEAST_CARD, MOST_CARD, CARD_SHARE = 300, 2_000, 20  # tokens, and part of the budget


async def summary_step(
    session: Session, turn: TurnState, plan: SummaryPlan, facts: Facts, emit: Listener
) -> Step:
    """The step that puts a summary in the place of what ``plan`` names.

    What is cut stays readable: all of it goes to a spill that the summary names (H31).
    """
    text, trouble = await _summary(session, turn, plan, facts, emit)
    return await asyncio.to_thread(_step, session, plan, facts, text, trouble)


def card_of(conversation: Conversation) -> Text | None:
    """The task card of a conversation, also for a new one that goes on with its work (H29)."""
    budget = min(max(conversation.config.budget // CARD_SHARE, LEAST_CARD), MOST_CARD)
    messages = transcript(conversation.messages, conversation.history)
    return task_card(messages, budget_tokens=budget)


def _step(session: Session, plan: SummaryPlan, facts: Facts, text: str, trouble: str) -> Step:
    """Audit a summary and make its step; some 0.1 s for 100,000 tokens."""
    now = session.conversation
    card: Text | None = None
    if session.parts.preset.card:
        card = card_of(now)
        live = now.messages[: plan.start] + now.messages[plan.stop :]
        text = audited(plan, text, card, live=live)
    whole = source_text(msgspec.structs.replace(plan, most_characters=0, most_of_message=0))
    name = spill_name("transcript", whole)
    path = spill_path(facts.spill_folder, name)
    step = apply_summary(now, plan, text, card=card, transcript=path)
    note = f"{step.note}, without a model ({trouble})" if trouble else step.note
    return msgspec.structs.replace(step, spills=(*step.spills, Spill(name, whole)), note=note)


async def _summary(
    session: Session, turn: TurnState, plan: SummaryPlan, facts: Facts, emit: Listener
) -> tuple[str, str]:
    """A text for ``plan``, and what went wrong if no model wrote it."""
    try:
        async with asyncio.timeout(session.parts.summary_timeout_s):
            text = await _by_model(session, turn, plan, facts, emit)
    except TimeoutError:
        trouble = f"no answer within {session.parts.summary_timeout_s:g} s"
    except UserError as error:
        trouble = str(error)
    else:
        trouble = f"what came is no summary: {why}" if (why := is_usable(plan, text)) else ""
        if not trouble:
            return text, ""
    return await asyncio.to_thread(extract, plan), trouble


async def _by_model(
    session: Session, turn: TurnState, plan: SummaryPlan, facts: Facts, emit: Listener
) -> str:
    """Ask for all of it at once, or for pieces that a model takes.

    Raises:
        UserError: No model can, or it did not.
    """
    reader, most = await asyncio.to_thread(_reader, session, plan, facts, whole=True)
    parts = (plan,) if reader else pieces(plan, most)
    if len(parts) > MOST_PIECES:
        raise BadReply(f"it would take {len(parts)} calls")
    emit(events.Notice(turn.number, "info", f"summing up {plan.range}"))
    texts: list[str] = []
    for part in parts:
        if not reader or part is not plan:
            reader, _ = await asyncio.to_thread(_reader, session, part, facts, whole=False)
        if not reader:
            raise BadReply("it is too long for any model here")
        text = await _ask(session, turn, part, reader, emit)
        if why := is_usable(part, text):
            raise BadReply(f"what came is no summary: {why}")
        texts.append(text.strip())
    return "\n\n".join(texts)


def _reader(
    session: Session, plan: SummaryPlan, facts: Facts, *, whole: bool
) -> tuple[Reader | None, int]:
    """Who reads it, and how many tokens of a source one request takes at most."""
    small = session.parts.small
    sizes = sizes_of(
        session.conversation, plan, small_window=small.window if small else 0, whole=whole
    )
    room = max(sizes.small_budget, sizes.main_budget) - sizes.instructions
    return next(iter(readers(sizes, facts)), None), max(1, room * 3 // 4)


async def _ask(
    session: Session, turn: TurnState, plan: SummaryPlan, reader: Reader, emit: Listener
) -> str:
    """One call, allowed, counted and charged.

    Raises:
        UserError: It was not allowed, or gave no whole text.
    """
    parts, now, small = session.parts, session.conversation, session.parts.small
    model, provider, cost = now.config.model, parts.provider, parts.cost
    if reader == "small":
        assert small is not None
        model, provider, cost = small.name, small.provider, small.cost
    request = appended(now, plan) if reader == "main" else alone(model, plan)
    last = session.last_usage if reader == "main" else Usage()
    usage = expected_usage(request.tokens, last, request.max_output)
    said: list[str] = []
    async with leave(session, turn, usage, cost(usage)):
        if reader == "main":  # any other request stands in no conversation
            log_request(session, request, turn.number)
        try:
            reply = await _complete(session, provider, request, said)
        except (asyncio.CancelledError, UserError):
            if said:  # the endpoint charges for what it has begun
                tokens = estimate_tokens("".join(said))
                begun = Usage(input=request.tokens, output=tokens, reported=False)
                charge(session, turn, emit, begun, model=model, cost=cost(begun))
            raise
        charge(session, turn, emit, reply.usage, model=model, cost=cost(reply.usage))
    if reply.finish in BROKEN_OFF:
        raise BadReply("the summary broke off")
    return reply.text


async def _complete(
    session: Session, provider: Provider, request: Request, said: list[str]
) -> Reply:
    """Ask; what streams in is in ``said``, for the case that the answer never ends."""
    is_logged = request.cache_key != ""  # appended to the conversation

    def on_event(event: stream.StreamEvent) -> None:
        match event:
            case stream.TextDelta(text=text) | stream.ThinkingDelta(text=text):
                said.append(text)
            case stream.Discarded():
                said.clear()
            case stream.Sending() if is_logged:
                log_attempt(session, event)
            case _:
                pass

    return await provider.complete(request, on_event)
