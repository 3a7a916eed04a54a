"""Where a conversation may be cut: whole exchanges, and the newest part that stays (H22, H24).

An exchange is the user's words, or a reply together with the results of its calls. Cutting only
between exchanges keeps every call with its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from indwell.context.history import MessageSplice
from indwell.context.tokens import message_tokens
from indwell.messages import Message, ToolResult, ToolUse

TAIL_SHARE = 4  # the protected tail takes one part in four of the window at most (H22)


def is_boundary(messages: Sequence[Message], index: int) -> bool:
    """May the conversation be cut right before ``index``? Both sides then keep their pairs."""
    if index == 0:
        return True
    if index == len(messages):
        return not any(isinstance(block, ToolUse) for block in messages[-1].blocks)
    return not any(isinstance(block, ToolResult) for block in messages[index].blocks)


def snapped(messages: Sequence[Message], index: int) -> int:
    """The last boundary at or before ``index``."""
    at = min(max(0, index), len(messages))
    while not is_boundary(messages, at):
        at -= 1
    return at


def boundaries(messages: Sequence[Message], start: int, stop: int) -> tuple[int, ...]:
    """All boundaries from ``start`` to ``stop``, both included."""
    return tuple(at for at in range(start, stop + 1) if is_boundary(messages, at))


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimated tokens of messages."""
    return sum(message_tokens(message) for message in messages)


def freed(messages: Sequence[Message], splices: Iterable[MessageSplice]) -> int:
    """Estimated tokens that splices make the messages shorter; below 0 if they grow."""
    return sum(
        tokens_of(messages[one.start : one.stop]) - tokens_of(one.messages) for one in splices
    )


def tail_start(messages: Sequence[Message], *, turns: int, tokens: int, window: int) -> int:
    """First message of the protected tail.

    Args:
        messages: The live ones.
        turns: Newest turns that stay; rounds, where so many turns are more than may stay.
        tokens: Tokens that stay, if they are more.
        window: Of the model; the tail takes a quarter of it at most, but always the last exchange.
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
    """First message of the newest exchange; 0 if there is none."""
    return snapped(messages, len(messages) - 1) if messages else 0


def _tokens_from(messages: Sequence[Message]) -> list[int]:
    """For each index the tokens from there to the end; one more for the end itself."""
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
