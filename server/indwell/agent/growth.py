"""What a conversation has more than it had before, as messages for the log. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.messages import Message


def added_messages(before: Sequence[Message], after: Sequence[Message]) -> tuple[Message, ...]:
    """The blocks that ``after`` has behind ``before``, so that ``records.fold`` gives ``after``.

    The last message may have grown; what stands before it is frozen once it was sent.
    """
    if not before:
        return tuple(after)
    index = len(before) - 1
    grown = after[index]
    assert grown.blocks[: len(before[index].blocks)] == before[index].blocks
    rest = grown.blocks[len(before[index].blocks) :]
    head = (Message(grown.role, rest, grown.turn),) if rest else ()
    return head + tuple(after[index + 1 :])
