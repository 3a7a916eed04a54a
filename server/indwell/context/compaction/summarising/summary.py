"""Builds the step that replaces messages with a summary, and chooses the model.

A summary is a tagged block of untrusted text (tier 3) that begins with its range. The task card and
the user's own text follow. Roles still alternate, because a summary next to a user message joins
that message.

A summary request to the main model can continue the conversation, so that the prompt cache serves
the prefix. Any other request has only the messages to summarise, at the full price. The
instructions are the same.

A summary empties the prompt cache anyway, so outdated plans are removed at the same time
(``without_stale``).
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
_CHARACTERS_A_TOKEN = 2  # Few characters are assumed per token, so that a cut text certainly fits.


def why_unusable(span: SummarySpan, text: str) -> str:
    """Return why ``text`` cannot be used as the summary, or an empty text if it can be used."""
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
    """Make the step that replaces the span's messages with a summary.

    Args:
        conversation: The conversation for which the span was planned.
        span: The planned summary.
        text: The summary; cut if the conversation would not become shorter otherwise.
        card: The task card, which replaces older cards among the messages.
        least: A minimal card, used if there is no space for ``card``.
        transcript: A line that names the files with the complete conversation.

    Returns:
        The step, which has no splices if even dropping the messages would not shorten the
        conversation.
    """
    attributes = {"range": span.range} | ({"transcript": transcript} if transcript else {})
    turn = conversation.messages[span.stop - 1].turn

    def made(words: str, cards: Sequence[Block]) -> tuple[MessageSplice, int]:
        """Return the splice, and the number of tokens above the limit."""
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
    """Return the kept blocks as messages; the last message is a user's and may be empty."""
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
    """Drop older cards if there is a new card to replace them."""
    return tuple(one for one in blocks if not (new and one.meta.source == "task_card"))


Reader: TypeAlias = Literal["main", "small", "apart"]
"""The model that reads the messages to summarise.

``main``: the main model, in a request that continues the conversation. ``small``: a cheaper model,
in a separate request. ``apart``: the main model, in a separate request.
"""

ROOM = 200  # the tokens of output in addition to the requested summary
LEAST_OUTPUT = 1_000
"""The least limit of output tokens, because a reasoning model also needs tokens to reason."""


class SummarySizes(msgspec.Struct, frozen=True):
    """The tokens of a summary request and its reply, as the main model's endpoint counts.

    The numbers also estimate the tokens of another model.

    Attributes:
        prefix: The tokens of the main model's whole prompt.
        region: The tokens of the text to summarise, with the instructions.
        instructions: The tokens of the instructions alone.
        output: The tokens of the summary.
        main_budget: The limit of prompt tokens for the main model, without the output.
        small_budget: The limit of prompt tokens for the small model, or 0 if there is none.
        is_faithful: Whether the conversation still has the original messages of the span.
    """

    prefix: int
    region: int
    instructions: int
    output: int
    main_budget: int
    small_budget: int = 0
    is_faithful: bool = True


def output_limit(target: int) -> int:
    """Return the limit of tokens for the reply, for a summary of ``target`` tokens."""
    return max(target + ROOM, LEAST_OUTPUT)


def readers(sizes: SummarySizes, facts: CompactionFacts) -> tuple[Reader, ...]:
    """Return the models whose window can hold the text to summarise, cheapest first."""
    prices: dict[Reader, float] = {}
    if sizes.is_faithful and sizes.prefix + sizes.instructions <= sizes.main_budget:
        prices["main"] = appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    if facts.small is not None and sizes.region <= sizes.small_budget:
        prices["small"] = apart_price(sizes, facts.small)
    if not prices and sizes.region <= sizes.main_budget:
        prices["apart"] = apart_price(sizes, facts.rates)
    return tuple(sorted(prices, key=prices.__getitem__))


def appended_price(sizes: SummarySizes, rates: TokenRates, *, is_cached: bool) -> float:
    """Return the price of a summary request that appends instructions to the cached prefix.

    Without a cached prefix, the request writes the prefix to the cache, which makes the next call
    cheaper.
    """
    prefix = sizes.prefix * (rates.cached if is_cached else rates.input)
    return prefix + sizes.instructions * rates.input + sizes.output * rates.output


def apart_price(sizes: SummarySizes, rates: TokenRates) -> float:
    """Return the price of a separate summary request: input at the full rate, and output."""
    return sizes.region * rates.input + sizes.output * rates.output


def without_stale(
    messages: Sequence[Message], step: CompactionStep, facts: CompactionFacts
) -> CompactionStep:
    """Extend a step so that it also drops plans that are done, rejected or replaced.

    Args:
        messages: The live messages for which the step was made.
        step: A step with a summary; a step without splices stays unchanged.
        facts: The inputs of the decision, which say whether a plan is outdated.
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
    """Return whether the block is an outdated plan, or older than the ``newest`` plan."""
    if block.meta.source != "plan":
        return False
    return not facts.keeps(block) or (newest is not None and block.meta.turn < newest)


def _plans(messages: Sequence[Message]) -> tuple[Block, ...]:
    return tuple(one for message in messages for one in message.blocks if one.meta.source == "plan")
