"""Divides a model's window into the parts that fill it, from the system prompt to free room. Pure.

An exchange is a user's prompt, or a reply together with the results of its calls
(``context.history``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias, get_args

import msgspec

from indwell.context.compaction.summarising.task_card import card_limit
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import last_exchange
from indwell.context.tokens import BLOCK_OVERHEAD, tools_tokens
from indwell.messages import Message, Source, Thinking

PartName: TypeAlias = Literal[
    "system", "tools", "instructions", "card", "words", "older", "newest", "reply", "free"
]
PART_NAMES: tuple[PartName, ...] = get_args(PartName)
"""The names of all parts, in the order in which they are shown."""

WORDS: Mapping[PartName, str] = {
    "system": "system prompt and reminders",
    "tools": "tools",
    "instructions": "instructions, skills and memory",
    "card": "task card",
    "words": "your earlier words and plan",
    "older": "older exchanges, as cut",
    "newest": "newest exchange",
    "reply": "room for the reply",
    "free": "free",
}
"""The parts in words for people."""

_OF_SOURCE: Mapping[Source, PartName] = {
    "system": "system",
    "environment": "system",
    "reminder": "system",
    "tool_list": "tools",
    "server_tools": "tools",
    "instructions": "instructions",
    "skill": "instructions",
    "skill_list": "instructions",
    "own_skill_list": "instructions",
    "agent_list": "instructions",
    "memory": "instructions",
    "task_card": "card",
    "user": "words",
    "plan": "words",
}
_SENT = PART_NAMES[: PART_NAMES.index("reply")]


class WindowPart(msgspec.Struct, frozen=True):
    """One part of the window.

    Attributes:
        name: The name of the part.
        tokens: The tokens of the part, on the scale of ``prompt_tokens``.
        share: The share of the window, from 0 to 1.
        limit: The most tokens that the part may have, or None if the part has no limit of its own.
    """

    name: PartName
    tokens: int
    share: float
    limit: int | None = None


Counts: TypeAlias = Mapping[PartName, int]


def message_parts(message: Message) -> Counts:
    """Return the tokens of a message by part; conversation text counts as ``older``."""
    counts: dict[PartName, int] = {}
    for block in message.blocks:
        if not isinstance(block, Thinking):  # reasoning is not sent back to the model
            name = _OF_SOURCE.get(block.meta.source, "older")
            counts[name] = counts.get(name, 0) + block.meta.tokens + BLOCK_OVERHEAD
    return counts


def window_parts(
    conversation: Conversation, count: Callable[[Message], Counts] = message_parts
) -> tuple[WindowPart, ...]:
    """Return all parts of the window, in order; without an overflow, they add up to the window.

    Args:
        conversation: The conversation with all blocks of the next request.
        count: Returns ``message_parts``, perhaps of a message that was counted before.
    """
    config = conversation.config
    estimates = dict.fromkeys(_SENT, 0)
    for block in conversation.system:
        estimates["system"] += block.meta.tokens + BLOCK_OVERHEAD
    estimates["tools"] += tools_tokens(conversation.tools, config.model)
    last = last_exchange(conversation.messages)
    for number, message in enumerate(conversation.messages):
        for name, tokens in count(message).items():
            is_newest = number >= last and name in {"older", "words"}
            estimates["newest" if is_newest else name] += tokens
    used = prompt_tokens(conversation)
    tokens_of: dict[PartName, int] = dict(zip(_SENT, _scaled(estimates, used), strict=True))
    tokens_of |= {"reply": config.max_output, "free": max(0, config.budget - used)}
    limits: dict[PartName, int] = {"card": card_limit(config.budget)}
    return tuple(
        WindowPart(name, tokens, round(tokens / max(config.window, 1), 4), limits.get(name))
        for name, tokens in tokens_of.items()
    )


def _scaled(estimates: Mapping[PartName, int], used: int) -> Iterator[int]:
    """Yield the estimates on the scale of ``used``, which is the sum of the results."""
    sums = list(accumulate(estimates.values(), initial=0))
    scale = used / sums[-1] if sums[-1] else 0.0
    return (round(stop * scale) - round(start * scale) for start, stop in pairwise(sums))


def part_words(parts: Sequence[WindowPart]) -> Iterator[tuple[int, str]]:
    """Yield the tokens and a description of each part that has tokens, or is free."""
    for part in parts:
        if part.tokens or part.name == "free":
            limit = "" if part.limit is None else f"; at most {part.limit:,}"
            yield part.tokens, f"{part.share:.1%}  {WORDS[part.name]}{limit}"
