"""When a rewrite of the cached prefix saves money."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.step import CompactionFacts, TokenRates, growth, pays
from indwell.context.conversation import Config, Conversation
from indwell.messages import Message, Meta, Text

TOKENS = st.integers(1, 500_000)


def at(freed: float, rewritten: float, grown: float, **rates: float) -> bool:
    return pays(
        freed=freed,
        rewritten=rewritten,
        growth=grown,
        facts=CompactionFacts(rates=TokenRates(**rates)),
    )


def cost_a_call(freed: float, rewritten: float, grown: float) -> float:
    """Return a call's cost beyond the smallest prompt's, if a compaction frees ``freed`` tokens."""
    return 1.15 * rewritten * grown / freed + 0.1 * freed / 2


@given(TOKENS, st.integers(10, 5_000))
def test_a_cut_saves_money_from_the_cheapest_number_of_freed_tokens_on(rewritten, grown):
    heights = [10 * 1.05**step for step in range(320)]
    best = min(heights, key=lambda height: cost_a_call(height, rewritten, grown))
    assert not at(best / 1.06, rewritten, grown)
    assert at(best * 1.06, rewritten, grown)


@given(TOKENS, TOKENS, st.integers(1, 5_000))
def test_freeing_more_or_rewriting_less_never_reduces_the_saving(freed, rewritten, grown):
    if at(freed, rewritten, grown):
        assert at(freed + 1, rewritten, grown)
        assert at(freed, rewritten - 1, grown)


def test_free_cached_tokens_are_never_worth_a_rewrite():
    assert not at(100_000, 1_000, 700, input=3.0, cached=0.0, cache_write=3.75)
    assert not at(100, 500_000, 700, input=3.0, cached=1e-9, cache_write=3.75)


def test_a_free_model_uses_the_usual_price_ratios_to_weigh_time():
    free = {"input": 0.0, "cached": 0.0, "cache_write": 0.0}
    assert at(30_000, 10_000, 700, **free) == at(30_000, 10_000, 700)
    assert at(3_000, 10_000, 700, **free) == at(3_000, 10_000, 700)


def test_without_a_cache_every_shortening_saves_money():
    facts = CompactionFacts(is_cached=False)
    assert pays(freed=1, rewritten=100_000, growth=700, facts=facts)
    assert not pays(freed=0, rewritten=0, growth=700, facts=facts)


def test_conversation_growth_counts_new_messages_and_not_compacted_messages():
    def message(role, tokens):
        return Message(role, (Text("x", Meta(tier=1, source="user", tokens=tokens - 4)),), 1)

    roles = ("user", "assistant")
    messages = tuple(message(roles[number % 2], 500) for number in range(40))
    assert growth(Conversation(Config("m", 32_000, 0), (), messages=messages)) == 1_000
