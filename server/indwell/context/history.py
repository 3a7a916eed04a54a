"""Keeps the originals of compacted messages, rewrites messages, and finds cuts. Pure.

``Conversation.messages`` has the messages to send. The first messages may be the result of
compaction. ``History`` keeps the originals, so that a summary is never made of a summary. Only
``spliced`` rewrites messages.

A conversation is cut between exchanges, before the protected tail. An exchange is a user's prompt,
or a reply together with the results of its calls. Cutting only between exchanges keeps every call
with its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from indwell.context.tokens import message_tokens
from indwell.messages import Block, Message, ToolResult, ToolUse


class MessageSplice(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Replaces the messages from ``start`` to ``stop`` (exclusive) by ``messages``.

    Attributes:
        start: The first message to replace.
        stop: The index after the last message to replace.
        messages: The replacement; empty to drop the range.
        whole: Whether ``messages`` replace the range as a whole, not message by message, even if
            the numbers are equal. In older logs, which lack the field, only the numbers decide.
    """

    start: int
    stop: int
    messages: tuple[Message, ...]
    whole: bool = False


class History(msgspec.Struct, frozen=True):
    """The originals of the first messages of a compacted conversation.

    Attributes:
        originals: The messages before any compaction, from the first message on.
        places: The index in ``originals`` of the first original of each rewritten live message. A
            message's originals end where those of the next message begin.
        n_blocks: The number of blocks in the last rewritten live message. If that message is the
            conversation's last, more blocks may join it later.
        joined: The indices of live messages that share originals with the message before, as a
            summary and the user's text next to it do.
    """

    originals: tuple[Message, ...] = ()
    places: tuple[int, ...] = ()
    n_blocks: int = 0
    joined: frozenset[int] = frozenset()


def transcript(messages: Sequence[Message], history: History) -> tuple[Message, ...]:
    """Return the complete conversation without any compaction."""
    return _grown(messages, history) + tuple(messages[len(history.places) :])


def place_of(messages: Sequence[Message], history: History, index: int) -> int:
    """Return the transcript index at which the live message ``index`` begins."""
    n_live = len(history.places)
    if index < n_live:
        return history.places[index]
    return _n_grown(messages, history) + index - n_live


def group_start(history: History, index: int) -> int:
    """Return the first live message of the group with the same originals as ``index``."""
    while index in history.joined:
        index -= 1
    return index


def group_stop(history: History, index: int) -> int:
    """Return the index after the last live message of the group of ``index``."""
    while index in history.joined:
        index += 1
    return index


def spliced(
    messages: Sequence[Message], history: History, splices: Sequence[MessageSplice]
) -> tuple[tuple[Message, ...], History]:
    """Replace ranges of messages, and remember the originals.

    Args:
        messages: The live messages.
        history: The history of the messages.
        splices: The replacements, in order and without overlap. A replacement of the same length
            replaces message by message, unless it is ``whole``. Any other replacement replaces the
            whole range.
    """
    if not splices:
        return tuple(messages), history
    known = max(len(history.places), splices[-1].stop)
    originals = transcript(messages[:known], history)
    rows: list[_MessageRow] = []
    at = 0
    for one in splices:
        assert at <= one.start <= one.stop <= len(messages), (at, one.start, one.stop)
        rows += _standing(messages, history, at, one.start)
        rows += _replaced(messages, history, one)
        at = one.stop
    rows += _standing(messages, history, at, known)
    live = tuple(row.message for row in rows)
    after = History(
        originals=originals,
        places=tuple(row.place for row in rows),
        n_blocks=len(live[-1].blocks) if live else 0,
        joined=frozenset(index for index, row in enumerate(rows) if row.is_joined and index),
    )
    return live + tuple(messages[known:]), after


class _MessageRow(NamedTuple):
    """A live message, its position, and whether it shares originals with the message before."""

    message: Message
    place: int
    is_joined: bool


def _standing(
    messages: Sequence[Message], history: History, start: int, stop: int
) -> Iterator[_MessageRow]:
    for index in range(start, stop):
        place = place_of(messages, history, index)
        yield _MessageRow(messages[index], place, index in history.joined)


def _replaced(
    messages: Sequence[Message], history: History, splice: MessageSplice
) -> Iterator[_MessageRow]:
    old = _standing(messages, history, splice.start, splice.stop)
    if len(splice.messages) == splice.stop - splice.start and not splice.whole:
        for message, row in zip(splice.messages, old, strict=True):
            yield _MessageRow(message, row.place, row.is_joined)
        return
    # If a replaced message belongs to the group before it, the replacement belongs to that group,
    # too.
    place, is_joined = place_of(messages, history, splice.start), splice.start in history.joined
    for message in splice.messages:
        yield _MessageRow(message, place, is_joined)
        place, is_joined = place_of(messages, history, splice.stop), True


def _grown(messages: Sequence[Message], history: History) -> tuple[Message, ...]:
    """Return the originals, with blocks that joined the last rewritten message afterwards."""
    blocks = _new_blocks(messages, history)
    if not blocks:
        return history.originals
    message = messages[len(history.places) - 1]
    if _n_grown(messages, history) > len(history.originals):
        return (*history.originals, Message(message.role, blocks, message.turn))
    *others, last = history.originals
    return (*others, Message(last.role, last.blocks + blocks, message.turn))


def _n_grown(messages: Sequence[Message], history: History) -> int:
    """Return the number of originals, counting blocks that joined a message as one more."""
    n = len(history.originals)
    if not _new_blocks(messages, history):
        return n
    last = history.originals[-1] if n else None
    is_more = last is None or last.role != messages[len(history.places) - 1].role
    return n + is_more


def _new_blocks(messages: Sequence[Message], history: History) -> tuple[Block, ...]:
    """Return the blocks that joined the last rewritten message."""
    n_live = len(history.places)
    return messages[n_live - 1].blocks[history.n_blocks :] if n_live else ()


TAIL_SHARE = 4  # the protected tail has at most a quarter of the window


def is_boundary(messages: Sequence[Message], index: int) -> bool:
    """Return whether a cut right before ``index`` leaves every call with its result."""
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
    """Return all boundaries from ``start`` to ``stop``, both inclusive."""
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
        turns: The number of newest turns to keep; if these are too long, the number of rounds.
        tokens: The least number of tokens to keep.
        window: The model's window in tokens; the tail has at most a quarter, but always the last
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
    """Return the index of the newest exchange's first message, or 0 if there is no exchange."""
    return snapped(messages, len(messages) - 1) if messages else 0


def _tokens_from(messages: Sequence[Message]) -> list[int]:
    """Return, for each index and for the end, the tokens from this index to the end."""
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
