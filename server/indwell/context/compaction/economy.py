"""Does a compaction pay: the saving over the calls to come against the rewrite of the cache (H18).

A prompt that is cached costs a tenth. What is cut is saved in every call to come, at that tenth;
everything behind the first cut is sent once at the full price instead.
"""

from __future__ import annotations

from indwell.context.compaction.facts import Facts

LEAST_SHARE = 0.1  # of the budget that a step which need not be made has to free


def pays(*, freed: float, rewritten: float, facts: Facts) -> bool:
    """Is what is saved over ``facts.expected_calls`` more than what the rewrite costs?

    Args:
        freed: Tokens that every call to come is shorter.
        rewritten: Tokens that stand behind the first cut afterwards.
        facts: Prices, and whether there is a cache to lose at all.
    """
    if not facts.is_cached:
        return freed > 0
    rates = facts.rates
    saving = freed * rates.cached * facts.expected_calls
    return saving > rewritten * (rates.cache_write - rates.cached)
