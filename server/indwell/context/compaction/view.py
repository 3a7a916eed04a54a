"""A conversation as a layer of compaction looks at it: how full it is, and what it may touch."""

from __future__ import annotations

import msgspec

from indwell.context.compaction.facts import Facts
from indwell.context.conversation import Conversation
from indwell.context.fullness import prompt_tokens
from indwell.context.history import place_of, transcript
from indwell.messages import Message


class View(msgspec.Struct, frozen=True):
    """What a layer decides on.

    Attributes:
        conversation: The value before.
        facts: Of the world.
        tokens: Of the next prompt, what will join it included.
        goal: Tokens that the layer should leave at most.
        must: True: it has to reach the goal; False: only if it pays.
    """

    conversation: Conversation
    facts: Facts
    tokens: int
    goal: int
    must: bool

    @property
    def messages(self) -> tuple[Message, ...]:
        """The live messages."""
        return self.conversation.messages

    @property
    def budget(self) -> int:
        """Tokens that a prompt may have."""
        return self.conversation.config.budget

    @property
    def to_free(self) -> int:
        """Tokens above the goal; 0 if it is reached."""
        return max(0, self.tokens - self.goal)

    def originals(self, start: int, stop: int) -> tuple[Message, ...]:
        """The messages that the live ones from ``start`` to ``stop`` were before any compaction."""
        history = self.conversation.history
        whole = transcript(self.messages, history)
        begin = place_of(self.messages, history, start)
        return whole[begin : place_of(self.messages, history, stop)]


def full_tokens(conversation: Conversation, facts: Facts) -> int:
    """Tokens of the next prompt."""
    return prompt_tokens(conversation) + facts.incoming
