"""Computes the tokens that a prompt cache would have served, by common prefixes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from indwell.context.request.assemble import LOOKED_BACK
from indwell.context.request.cache_health import n_common
from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens
from indwell.messages import Message, Request
from indwell.providers.wires.chat import message_entries
from indwell.providers.wires.dialect import Dialect


class CacheRules(msgspec.Struct, frozen=True):
    """The rules of a provider's prompt cache.

    Attributes:
        minimum: The fewest tokens of a cached prefix.
        block: The number of tokens of which a cached prefix is a multiple.
        life_s: Seconds after which an unused prefix is gone, or 0 if it stays.
        anchors: Whether only prefixes are served that end at a cache mark of an earlier request
            (H34).
        charges_writes: Whether writing to the cache has a separate price.
        for_an_hour: Whether a cache write is charged at the price for an hour's lifetime.
        exists: Whether there is a cache.
    """

    minimum: int = 1_024
    block: int = 1
    life_s: float = 0.0
    anchors: bool = False
    charges_writes: bool = True
    exists: bool = True
    for_an_hour: bool = False


CACHES: Mapping[str, CacheRules] = {
    # In the study's model, the longest common prefix is cached; other tokens are written to the
    # cache.
    "plain": CacheRules(),
    # OpenAI caches at least 1,024 tokens in steps of 128, for 5 to 10 minutes; the model assumes 5.
    "openai": CacheRules(block=128, life_s=300.0, charges_writes=False),
    # Anthropic needs cache marks, and caches for 5 minutes after the last use: at least 1,024
    # tokens for most models, up to 4,096 for some.
    "anthropic": CacheRules(life_s=300.0, anchors=True),
    "anthropic-1h": CacheRules(life_s=3_600.0, anchors=True, for_an_hour=True),
    # DeepSeek caches on disk, in units of 64 tokens, for hours to days.
    "deepseek": CacheRules(minimum=64, block=64, charges_writes=False),
    # Gemini caches implicitly for "a few minutes"; the minimum is that of the larger models.
    "gemini": CacheRules(minimum=2_048, life_s=300.0, charges_writes=False),
    "none": CacheRules(exists=False),
}
"""The rules of each provider; the figures of ``docs/benchmarks.md`` were made with ``plain``."""


_SYSTEM = -1  # This index is before all messages, at the end of the system prompt.


class Served(msgspec.Struct, frozen=True):
    """The cached tokens of one request.

    Attributes:
        read: Tokens that the cache served.
        written: Tokens that were written to the cache, if writing has a price; other tokens cost as
            input.
    """

    read: int = 0
    written: int = 0


class _CachePart(msgspec.Struct, frozen=True):
    message: Message
    data: bytes
    tokens: int


class PrefixCache:
    """The last request of a conversation, and the cached part of the next request."""

    def __init__(self, rules: CacheRules = CACHES["plain"], dialect: Dialect | None = None) -> None:
        self._rules = rules
        self._dialect = dialect or Dialect()
        self._encoded: dict[int, _CachePart] = {}
        self._last: tuple[_CachePart, ...] = ()
        self._system: object = None
        # The value is the time at which the prefix up to a message was last used.
        self._used_s: dict[int, float] = {}

    def served(self, request: Request, *, at_s: float = 0.0) -> Served:
        """Return the part of ``request`` that the cache serves; then cache the request.

        Args:
            request: The next request of the conversation.
            at_s: The time of the request, in seconds on any clock.
        """
        if not self._rules.exists:
            return Served()
        parts = tuple(self._part(message) for message in request.messages)
        fixed = sum(block.meta.tokens + BLOCK_OVERHEAD for block in request.system)
        sums = list(accumulate((part.tokens for part in parts), initial=fixed))
        n_same = self._n_same(parts) if self._system == request.system else _SYSTEM
        if self._rules.anchors:
            served = self._by_marks(request, sums, n_same, at_s)
        else:
            served = self._by_prefix(parts, sums, n_same, at_s)
        self._last, self._system = parts, request.system
        self._encoded = {id(part.message): part for part in parts}
        return served

    def _by_prefix(
        self, parts: Sequence[_CachePart], sums: Sequence[int], n_same: int, at_s: float
    ) -> Served:
        """Return the longest common prefix with the last request, even with a part of a message."""
        rules = self._rules
        read = 0
        if n_same >= 0 and self._is_alive(_SYSTEM, at_s):
            read = sums[n_same]
            if n_same < min(len(parts), len(self._last)):
                new = parts[n_same]
                same = n_common(self._last[n_same].data, new.data) / max(len(new.data), 1)
                read += int(same * new.tokens)
        if read < rules.minimum:
            read = 0
        read -= read % rules.block
        self._used_s = {_SYSTEM: at_s}
        return Served(read, sums[-1] - read if rules.charges_writes else 0)

    def _by_marks(self, request: Request, sums: Sequence[int], n_same: int, at_s: float) -> Served:
        """Return the longest prefix in the cache that ends at an earlier request's cache mark."""
        marks = [*([_SYSTEM] if request.anchors.system else []), *request.anchors.messages]
        marks = [place for place in marks if sums[place + 1] >= self._rules.minimum]
        alive = {
            place: used_s
            for place, used_s in self._used_s.items()
            if place < n_same and self._is_alive(place, at_s)
        }
        found = [place for place in alive if _is_found(place, marks, request.messages)]
        read = 0
        if found:
            alive[max(found)] = at_s
            read = sums[max(found) + 1]
            read -= read % self._rules.block
        self._used_s = alive | dict.fromkeys(marks, at_s)
        written = max(0, sums[max(marks) + 1] - read) if marks else 0
        return Served(read, written if self._rules.charges_writes else 0)

    def _is_alive(self, place: int, at_s: float) -> bool:
        used_s = self._used_s.get(place)
        life_s = self._rules.life_s
        return used_s is not None and not (life_s and at_s - used_s > life_s)

    def _n_same(self, parts: Sequence[_CachePart]) -> int:
        """Count the first messages that are equal to those of the last request."""
        for index, (old, new) in enumerate(zip(self._last, parts, strict=False)):
            if old is not new and old.data != new.data:
                return index
        return min(len(self._last), len(parts))

    def _part(self, message: Message) -> _CachePart:
        known = self._encoded.get(id(message))
        if known is not None and known.message is message:
            return known
        data = msgspec.json.encode(message_entries(message, self._dialect, marked=False))[1:-1]
        part = _CachePart(message, data, message_tokens(message))
        self._encoded[id(message)] = part
        return part


def _is_found(place: int, marks: Sequence[int], messages: Sequence[Message]) -> bool:
    """Return whether the provider searches back to index ``place`` from a mark of this request."""
    return any(
        place == mark
        or (
            place < mark
            and sum(len(one.blocks) for one in messages[place + 1 : mark + 1]) <= LOOKED_BACK
        )
        for mark in marks
    )
