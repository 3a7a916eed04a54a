"""Where the prompt cache may end: at most four marks on what will not change (H34)."""

from __future__ import annotations

from indwell.context.conversation import Conversation
from indwell.messages import Anchors, Message, ToolResult

MILESTONE_TOKENS = 2_000  # a tool result this large is worth a mark of its own


def place_anchors(conversation: Conversation) -> Anchors:
    """Mark the end of tools and system, the last milestone, and the message before the newest.

    The message before the newest user message is an assistant's, so everything up to it is sent
    again unchanged by the next call; the milestone keeps a long prefix alive when the tail moves.
    """
    messages = conversation.messages
    marks: list[int] = []
    before_newest = len(messages) - 2
    if before_newest >= 0:
        marks.append(before_newest)
    milestone = next(
        (index for index in range(before_newest - 1, -1, -1) if _is_milestone(messages[index])),
        None,
    )
    if milestone is not None:
        marks.insert(0, milestone)
    return Anchors(
        tools=bool(conversation.tools), system=bool(conversation.system), messages=tuple(marks)
    )


def _is_milestone(message: Message) -> bool:
    return any(
        isinstance(block, ToolResult) and block.meta.tokens >= MILESTONE_TOKENS
        for block in message.blocks
    )
