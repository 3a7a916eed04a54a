"""Summarises messages with the cheapest suitable model, or by extraction without a model.

A failed summary never fails the turn. If the turn is cancelled, the conversation stays unchanged.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial

import msgspec

from indwell.agent.core import events
from indwell.agent.core.budget import expected_usage
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session, TurnState
from indwell.agent.requests.sending import (
    charge,
    idle_s,
    leave,
    log_alone,
    log_attempt,
    log_request,
)
from indwell.context.compaction.step import CompactionFacts, CompactionStep, SummarySpan, TokenRates
from indwell.context.compaction.summarising.audit import audited
from indwell.context.compaction.summarising.fallback import extract
from indwell.context.compaction.summarising.summary import (
    Reader,
    SummarySizes,
    apply_summary,
    output_limit,
    readers,
    why_unusable,
    without_stale,
)
from indwell.context.compaction.summarising.task_card import card_limit, least_card, task_card
from indwell.context.compaction.summarising.user_notes import note_files
from indwell.context.compaction.transcripts import Files, pieces, source_text, transcript_files
from indwell.context.conversation import (
    Conversation,
    estimated_tokens,
    part_tokens,
    prompt_tokens,
    system_block,
    user_words,
    with_input,
)
from indwell.context.history import place_of, transcript
from indwell.context.injections import inject
from indwell.context.request.assemble import USUAL_RATES, place_anchors
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens
from indwell.context.work_record import WorkPart, work_of
from indwell.errors import BadReply, UserError
from indwell.messages import BROKEN_OFF, Message, Reply, Request, Text, ToolResult, ToolUse, Usage
from indwell.prompt.system import summary_words
from indwell.providers import base as stream
from indwell.providers.base import Provider
from indwell.workspace.paths import display

_QUOTED = 80  # the limit of characters for each quote that marks an end of the summarised part


def sizes_of(
    conversation: Conversation, span: SummarySpan, *, small_window: int, whole: bool
) -> SummarySizes:
    """Return the tokens that a model would read and write for a summary of ``span``.

    Args:
        conversation: The main model's conversation.
        span: The part of the conversation to summarise.
        small_window: The window of the small model in tokens, or 0 if there is no small model.
        whole: Whether ``span`` is the whole part. Each part of a divided span needs a separate
            request.
    """
    output = output_limit(span.target)
    instructions = part_tokens(conversation, appended_words(span)) + BLOCK_OVERHEAD
    live = conversation.messages[span.start : span.stop]
    summaries = (one.meta.source == "compactor" for message in live for one in message.blocks)
    return SummarySizes(
        prefix=prompt_tokens(conversation),
        region=part_tokens(conversation, source_text(span)) + instructions,
        instructions=instructions,
        output=output,
        main_budget=max(0, conversation.config.window - output),
        small_budget=max(0, small_window - output),
        is_faithful=whole and not any(summaries),
    )


def appended(
    conversation: Conversation,
    span: SummarySpan,
    *,
    idle_s: float | None = None,
    rates: TokenRates = USUAL_RATES,
) -> Request:
    """Return a request that repeats the main model's last request and adds the instructions."""
    turn = conversation.messages[-1].turn
    asking = msgspec.structs.replace(
        conversation, pending=(inject("reminder", appended_words(span), turn=turn),)
    )
    asking = with_input(asking, words=None, turn=turn)
    return Request(
        model=conversation.config.model,
        system=conversation.system,
        tools=conversation.tools,
        messages=asking.messages,
        max_output=output_limit(span.target),
        # Mark only the prefix that the cache already holds, because no later request repeats the
        # rest.
        anchors=place_anchors(asking, idle_s=idle_s, calls_to_come=0, rates=rates),
        tool_choice="none",
        cache_key=conversation.config.cache_key,
        tokens=estimated_tokens(asking),
        effort=conversation.config.effort,  # a different effort would make the prompt cache useless
        verbosity=conversation.config.verbosity,
        cache_life=conversation.config.cache_life,
    )


def alone(model: str, span: SummarySpan) -> Request:
    """Return a summary request with only the instructions, and the messages as data."""
    words, turn = _words(span), span.source[-1].turn
    said = user_words(source_text(span), turn=turn)
    block = msgspec.structs.replace(said, meta=msgspec.structs.replace(said.meta, tier=3))
    return Request(
        model=model,
        system=(system_block(words),),
        tools=(),
        messages=(Message("user", (block,), turn),),
        max_output=output_limit(span.target),
        tokens=estimate_tokens(words) + block.meta.tokens + 2 * BLOCK_OVERHEAD,
    )


def appended_words(span: SummarySpan) -> str:
    """Return the summary instructions, with quotes of the first and last message to summarise."""
    first, last = _quoted(span.source[0]), _quoted(span.source[-1])
    return (
        f"{_words(span)}\n\nThat part begins with {first} and ends with {last}; what comes after "
        "it stays as it is and belongs to no summary."
    )


