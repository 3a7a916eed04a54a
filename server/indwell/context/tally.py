"""Remembers what was counted and checked of a conversation's beginning (H17, H24). Pure.

A message that another one follows is frozen. So what was counted and checked once stays counted and
checked, and each call costs what is new since the last one, not the length of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from indwell.context.pairing import problems
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.messages import Block, Message, Source, Text, Thinking, ToolResult, ToolUse

MILESTONE_TOKENS = 2_000  # a tool result this large is worth a cache mark of its own (H34)
STRIDE = 32  # messages between two places at which the sums so far are kept
ONCE: frozenset[Source] = frozenset({"ide_selection", "skill"})
"""Sources whose text is never sent twice, however long ago it was."""


class Sums(NamedTuple):
    """Estimated tokens of some messages.

    Attributes:
        tokens: All of them.
        loose: Of those, what compaction may take away: calls, results, what nobody said or pinned
            (H23).
        fixed: Of those, pinned blocks and the user's words: what no compaction takes away.
    """

    tokens: int = 0
    loose: int = 0
    fixed: int = 0


class Tally(msgspec.Struct, frozen=True):
    """Of the first ``n`` messages, which are frozen and whose calls are all answered.

    Attributes:
        n: How many they are.
        last: The last of them; another message in its place means that all this is void.
        sums: Of them.
        places: The sums of all before message 0, ``STRIDE``, 2 ``STRIDE``, ….
        milestone: Index of the newest one with a large result; -1 if there is none.
        newest: The newest text of each state that injections tell (``state_of``).
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
    """The tally, if it is one of the first of these messages; else one of none."""
    if tally.n and not (tally.n <= len(messages) and messages[tally.n - 1] is tally.last):
        return Tally()
    return tally


def extended(tally: Tally, messages: Sequence[Message]) -> Tally:
    """The tally of all ``messages`` but the last, which may still grow.

    Work is in proportion to what ``tally`` does not hold yet. It stops before a message that may
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
    """The sums with one more message; reasoning is not sent back, so it does not count (H65)."""
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
    """A call, its result, and texts that are neither the user's nor pinned: what may go at most."""
    return isinstance(block, ToolUse | ToolResult) or (
        isinstance(block, Text) and block.meta.source != "user" and not block.meta.pinned
    )


def is_milestone(message: Message) -> bool:
    """Does it hold a tool result that is worth a cache mark?"""
    return any(
        isinstance(block, ToolResult) and block.meta.tokens >= MILESTONE_TOKENS
        for block in message.blocks
    )


def state_of(block: Text) -> str:
    """What a text is the newest word on: its source; instructions of several files, each its own.

    Which file that is, the opening tag says, which no text can forge.
    """
    source = block.meta.source
    return source if source != "instructions" else f"{source} {block.text.splitlines()[0]}"


def notice_texts(message: Message, newest: dict[str, str], once: set[str]) -> None:
    """Enter the injected texts of a message, in order."""
    for block in message.blocks:
        if isinstance(block, Text):
            newest[state_of(block)] = block.text
            if block.meta.source in ONCE:
                once.add(block.text)
