"""How many tokens stand where in a conversation, from the sums that its tally keeps. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from indwell.context.conversation import Conversation
from indwell.context.tally import STRIDE, Sums, Tally, added, extended
from indwell.messages import Message

_TOKENS = attrgetter("tokens")


class Outline:
    """The sums of a conversation's messages, for any part of it: work O(log n) each.

    Args:
        conversation: What is asked about; what its tally does not hold yet is walked once.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._messages: Sequence[Message] = conversation.messages
        self._tally: Tally = extended(conversation.tally, conversation.messages)
        self.whole = self.before(len(conversation.messages))

    def before(self, index: int) -> Sums:
        """Of the messages before ``index``."""
        if index >= self._tally.n:
            return self._walked(self._tally.sums, self._tally.n, index)
        place = index // STRIDE
        return self._walked(self._tally.places[place], place * STRIDE, index)

    def tail(self, tokens: int) -> int:
        """First message of the longest tail that has at most so many tokens."""
        wanted = self.whole.tokens - tokens
        places = self._tally.places
        place = max(0, bisect_left(places, wanted, key=_TOKENS) - 1)
        at, sums = (place * STRIDE, places[place]) if places else (0, Sums())
        while at < len(self._messages) and sums.tokens < wanted:
            sums = added(sums, self._messages[at])
            at += 1
        return at

    def _walked(self, sums: Sums, start: int, stop: int) -> Sums:
        for message in self._messages[start:stop]:
            sums = added(sums, message)
        return sums