def _words(span: SummarySpan) -> str:
    return summary_words(target=span.target, range_words=span.range)


def _quoted(message: Message) -> str:
    """Return the first words of a message in quotes, because they are data."""
    for block in message.blocks:
        match block:
            case ToolUse(name=name, arguments=arguments):
                return f"the call {json.dumps(f'{name} {arguments}'[:_QUOTED])}"
            case ToolResult(text=text):
                return f"the result {json.dumps(text[:_QUOTED])}"
            case Text(text=text):
                return f"the words {json.dumps(text[:_QUOTED])}"
            case _:
                continue
    return "a picture"


LEAST_CUT = 2  # A summary that was cut off must have at least half of the allowed length.
# the limit of model calls for one summary; a part that needs more calls is extracted instead
MOST_PIECES = 8


async def summary_step(
    session: Session, turn: TurnState, span: SummarySpan, facts: CompactionFacts, emit: Listener
) -> CompactionStep:
    """Return the compaction step that replaces the blocks of ``span`` by a summary.

    The replaced texts go to files. The summary names the files, so the texts stay readable.
    """
    text, trouble = await _summary(session, turn, span, facts, emit)
    make = partial(_step, session, span, facts, text, trouble, pending=pending_hunks(session))
    return await asyncio.to_thread(make)


def pending_hunks(session: Session) -> tuple[tuple[str, int], ...]:
    """Return files with changes that await review, with the number of such changes in each file."""
    review = session.parts.changes.ledger
    if review is None:
        return ()
    roots = session.parts.workspace.roots
    return tuple((display(path, roots), len(review.hunks(path))) for path in review.paths())


def card_of(
    conversation: Conversation,
    pending: Sequence[tuple[str, int]] = (),
    notes_in: str = "",
    work: WorkPart | None = None,
) -> Text | None:
    """Return the task card of a conversation; a session that continues the task inherits it.

    Args:
        conversation: The conversation.
        pending: Paths with the number of the agent's changes that await review.
        notes_in: The names of the files with all notes, which the session can read.
        work: The work of the whole transcript, if the caller has recorded the work.
    """
    budget = card_limit(conversation.config.budget)
    messages = transcript(conversation.messages, conversation.history)
    return task_card(messages, budget_tokens=budget, pending=pending, notes_in=notes_in, work=work)


def notes_of(conversation: Conversation, folder: str) -> Files:
    """Return files for ``folder`` with the user's words that may still hold."""
    whole = transcript(conversation.messages, conversation.history)
    return note_files(work_of(whole).asked(), folder)


def _step(
    session: Session,
    span: SummarySpan,
    facts: CompactionFacts,
    text: str,
    trouble: str,
    *,
    pending: Sequence[tuple[str, int]],
) -> CompactionStep:
    """Check a summary's text and build the compaction step; slow for long conversations."""
    now = session.conversation
    card: Text | None = None
    least: Text | None = None
    notes = Files("", ())
    whole, index = transcript(now.messages, now.history), session.shortening.index
    # A cancelled turn does not wait for this thread, so the thread may only read the index.
    if session.parts.compaction.preset.card:
        work = index.work_in(whole, 0, len(whole)) or work_of(whole)
        notes = note_files(work.asked(), facts.spill_folder)
        card = card_of(now, pending, notes.named, work)
        least = least_card(whole, work)
        live = now.messages[: span.start] + now.messages[span.stop :]
        places = (place_of(now.messages, now.history, at) for at in (span.start, span.stop))
        text = audited(span, text, card, live=live, work=index.work_in(whole, *places))
    parts = index.parts if index.has_work(whole) else None
    files = transcript_files(now, span.start, span.stop, facts.spill_folder, parts)
    step = apply_summary(now, span, text, card=card, least=least, transcript=files.named)
    step = without_stale(now.messages, step, facts)
    note = f"{step.note}, without a model ({trouble})" if trouble else step.note
    spills = (*step.spills, *files.spills, *notes.spills)
    return msgspec.structs.replace(step, spills=spills, note=note)


async def _summary(
    session: Session, turn: TurnState, span: SummarySpan, facts: CompactionFacts, emit: Listener
) -> tuple[str, str]:
    """Return the summary of ``span``, and the reason if no model wrote it."""
    try:
        async with asyncio.timeout(session.parts.compaction.summary_timeout_s):
            text = await _by_model(session, turn, span, facts, emit)
    except TimeoutError:
        trouble = f"no answer within {session.parts.compaction.summary_timeout_s:g} s"
    except UserError as error:
        trouble = str(error).partition("; ")[
            0
        ]  # The error's advice is left out, because the turn continues anyway.
    else:
        trouble = f"the reply is not a summary: {why}" if (why := why_unusable(span, text)) else ""
        if not trouble:
            return text, ""
    return await asyncio.to_thread(extract, span), trouble


