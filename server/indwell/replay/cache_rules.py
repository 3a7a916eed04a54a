"""How the prompt caches of providers work, by name; data, from their pages on prompt caching."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class CacheRules(msgspec.Struct, frozen=True):
    """How a provider's prompt cache works.

    Attributes:
        minimum: Tokens that a prefix must have to be cached.
        block: A cached prefix is a multiple of so many tokens.
        life_s: Seconds without a use after which it is gone; 0: it stays.
        anchors: Only what ends at a mark of an earlier request is served (H34).
        charges_writes: What is written to the cache has a price of its own.
        exists: Is there a cache at all?
    """

    minimum: int = 1_024
    block: int = 1
    life_s: float = 0.0
    anchors: bool = False
    charges_writes: bool = True
    exists: bool = True


CACHES: Mapping[str, CacheRules] = {
    # The study's model: the longest common prefix, and what no cache has is written to one.
    "plain": CacheRules(),
    # 1,024 tokens and steps of 128; gone after 5 to 10 minutes, so 5 are counted on.
    "openai": CacheRules(block=128, life_s=300.0, charges_writes=False),
    # Marks; 5 minutes from the last use. 1,024 tokens for most models, up to 4,096 for some.
    "anthropic": CacheRules(life_s=300.0, anchors=True),
    # On disk, in units of 64 tokens, for hours to days.
    "deepseek": CacheRules(minimum=64, block=64, charges_writes=False),
    # Implicit caching of Gemini: the larger models' minimum; "a few minutes".
    "gemini": CacheRules(minimum=2_048, life_s=300.0, charges_writes=False),
    "none": CacheRules(exists=False),
}
"""``plain`` is what the figures of ``docs/benchmarks.md`` are made with."""
