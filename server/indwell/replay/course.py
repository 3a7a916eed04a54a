"""A recorded conversation run again: the requests that the engine would make of it. Pure.

One request stands before each recorded reply. What the engine is given at that point is what had
been said up to there, and nothing of what came later: a part of a recording gives the same requests
as the whole of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import Facts
from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    prompt_tokens,
    queue,
    system_block,
    with_input,
    with_reply,
    with_results,
)
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
from indwell.replay.cache_rules import CACHES, CacheRules
from indwell.replay.driver import Done, Driver
from indwell.replay.summaries import Summarise, simulating

PREFIX_TOKENS = 6_000  # of system prompt and tool schemas; the study's constant
SPILL_FOLDER = "spill"
_LINE = "This line stands for the system prompt and the tools of a session.\n"


class Point(msgspec.Struct, frozen=True):
    """The state at one request.

    Attributes:
        conversation: What is sent.
        request: Made of it.
        reply: What was recorded as the answer.
        tokens: Of the prompt.
        arrived: Blocks that joined since the last request, as they were before any compaction.
        done: What was compacted just before.
        fits: Is the prompt within the window? If not, no endpoint would take it; it is counted as a
            broken rule, and priced as if it had been sent, for the recording shows its answer.
    """

    conversation: Conversation
    request: Request
    reply: Message
    tokens: int
    arrived: tuple[Block, ...] = ()
    done: Done = Done()
    fits: bool = True


class Rules(msgspec.Struct, frozen=True):
    """How a recording is run again.

    Attributes:
        preset: The ladder.
        window: Tokens that a request may have.
        ratio: Tokens of a simulated summary, as a share of what it stands for; 0: extraction by
            code, which costs nothing.
        prefix_tokens: Of system prompt and tools.
        facts: Prices and what else the engine is told.
        cache: The provider's rules; the engine knows whether the last request is still there.
        summarise: Who writes summaries; None: they are simulated.
    """

    preset: Preset
    window: int
    ratio: float = 0.2
    prefix_tokens: int = PREFIX_TOKENS
    facts: Facts = Facts(spill_folder=SPILL_FOLDER)
    cache: CacheRules = CACHES["plain"]
    summarise: Summarise | None = None


def points(
    messages: tuple[Message, ...], rules: Rules, moments_s: Sequence[float] = ()
) -> Iterator[Point]:
    """The requests of a recording, one before each reply, in order.

    Args:
        messages: Roles alternate, every call is answered; the user's come first.
        rules: Preset, window and prices.
        moments_s: When each request was made; empty: one right after the other.
    """
    driver = Driver(rules.preset, rules.facts, rules.summarise or simulating(rules.ratio))
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
    """Does the cache hold the last request at the newest moment?"""
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
    """Take what the user's side brought, compact, and make the request."""
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
    """The words, or what stands for them where they are too long (H12)."""
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
    """A system block that counts for so many tokens."""
    block = system_block(_LINE * (tokens // estimate_tokens(_LINE)))
    counts = msgspec.structs.replace(block.meta, tokens=tokens - BLOCK_OVERHEAD)
    return msgspec.structs.replace(block, meta=counts)
