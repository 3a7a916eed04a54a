"""What a prompt cache would have served: prefix arithmetic on serialised requests. Pure."""

from __future__ import annotations

import msgspec

from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens
from indwell.messages import Message, Request
from indwell.providers.chat_messages import message_entries
from indwell.providers.dialect import Dialect


class CacheRules(msgspec.Struct, frozen=True):
    """How a provider's prompt cache works.

    Attributes:
        minimum: Tokens that a prefix must have to be cached.
        block: A cached prefix is a multiple of so many tokens.
        life_s: Seconds without a use after which it is gone; 0: it stays.
        anchors: Only what ends at a mark of the request before is served (H34).
    """

    minimum: int = 1_024
    block: int = 1
    life_s: float = 0.0
    anchors: bool = False


CACHES = {
    "plain": CacheRules(),  # the study's: longest common prefix
    "implicit": CacheRules(block=128, life_s=300.0),  # OpenAI's pages on prompt caching
    "marked": CacheRules(life_s=300.0, anchors=True),  # Anthropic's
}


class _Part(msgspec.Struct, frozen=True):
    message: Message
    data: bytes
    tokens: int


class PrefixCache:
    """The last request of a conversation, and how much of the next one it has already."""

    def __init__(self, rules: CacheRules = CACHES["plain"], dialect: Dialect | None = None) -> None:
        self._rules = rules
        self._dialect = dialect or Dialect()
        self._encoded: dict[int, _Part] = {}
        self._last: tuple[_Part, ...] = ()
        self._marks: tuple[int, ...] = ()
        self._system: object = None
        self._at_s = 0.0

    def served(self, request: Request, *, at_s: float = 0.0) -> int:
        """Tokens of ``request`` that are in the cache; afterwards it is the last one."""
        parts = tuple(self._part(message) for message in request.messages)
        tokens = self._common(request, parts)
        rules = self._rules
        is_gone = rules.life_s and at_s - self._at_s > rules.life_s
        self._at_s, self._last, self._system = at_s, parts, request.system
        self._marks = request.anchors.messages
        self._encoded = {id(part.message): part for part in parts}
        if is_gone or tokens < rules.minimum:
            return 0
        return tokens - tokens % rules.block

    def _common(self, request: Request, parts: tuple[_Part, ...]) -> int:
        """Tokens of the longest common prefix; whole messages, and a share of the first other."""
        if self._system != request.system:
            return 0
        tokens = sum(block.meta.tokens + BLOCK_OVERHEAD for block in request.system)
        reached = tokens
        for index, (old, new) in enumerate(zip(self._last, parts, strict=False)):
            if old is not new and old.data != new.data:
                same = _n_common(old.data, new.data) / max(len(new.data), 1)
                return reached if self._rules.anchors else tokens + int(same * new.tokens)
            tokens += new.tokens
            if index in self._marks:
                reached = tokens
        return reached if self._rules.anchors else tokens

    def _part(self, message: Message) -> _Part:
        known = self._encoded.get(id(message))
        if known is not None and known.message is message:
            return known
        data = msgspec.json.encode(message_entries(message, self._dialect, marked=False))[1:-1]
        part = _Part(message, data, message_tokens(message))
        self._encoded[id(message)] = part
        return part


def _n_common(one: bytes, other: bytes) -> int:
    """Bytes that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