async def _by_model(
    session: Session, turn: TurnState, span: SummarySpan, facts: CompactionFacts, emit: Listener
) -> str:
    """Ask a model for one summary of the span, or for summaries of parts that fit the window.

    Raises:
        UserError: No model can write the summary, or the model failed.
    """
    reader, most = await asyncio.to_thread(_reader, session, span, facts, whole=True)
    parts = (span,) if reader else pieces(span, most)
    if len(parts) > MOST_PIECES:
        raise BadReply(f"it would take {len(parts)} calls")
    emit(events.Notice(turn.number, "info", f"summing up {span.range}"))
    texts: list[str] = []
    for part in parts:
        if not reader or part is not span:
            reader, _ = await asyncio.to_thread(_reader, session, part, facts, whole=False)
        if not reader:
            raise BadReply("it is too long for any model here")
        text = await _ask(session, turn, part, reader, emit)
        if why := why_unusable(part, text):
            raise BadReply(f"the reply is not a summary: {why}")
        texts.append(text.strip())
    return "\n\n".join(texts)


def _reader(
    session: Session, span: SummarySpan, facts: CompactionFacts, *, whole: bool
) -> tuple[Reader | None, int]:
    """Return the model that writes the summary, and the source-token limit of one request."""
    small, now = session.parts.model.small, session.conversation
    sizes = sizes_of(now, span, small_window=small.window if small else 0, whole=whole)
    room = max(sizes.small_budget, sizes.main_budget) - sizes.instructions
    estimated = room / now.calibration.ratio_of(now.config.model)
    return next(iter(readers(sizes, facts)), None), max(1, int(estimated * 3 / 4))


async def _ask(
    session: Session, turn: TurnState, span: SummarySpan, reader: Reader, emit: Listener
) -> str:
    """Make one model call within the budgets, and charge the call to the turn.

    Raises:
        UserError: The budgets do not allow the call, or the reply has no complete text.
    """
    parts, now, small = session.parts, session.conversation, session.parts.model.small
    model, provider, cost = now.config.model, parts.model.provider, parts.model.cost
    window = now.config.window
    if reader == "small":
        assert small is not None
        model, provider, cost, window = small.name, small.provider, small.cost, small.window
    if reader == "main":
        request = appended(now, span, idle_s=idle_s(session), rates=parts.model.rates)
    else:
        request = alone(model, span)
    last = session.spending.last_usage if reader == "main" else Usage()
    usage = expected_usage(request.tokens, last, request.max_output)
    said: list[str] = []
    async with leave(session, turn, usage, cost(usage)):
        if reader == "main":
            log_request(session, request, turn.number, purpose="summary")
        else:
            log_alone(session, request, turn.number, window=window)
        try:
            reply = await _complete(session, turn, provider, request, said, emit)
        except (asyncio.CancelledError, UserError):
            if said:  # the endpoint charges for a reply that has begun
                tokens = estimate_tokens("".join(said))
                begun = Usage(input=request.tokens, output=tokens, reported=False)
                charge(session, turn, emit, begun, model=model, cost=cost(begun))
            raise
        charge(session, turn, emit, reply.usage, model=model, cost=cost(reply.usage))
    return _whole(reply, span)


def _whole(reply: Reply, span: SummarySpan) -> str:
    """Return the reply's text if it is complete enough for a summary.

    Raises:
        BadReply: The reply is only the beginning of a summary.
    """
    if reply.finish in BROKEN_OFF:
        raise BadReply("the summary broke off")
    if reply.finish == "filtered":
        raise BadReply("the provider's filter stopped the summary")
    if reply.finish == "length":
        if estimate_tokens(reply.text) * LEAST_CUT < span.target:
            raise BadReply("the summary reached the output limit")
        # the last line is incomplete, so it is dropped
        return reply.text.rpartition("\n")[0] or reply.text
    return reply.text


async def _complete(  # noqa: PLR0917 - all of them are what it is about
    session: Session,
    turn: TurnState,
    provider: Provider,
    request: Request,
    said: list[str],
    emit: Listener,
) -> Reply:
    """Call the model; ``said`` collects the streamed text in case the reply breaks off."""

    def on_event(event: stream.StreamEvent) -> None:
        match event:
            case stream.TextDelta(text=text) | stream.ThinkingDelta(text=text):
                said.append(text)
            case stream.Discarded():
                said.clear()
            case stream.RetryWait(seconds=seconds, reason=reason):
                words = f"summing up: {reason}; trying again in {seconds:.0f} s"
                emit(events.Notice(turn.number, "warning", words))
            case stream.Sending():
                log_attempt(session, event)
            case _:
                pass

    return await provider.complete(request, on_event)
