"""Replays a recorded conversation: the engine's requests, with simulated summaries. Pure.

A simulated summary has the size and the cost of a model's summary. The costs follow the rules that
choose the model for a summary (``context.compaction.summarising.summary``). A real endpoint can
replace the simulation (``cli``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from indwell.context.compaction.digesting.line_choice import LineChooser, chosen
from indwell.context.compaction.digesting.repeats import repeats
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.ladder import (
    Climb,
    Restraint,
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
    CompactionFacts,
    CompactionStep,
    NothingPays,
    SpilledFile,
    SummarySpan,
    nothing_pays,
    refusal,
)
from indwell.context.compaction.summarising.audit import audited
from indwell.context.compaction.summarising.fallback import extract, simulated
from indwell.context.compaction.summarising.summary import (
    SummarySizes,
    apart_price,
    appended_price,
    apply_summary,
    readers,
)
from indwell.context.compaction.summarising.task_card import card_limit, least_card, task_card
from indwell.context.compaction.summarising.user_notes import note_files
from indwell.context.compaction.transcripts import Files, source_text, transcript_files
from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    part_tokens,
    prompt_tokens,
    queue,
    system_block,
    with_input,
    with_reply,
    with_results,
)
from indwell.context.history import place_of, transcript
from indwell.context.injections import is_oversize, oversize_words
from indwell.context.request.assemble import assemble
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens
from indwell.errors import ConversationTooLarge
from indwell.messages import (
    Block,
    Message,
    Reply,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolUse,
)
from indwell.replay.cache import CACHES, CacheRules

MOST_ACTIONS = 24  # All layers of a preset together need fewer than 24 actions before one request.


class DoneBefore(msgspec.Struct, frozen=True):
    """The work before one request.

    Attributes:
        layers: The layers that made a step, in order.
        spills: The number of files that the layers wrote.
        summary_price: The price of the summariser's calls, in units of ``CompactionFacts.rates``.
        troubles: Why summaries were written without a model.
        is_loop: Whether compaction was stopped, because it did not end by itself.
    """

    layers: tuple[str, ...] = ()
    spills: tuple[SpilledFile, ...] = ()
    summary_price: float = 0.0
    troubles: tuple[str, ...] = ()
    is_loop: bool = False


class Driver:
    """The state that a session keeps for compaction between its requests."""

    def __init__(
        self,
        preset: Preset,
        facts: CompactionFacts,
        summarise: Summarise,
        choose: LineChooser = chosen,
    ) -> None:
        self._preset, self._facts, self._summarise = preset, facts, summarise
        self._choose = choose
        self._restraint = Restraint()
        self._refusal: NothingPays | None = None
        self._index = TranscriptIndex()

    def fit(
        self, conversation: Conversation, incoming: int, *, is_cached: bool
    ) -> tuple[Conversation, DoneBefore]:
        """Run compaction to its end.

        Args:
            conversation: The conversation before the new blocks join it.
            incoming: Tokens of the new blocks.
            is_cached: Whether a cache still holds the last request.
        """
        preset, budget = self._preset, conversation.config.budget
        if preset.repeats and (pointing := repeats(conversation.messages)):
            conversation = take(conversation, pointing)
        begun = prompt_tokens(conversation) + incoming
        lowest = min((trigger(rung, budget) for rung in preset.rungs), default=float("inf"))
        if not (preset.every_call or begun > lowest):
            return conversation, DoneBefore()
        facts = msgspec.structs.replace(self._facts, incoming=incoming, is_cached=is_cached)
        if nothing_pays(conversation, preset, facts, self._refusal):
            return conversation, DoneBefore()
        climb = Climb(begun, out=failed(self._restraint, begun) if begun <= budget else frozenset())
        gains: Counter[str] = Counter()
        done = DoneBefore(is_loop=True)
        for _ in range(MOST_ACTIONS):
            action = next_step(climb, conversation, preset, facts, self._index, choose=self._choose)
            if action is None:
                self._refusal = refusal(conversation, preset, facts)
                done = msgspec.structs.replace(done, is_loop=False)
                break
            if isinstance(action, CompactionStep):
                step = action
            else:
                written = self._summarise(conversation, action, facts, preset, self._index)
                step = written.step
                done = _paid(done, written.price, written.trouble)
            before = prompt_tokens(conversation)
            shorter = take(conversation, step)
            gain = max(0, before - prompt_tokens(shorter))
            if gain:
                conversation = shorter
                gains[step.layer] += gain
                self._index.parts.keep(step.spills)
                done = _made(done, step)
            climb = climbed(climb, action.layer, before=before + incoming, gain=gain)
        self._remember(gains, begun)
        return conversation, done

    def _remember(self, gains: Counter[str], begun: int) -> None:
        always = layer_name(self._preset.rungs[0].layer) if self._preset.every_call else ""
        for layer in gains.keys() - {always}:
            self._restraint = after_run(self._restraint, layer, begun, begun - gains[layer])


def _paid(done: DoneBefore, price: float, trouble: str) -> DoneBefore:
    troubles = (*done.troubles, trouble) if trouble else done.troubles
    return msgspec.structs.replace(
        done, summary_price=done.summary_price + price, troubles=troubles
    )


def _made(done: DoneBefore, step: CompactionStep) -> DoneBefore:
    return msgspec.structs.replace(
        done, layers=(*done.layers, step.layer), spills=(*done.spills, *step.spills)
    )


# The system prompt and tool specs have this many tokens; the constant is the study's.
PREFIX_TOKENS = 6_000
SPILL_FOLDER = "spill"
_LINE = "This line stands for the system prompt and the tools of a session.\n"


class Point(msgspec.Struct, frozen=True):
    """The state of a replay at one request.

    Attributes:
        conversation: The conversation that is sent.
        request: The request that is made from the conversation.
        reply: The recorded reply.
        tokens: Tokens of the prompt.
        arrived: New blocks since the last request, before any compaction.
        done: The compaction just before the request.
        fits: Whether the prompt is within the window. A prompt that does not fit counts as a broken
            rule, and is priced as if it had been sent, because the recording has its reply.
    """

    conversation: Conversation
    request: Request
    reply: Message
    tokens: int
    arrived: tuple[Block, ...] = ()
    done: DoneBefore = DoneBefore()
    fits: bool = True


class ReplayRules(msgspec.Struct, frozen=True):
    """The rules for running a recording again.

    Attributes:
        preset: The preset.
        window: Tokens that a request may have.
        ratio: Tokens of a simulated summary, as a fraction of the replaced text, or 0 for
            extraction by code, which costs nothing.
        prefix_tokens: The tokens of system prompt and tools.
        facts: Prices and other inputs of the engine.
        cache: The provider's rules; the engine knows whether the last request is still cached.
        summarise: Writes summaries; with None, summaries are simulated.
        choose: Chooses the lines that a digest keeps.
    """

    preset: Preset
    window: int
    ratio: float = 0.2
    prefix_tokens: int = PREFIX_TOKENS
    facts: CompactionFacts = CompactionFacts(spill_folder=SPILL_FOLDER)
    cache: CacheRules = CACHES["plain"]
    summarise: Summarise | None = None
    choose: LineChooser = chosen


def points(
    messages: tuple[Message, ...], rules: ReplayRules, moments_s: Sequence[float] = ()
) -> Iterator[Point]:
    """Return the requests of a recording, one before each reply, in order.

    Args:
        messages: Messages of alternating roles with all results, beginning with the user's.
        rules: Preset, window and prices.
        moments_s: The time of each request in seconds, or empty if requests follow one another
            without pauses.
    """
    summarise = rules.summarise or simulating(rules.ratio)
    driver = Driver(rules.preset, rules.facts, summarise, rules.choose)
    conversation = Conversation(
        config=Config(model="recorded", window=rules.window, max_output=0),
        system=(_prefix(rules.prefix_tokens),),
    )
    for index in range(0, len(messages) - 1, 2):
        asked, answered = messages[index], messages[index + 1]
        is_cached = _is_cached(rules.cache, moments_s[max(0, index // 2 - 1) : index // 2 + 1])
        point = _taken_in(conversation, asked, answered, driver, is_cached=is_cached)
        yield point
        replied = with_reply(point.conversation, _reply(answered), turn=answered.turn)
        conversation = counted(replied)


def _is_cached(cache: CacheRules, moments_s: Sequence[float]) -> bool:
    """Return whether the cache still has the last request at the newest moment."""
    gap_s = moments_s[-1] - moments_s[-2] if len(moments_s) > 1 else 0.0
    return cache.exists and not (cache.life_s and gap_s > cache.life_s)


def _taken_in(
    conversation: Conversation,
    asked: Message,
    answered: Message,
    driver: Driver,
    *,
    is_cached: bool,
) -> Point:
    """Add the user's message, compact, and create the request."""
    window = conversation.config.window
    said = conversation.messages[-1].blocks if conversation.messages else ()
    results = tuple(one for one in asked.blocks if isinstance(one, ToolResult))
    if results:
        conversation = with_results(conversation, results, turn=asked.turn)
    texts = [one for one in asked.blocks if isinstance(one, Text)]
    words = [_bounded(one.text, window) for one in texts if one.meta.source == "user"]
    conversation = queue(conversation, [one for one in texts if one.meta.source != "user"])
    n_texts = len(conversation.pending) + len(words)
    waiting = sum(one.meta.tokens + BLOCK_OVERHEAD for one in conversation.pending)
    incoming = waiting + sum(estimate_tokens(one) + BLOCK_OVERHEAD for one in words)
    conversation, done = driver.fit(conversation, incoming, is_cached=is_cached)
    conversation = with_input(
        conversation, words=words[0] if words else None, turn=asked.turn, steered=words[1:]
    )
    tokens = prompt_tokens(conversation)
    joined = conversation.messages[-1].blocks[-n_texts:] if n_texts else ()
    return Point(
        conversation=conversation,
        request=_assembled(conversation),
        reply=answered,
        tokens=tokens,
        arrived=(*said, *results, *joined),
        done=done,
        fits=tokens <= window,
    )


