"""Finds where a conversation may be cut: between exchanges, before the protected tail (H22, H24).

An exchange is the user's words, or a reply together with the results of its calls. Cutting only
between exchanges keeps every call with its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from indwell.context.history import MessageSplice
from indwell.context.tokens import message_tokens
from indwell.messages import Message, ToolResult, ToolUse

TAIL_SHARE = 4  # the protected tail takes at most a quarter of the window (H22)


def is_boundary(messages: Sequence[Message], index: int) -> bool:
    """May the conversation be cut right before ``index``? Both sides then keep their pairs."""
    if index == 0:
        return True
    if index == len(messages):
        return not any(isinstance(block, ToolUse) for block in messages[-1].blocks)
    return not any(isinstance(block, ToolResult) for block in messages[index].blocks)


def snapped(messages: Sequence[Message], index: int) -> int:
    """Return the last boundary at or before ``index``."""
    at = min(max(0, index), len(messages))
    while not is_boundary(messages, at):
        at -= 1
    return at


def boundaries(messages: Sequence[Message], start: int, stop: int) -> tuple[int, ...]:
    """Return all boundaries from ``start`` to ``stop``, both included."""
    return tuple(at for at in range(start, stop + 1) if is_boundary(messages, at))


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the estimated tokens of messages."""
    return sum(message_tokens(message) for message in messages)


def freed(messages: Sequence[Message], splices: Iterable[MessageSplice]) -> int:
    """Return the estimated tokens by which splices shorten the messages; negative if they grow."""
    return sum(
        tokens_of(messages[one.start : one.stop]) - tokens_of(one.messages) for one in splices
    )


def tail_start(messages: Sequence[Message], *, turns: int, tokens: int, window: int) -> int:
    """Return the index of the first message of the protected tail.

    Args:
        messages: The live messages.
        turns: Newest turns that stay; rounds, if that many turns exceed the limit.
        tokens: Tokens that stay, if that is more.
        window: The model's window in tokens; the tail takes at most a quarter, but always the last
            exchange.
    """
    most = window // TAIL_SHARE
    sums = _tokens_from(messages)
    last = last_exchange(messages)
    start = _newest_turns(messages, turns)
    if sums[start] > most:
        start = _newest_rounds(messages, turns)
    while start > 0 and (sums[start - 1] <= tokens or not is_boundary(messages, start)):
        start -= 1
    while start < last and (sums[start] > most or not is_boundary(messages, start)):
        start += 1
    return min(start, last)


def last_exchange(messages: Sequence[Message]) -> int:
    """Return the index of the first message of the newest exchange; 0 if there is none."""
    return snapped(messages, len(messages) - 1) if messages else 0


def _tokens_from(messages: Sequence[Message]) -> list[int]:
    """Return, for each index, the tokens from there to the end, and one more entry for the end."""
    sums = [0] * (len(messages) + 1)
    for at in range(len(messages) - 1, -1, -1):
        sums[at] = sums[at + 1] + message_tokens(messages[at])
    return sums


def _newest_turns(messages: Sequence[Message], turns: int) -> int:
    starts = [0] if messages else []
    starts += [at + 1 for at, (one, two) in enumerate(pairwise(messages)) if one.turn != two.turn]
    return snapped(messages, starts[-turns]) if 0 < turns <= len(starts) else 0


def _newest_rounds(messages: Sequence[Message], rounds: int) -> int:
    replies = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return replies[-rounds] if 0 < rounds <= len(replies) else 0
