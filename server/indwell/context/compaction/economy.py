"""Does a compaction pay: the saving over the calls to come against the rewrite of the cache (H18).

A prompt that is cached costs a tenth. What is cut is saved in every call to come, at that tenth;
everything behind the first cut is sent once at the full price instead.
"""

from __future__ import annotations

from indwell.context.compaction.facts import Facts, Rates
from indwell.context.conversation import Conversation
from indwell.context.tokens import message_tokens

RECENT, LEAST_CALLS = 160, 4  # messages, and model calls, that the growth is averaged over
LEAST_SHARE = 0.1  # of the budget that a step which need not be made has to free


def pays(*, freed: float, rewritten: float, growth: float, facts: Facts) -> bool:
    """Is now the time to free so much, or is it cheaper to wait until more can go at once?

    The conversation grows, so it will be compacted again and again; what is to be found is how far
    it should grow in between. That is the economic lot (Harris 1913): a rewrite costs
    ``rewritten * (write - cached)`` however much it frees, and what waits to be freed costs
    ``cached`` a token and call. Over ``freed / growth`` calls the sum is least where
    ``freed ** 2 == 2 * rewritten * growth * (write - cached) / cached``.

    Args:
        freed: Tokens that every call to come is shorter.
        rewritten: Tokens that stand behind the first cut afterwards.
        growth: Tokens that a call adds to the conversation.
        facts: Prices, and whether there is a cache to lose at all. Where nothing costs anything, as
            with a model on this machine, the usual ratios stand for the time.
    """
    if not facts.is_cached:
        return freed > 0
    rates = facts.rates if facts.rates.input or facts.rates.cached else Rates()
    rewrite = max(0.0, rewritten) * max(0.0, rates.cache_write - rates.cached)
    return freed > 0 and freed**2 * rates.cached >= 2 * rewrite * growth


def growth(conversation: Conversation) -> float:
    """Tokens that a model call adds, as they come, on the average of the newest ``RECENT``."""
    history = conversation.history
    newest = conversation.messages[len(history.places) :][-RECENT:]
    before = history.originals[-(RECENT - len(newest)) :] if len(newest) < RECENT else ()
    tokens = sum(map(message_tokens, (*before, *newest)))
    return tokens / max(LEAST_CALLS, (len(before) + len(newest)) / 2)