def _bounded(words: str, window: int) -> str:
    """Return the user's text, or a replacement if the text is too long (H12)."""
    return (
        oversize_words(words, f"{SPILL_FOLDER}/words.txt") if is_oversize(words, window) else words
    )


def _assembled(conversation: Conversation) -> Request:
    try:
        return assemble(conversation)
    except ConversationTooLarge:
        config = msgspec.structs.replace(conversation.config, window=1 << 60)
        return assemble(msgspec.structs.replace(conversation, config=config))


def _reply(message: Message) -> Reply:
    texts = [one.text for one in message.blocks if isinstance(one, Text)]
    thinking = [one.text for one in message.blocks if isinstance(one, Thinking)]
    calls = tuple(
        ToolCall(one.id, one.name, one.arguments, one.extra)
        for one in message.blocks
        if isinstance(one, ToolUse)
    )
    return Reply("\n\n".join(texts), calls, "\n\n".join(thinking))


def _prefix(tokens: int) -> Text:
    """Return a system block that counts as this many tokens."""
    block = system_block(_LINE * (tokens // estimate_tokens(_LINE)))
    counts = msgspec.structs.replace(block.meta, tokens=tokens - BLOCK_OVERHEAD)
    return msgspec.structs.replace(block, meta=counts)


INSTRUCTIONS = 400  # The summariser's instructions have this many tokens (``prompt.system``).


class WrittenSummary(msgspec.Struct, frozen=True):
    """A finished summary.

    Attributes:
        step: The step that inserts the summary.
        price: The price of the calls that wrote the summary, in units of ``CompactionFacts.rates``,
            per million.
        trouble: Why the summary was written without a model, if a model was requested.
    """

    step: CompactionStep
    price: float = 0.0
    trouble: str = ""


Summarise: TypeAlias = Callable[
    [Conversation, SummarySpan, CompactionFacts, Preset, TranscriptIndex], WrittenSummary
]
"""Writes the summary of a span, with the index of the replay's transcript."""


def simulating(ratio: float) -> Summarise:
    """Return a summariser that extracts a summary of the stated size.

    Args:
        ratio: The tokens of the summary, as a fraction of the replaced text, or 0 for the engine's
            extraction without a model, which costs nothing (H28).
    """

    def summarise(
        conversation: Conversation,
        span: SummarySpan,
        facts: CompactionFacts,
        preset: Preset,
        index: TranscriptIndex,
    ) -> WrittenSummary:
        if ratio:
            text = simulated(span, ratio)
            price = price_of(conversation, span, facts, estimate_tokens(text))
        else:
            text, price = extract(span), 0.0
        return WrittenSummary(_step(conversation, span, facts, preset, text, index=index), price)

    return summarise


def price_of(
    conversation: Conversation, span: SummarySpan, facts: CompactionFacts, output: int
) -> float:
    """Return the main model's price of a summary with ``output`` tokens, appended if possible."""
    live = conversation.messages[span.start : span.stop]
    sizes = SummarySizes(
        prefix=prompt_tokens(conversation),
        region=part_tokens(conversation, source_text(span)) + INSTRUCTIONS,
        instructions=INSTRUCTIONS,
        output=output,
        main_budget=conversation.config.budget,
        is_faithful=not any(
            one.meta.source == "compactor" for message in live for one in message.blocks
        ),
    )
    if "main" in readers(sizes, facts):
        return appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    return apart_price(sizes, facts.rates)


def _step(
    conversation: Conversation,
    span: SummarySpan,
    facts: CompactionFacts,
    preset: Preset,
    text: str,
    *,
    index: TranscriptIndex,
) -> CompactionStep:
    """Build the step as ``agent.compaction.summary`` does: checked, with task card and files."""
    card: Text | None = None
    least: Text | None = None
    notes = Files("", ())
    messages, history = conversation.messages, conversation.history
    whole = transcript(messages, history)
    index.grow_work(whole)
    if preset.card:
        budget = card_limit(conversation.config.budget)
        work = index.work.part(0, len(whole))
        notes = note_files(work.asked(), facts.spill_folder)
        card = task_card(whole, budget_tokens=budget, notes_in=notes.named, work=work)
        least = least_card(whole, work)
        live = messages[: span.start] + messages[span.stop :]
        places = (place_of(messages, history, at) for at in (span.start, span.stop))
        text = audited(span, text, card, live=live, work=index.work.part(*places))
    folder = facts.spill_folder
    files = transcript_files(conversation, span.start, span.stop, folder, index.parts)
    step = apply_summary(conversation, span, text, card=card, least=least, transcript=files.named)
    return msgspec.structs.replace(step, spills=(*step.spills, *files.spills, *notes.spills))
