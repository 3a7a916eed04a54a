"""Builds the step that replaces messages by a summary, and chooses its model (H25, H26, H31).

A summary is a tagged block of tier 3, headed by its range; the task card and the user's own words
follow it. Roles keep alternating: if a neighbour is the user's message, the two become one.

As one more turn of the conversation, a request to the main model reads the prefix that its cache
holds. Any other call reads the region alone, at the full price. The instructions are the same.

An outdated span is removed together with the messages that a summary replaces. It is beside the
user's words, which a fold keeps, and the summary breaks the cache anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

import msgspec

from indwell.context.compaction.cuts import head_and_tail, with_blocks
from indwell.context.compaction.digesting.repeats import whole_again
from indwell.context.compaction.step import CompactionFacts, CompactionStep, SummarySpan, TokenRates
from indwell.context.compaction.summarising.span import HEAD_TOKENS
from indwell.context.conversation import Conversation
from indwell.context.history import MessageSplice, tokens_of
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, Text

_ERROR_PAGE = lazy_pattern(
    r"\s*(?:<!doctype\b|<html\b|<\?xml\b|<head\b|\{\s*\"(?:error|errors|detail)\"\s*:"
    r"|(?-i:(?:HTTP/\d(?:\.\d)?\s+)?[45]\d\d\s+[A-Z][a-z]+)"
    r"|(?:upstream|internal server error|bad gateway|service unavailable|gateway time-?out"
    r"|too many requests)\b)",
    re.IGNORECASE,
)
_SAID = frozenset({"user", "assistant"})
_DROPPED = "Dropped to make room; there was none for a summary."
_CHARACTERS_A_TOKEN = 2  # a cautious number: text cut to this length surely fits


def is_usable(span: SummarySpan, text: str) -> str:
    """Say briefly why ``text`` cannot be the summary; empty if it can."""
    if not text.strip():
        return "it is empty"
    if _ERROR_PAGE.match(text):
        return "it is an error page"
    if estimate_tokens(text) >= tokens_of(span.source):
        return "it is longer than what it sums up"
    return ""


def apply_summary(
    conversation: Conversation,
    span: SummarySpan,
    text: str,
    *,
    card: Text | None = None,
    least: Text | None = None,
    transcript: str = "",
) -> CompactionStep:
    """Make the step that puts a summary in the place of the span's messages.

    Args:
        conversation: The conversation that the span was made of.
        span: What is replaced, and what stays.
        text: The summary; it is cut if the conversation would not become shorter with all of it.
        card: The task card; it replaces older cards among the messages.
        least: A card of hardly more than a line, for when the first one has no room.
        transcript: Where the complete conversation can be read (H31).

    Returns:
        A step without splices if nothing makes the conversation shorter, not even dropping the
        span's messages with a note that says so (H28).
    """
    attributes = {"range": span.range} | ({"transcript": transcript} if transcript else {})
    turn = conversation.messages[span.stop - 1].turn

    def made(words: str, cards: Sequence[Block]) -> tuple[MessageSplice, int]:
        """Return the splice, and the number of tokens above its limit."""
        summary = inject("summary", words, turn=turn, attributes=attributes)
        splice = _splice(conversation.messages, span, summary, cards, card if cards else None)
        replaced = conversation.messages[splice.start : splice.stop]
        return splice, tokens_of(splice.messages) - tokens_of(replaced) + 1

    standing = _cards(conversation.messages[span.start : span.stop])[-1:]
    for cards in ((card,) if card else standing, (least,) if least else (), ()):
        splice, over = made(text, cards)
        if over > 0:
            room = (estimate_tokens(text) - over - HEAD_TOKENS) * _CHARACTERS_A_TOKEN
            words = head_and_tail(text, room, "") if room > 0 else _DROPPED
            splice, over = made(words, cards)
        if over <= 0:
            step = CompactionStep(span.layer, (splice,), span.spills, f"{span.range} summarised")
            return whole_again(conversation, step)
    return CompactionStep(span.layer, ())


def _splice(
    messages: tuple[Message, ...],
    span: SummarySpan,
    summary: Text,
    cards: Sequence[Block],
    new_card: Text | None,
) -> MessageSplice:
    start, stop = span.start, span.stop
    rest = (one for one in span.kept if one.meta.source not in _SAID)
    *earlier, last = _dialogue(span.kept, messages[stop - 1].turn)
    made = [*earlier, with_blocks(last, (summary, *cards, *rest, *last.blocks))]
    if start and messages[start - 1].role == made[0].role:
        start -= 1
        before = _without_cards(messages[start].blocks, new_card)
        made[0] = with_blocks(made[0], (*before, *made[0].blocks))
    if stop < len(messages) and messages[stop].role == "user":
        after = _without_cards(messages[stop].blocks, new_card)
        made[-1] = Message("user", (*made[-1].blocks, *after), messages[stop].turn)
        stop += 1
    return MessageSplice(start, stop, tuple(made), whole=True)


def _dialogue(kept: Iterable[Block], turn: int) -> list[Message]:
    """Return the messages that stay, by speaker; the last one is the user's and may be empty."""
    said = (one for one in kept if one.meta.source in _SAID)
    made = [
        Message("assistant" if source == "assistant" else "user", tuple(blocks), turn)
        for source, blocks in groupby(said, key=lambda one: one.meta.source)
    ]
    if not made or made[-1].role == "assistant":
        made.append(Message("user", (), turn))
    return made


