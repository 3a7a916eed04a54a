"""What is known of a conversation's beginning, so that nothing is walked twice (H17, H24). Pure.

A message that another one follows is frozen. So what was counted and checked once stays counted and
checked, and each call costs what is new since the last one, not the length of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from indwell.context.pairing import problems
from indwell.context.tokens import message_tokens
from indwell.messages import Message, Source, Text, ToolResult

MILESTONE_TOKENS = 2_000  # a tool result this large is worth a cache mark of its own (H34)
ONCE: frozenset[Source] = frozenset({"ide_selection", "skill"})
"""Sources whose text is never sent twice, however long ago it was."""


class Tally(msgspec.Struct, frozen=True):
    """Of the first ``n`` messages, which are frozen and whose calls are all answered.

    Attributes:
        n: How many they are.
        last: The last of them; another message in its place means that all this is void.
        tokens: Their estimated tokens.
        milestone: Index of the newest one with a large result; -1 if there is none.
        newest: The newest text of each source of injections.
        once: All texts of the sources in ``ONCE``.
    """

    n: int = 0
    last: Message | None = None
    tokens: int = 0
    milestone: int = -1
    newest: Mapping[Source, str] = {}
    once: frozenset[str] = frozenset()


def extended(tally: Tally, messages: Sequence[Message]) -> Tally:
    """The tally of all ``messages`` but the last, which may still grow.

    Work is in proportion to what ``tally`` does not hold yet. It stops before a message that may
    not be sent, so ``problems(messages, start=tally.n)`` finds what is wrong.
    """
    if tally.n and not (tally.n <= len(messages) and messages[tally.n - 1] is tally.last):
        tally = Tally()
    end = len(messages) - 1
    if end <= tally.n or problems(messages[: end + 1], start=tally.n):
        return tally
    tokens, milestone = tally.tokens, tally.milestone
    newest, once = dict(tally.newest), set[str]()
    for index in range(tally.n, end):
        message = messages[index]
        tokens += message_tokens(message)
        if is_milestone(message):
            milestone = index
        notice_texts(message, newest, once)
    return Tally(
        n=end,
        last=messages[end - 1],
        tokens=tokens,
        milestone=milestone,
        newest=newest,
        once=tally.once | once if once else tally.once,
    )


def is_milestone(message: Message) -> bool:
    """Does it hold a tool result that is worth a cache mark?"""
    return any(
        isinstance(block, ToolResult) and block.meta.tokens >= MILESTONE_TOKENS
        for block in message.blocks
    )


def notice_texts(message: Message, newest: dict[Source, str], once: set[str]) -> None:
    """Enter the injected texts of a message, in order."""
    for block in message.blocks:
        if isinstance(block, Text):
            newest[block.meta.source] = block.text
            if block.meta.source in ONCE:
                once.add(block.text)
