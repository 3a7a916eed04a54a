"""Where the prompt cache may end: at most four marks on what will not change (H34)."""

from __future__ import annotations

from indwell.context.conversation import Conversation
from indwell.context.tally import extended
from indwell.messages import Anchors


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
    milestone = extended(conversation.tally, messages).milestone
    if 0 <= milestone < before_newest:
        marks.insert(0, milestone)
    return Anchors(
        tools=bool(conversation.tools), system=bool(conversation.system), messages=tuple(marks)
    )