def _cards(messages: Iterable[Message]) -> tuple[Block, ...]:
    return tuple(
        one for message in messages for one in message.blocks if one.meta.source == "task_card"
    )


def _without_cards(blocks: Iterable[Block], new: Text | None) -> tuple[Block, ...]:
    """Drop older cards that a new card replaces; without a new card the old cards stay."""
    return tuple(one for one in blocks if not (new and one.meta.source == "task_card"))


Reader: TypeAlias = Literal["main", "small", "apart"]
"""``main``: the main model, appended to the conversation; ``small``: the cheaper model reads the
region; ``apart``: the main model reads the region alone, in a request of its own.
"""

ROOM = 200  # tokens of output beyond the requested summary; H25
LEAST_OUTPUT = 1_000
"""A reasoning model needs some tokens to think, and a short region has a target of a few dozen."""


class SummarySizes(msgspec.Struct, frozen=True):
    """Tokens that a summary would read and write, in the count of the main model's endpoint.

    The same numbers estimate the tokens of another model.

    Attributes:
        prefix: Tokens of the whole prompt of the main model.
        region: Tokens of the text to summarise, with the instructions.
        instructions: Tokens of the instructions alone.
        output: Tokens of the summary.
        main_budget: Prompt tokens that the main model takes with that output.
        small_budget: The same for the small model; 0 if missing.
        is_faithful: Whether the prefix shows the region as it was; not if it contains a summary
            (H26).
    """

    prefix: int
    region: int
    instructions: int
    output: int
    main_budget: int
    small_budget: int = 0
    is_faithful: bool = True


def output_limit(target: int) -> int:
    """Return the tokens that the reply may have, for a summary of ``target`` tokens (H25)."""
    return max(target + ROOM, LEAST_OUTPUT)


def readers(sizes: SummarySizes, facts: CompactionFacts) -> tuple[Reader, ...]:
    """Return the readers whose window has room for the text to summarise, the cheapest first."""
    prices: dict[Reader, float] = {}
    if sizes.is_faithful and sizes.prefix + sizes.instructions <= sizes.main_budget:
        prices["main"] = appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    if facts.small is not None and sizes.region <= sizes.small_budget:
        prices["small"] = apart_price(sizes, facts.small)
    if not prices and sizes.region <= sizes.main_budget:
        prices["apart"] = apart_price(sizes, facts.rates)
    return tuple(sorted(prices, key=prices.__getitem__))


def appended_price(sizes: SummarySizes, rates: TokenRates, *, is_cached: bool) -> float:
    """Return the price of a summary request that appends its instructions to the cached prefix.

    Without a cached prefix the request writes one, which makes the next call cheaper.
    """
    prefix = sizes.prefix * (rates.cached if is_cached else rates.input)
    return prefix + sizes.instructions * rates.input + sizes.output * rates.output


def apart_price(sizes: SummarySizes, rates: TokenRates) -> float:
    """Return the price of reading the region alone, at the full rate, and of the summary."""
    return sizes.region * rates.input + sizes.output * rates.output


def without_stale(
    messages: Sequence[Message], step: CompactionStep, facts: CompactionFacts
) -> CompactionStep:
    """Return the step that also drops plans that are done, rejected, or replaced by a newer one.

    Args:
        messages: The live messages that the step is made for.
        step: A step with a summary; one without splices stays unchanged.
        facts: They say whether a plan is outdated.
    """
    if not step.splices:
        return step
    taken = {at for one in step.splices for at in range(one.start, one.stop)}
    made = [message for one in step.splices for message in one.messages]
    left = [message for at, message in enumerate(messages) if at not in taken]
    turn = max((one.meta.turn for one in _plans((*made, *left)) if facts.keeps(one)), default=None)

    def lighter(message: Message) -> Message:
        blocks = [one for one in message.blocks if not _is_stale(one, facts, turn)]
        if not blocks or len(blocks) == len(message.blocks):
            return message
        return with_blocks(message, blocks)

    splices = [
        msgspec.structs.replace(one, messages=tuple(map(lighter, one.messages)))
        for one in step.splices
    ]
    for at, message in enumerate(messages):
        if at not in taken and (after := lighter(message)) is not message:
            splices.append(MessageSplice(at, at + 1, (after,)))
    ordered = sorted(splices, key=lambda one: one.start)
    return msgspec.structs.replace(step, splices=tuple(ordered))


def _is_stale(block: Block, facts: CompactionFacts, newest: int | None) -> bool:
    """Is the block an outdated plan, or a plan of an earlier turn than the ``newest``?"""
    if block.meta.source != "plan":
        return False
    return not facts.keeps(block) or (newest is not None and block.meta.turn < newest)


def _plans(messages: Sequence[Message]) -> tuple[Block, ...]:
    return tuple(one for message in messages for one in message.blocks if one.meta.source == "plan")
