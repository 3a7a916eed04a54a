"""Remembers what was counted and checked at the beginning of a conversation (H17, H24). Pure.

A message never changes once another one follows it. So it is counted and checked once, and each
call costs work only for what is new, not for the length of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from indwell.context.pairing import problems
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.messages import Block, Message, Source, Text, Thinking, ToolResult, ToolUse

MILESTONE_TOKENS = 2_000  # a tool result this large is worth a cache mark of its own (H34)
STRIDE = 32  # messages between two places at which the sums are kept
ONCE: frozenset[Source] = frozenset({"ide_selection", "skill"})
"""Sources whose text is never sent twice, however long ago it was."""


class Sums(NamedTuple):
    """Estimated tokens of some messages.

    Attributes:
        tokens: Tokens of all blocks.
        loose: Tokens that compaction may remove: calls, results, and texts that are neither the
            user's nor pinned (H23).
        fixed: Tokens of pinned blocks and the user's words, which compaction never removes.
    """

    tokens: int = 0
    loose: int = 0
    fixed: int = 0


class Tally(msgspec.Struct, frozen=True):
    """Counts and checks of the first ``n`` messages, which are frozen and have all results.

    Attributes:
        n: The number of messages.
        last: The last of them; if another message is in its place, the tally is void.
        sums: Their sums.
        places: The sums of all messages before message 0, ``STRIDE``, 2 ``STRIDE``, ….
        milestone: The index of the newest message with a large result; -1 if there is none.
        newest: The newest text of each state that injections report (``state_of``).
        once: All texts of the sources in ``ONCE``.
    """

    n: int = 0
    last: Message | None = None
    sums: Sums = Sums()
    places: tuple[Sums, ...] = ()
    milestone: int = -1
    newest: Mapping[str, str] = {}
    once: frozenset[str] = frozenset()

    @property
    def tokens(self) -> int:
        """Estimated tokens of the messages."""
        return self.sums.tokens


def valid(tally: Tally, messages: Sequence[Message]) -> Tally:
    """Return the tally if it belongs to the first of these messages; else an empty one."""
    if tally.n and not (tally.n <= len(messages) and messages[tally.n - 1] is tally.last):
        return Tally()
    return tally


def extended(tally: Tally, messages: Sequence[Message]) -> Tally:
    """Return the tally of all ``messages`` but the last, which may still grow.

    The work grows only with what ``tally`` does not hold yet. It stops before a message that may
    not be sent, so ``problems(messages, start=tally.n)`` finds what is wrong.
    """
    tally = valid(tally, messages)
    end = len(messages) - 1
    if end <= tally.n or problems(messages, start=tally.n, may_wait=True):
        return tally
    sums, milestone = tally.sums, tally.milestone
    places: list[Sums] = []
    newest, once = dict(tally.newest), set[str]()
    for index in range(tally.n, end):
        message = messages[index]
        if index % STRIDE == 0:
            places.append(sums)
        sums = added(sums, message)
        if is_milestone(message):
            milestone = index
        notice_texts(message, newest, once)
    return Tally(
        n=end,
        last=messages[end - 1],
        sums=sums,
        places=(*tally.places, *places) if places else tally.places,
        milestone=milestone,
        newest=newest,
        once=tally.once | once if once else tally.once,
    )


def added(sums: Sums, message: Message) -> Sums:
    """Return the sums with one more message; reasoning is not sent back and adds nothing (H65)."""
    tokens, loose, fixed = sums
    for block in message.blocks:
        if isinstance(block, Thinking):
            continue
        meta = block.meta
        cost = meta.tokens + BLOCK_OVERHEAD
        tokens += cost
        if meta.pinned or meta.source == "user":
            fixed += cost
        if _is_loose(block):
            loose += cost
    return Sums(tokens, loose, fixed)


def _is_loose(block: Block) -> bool:
    """May compaction remove the block: a call, a result, a text neither the user's nor pinned?"""
    return isinstance(block, ToolUse | ToolResult) or (
        isinstance(block, Text) and block.meta.source != "user" and not block.meta.pinned
    )


def is_milestone(message: Message) -> bool:
    """Does the message hold a tool result that is worth a cache mark?"""
    return any(
        isinstance(block, ToolResult) and block.meta.tokens >= MILESTONE_TOKENS
        for block in message.blocks
    )


def state_of(block: Text) -> str:
    """Return the state that a text reports: its source; for instructions, also their file.

    The opening tag names the file, and no text can forge it.
    """
    source = block.meta.source
    return source if source != "instructions" else f"{source} {block.text.splitlines()[0]}"


def notice_texts(message: Message, newest: dict[str, str], once: set[str]) -> None:
    """Add the injected texts of a message to ``newest`` and ``once``, in order."""
    for block in message.blocks:
        if isinstance(block, Text):
            newest[state_of(block)] = block.text
            if block.meta.source in ONCE:
                once.add(block.text)
