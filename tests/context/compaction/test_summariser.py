from __future__ import annotations

from indwell.context.compaction.ladder import Restraint, after_run, failed
from indwell.context.compaction.step import CompactionFacts, TokenRates
from indwell.context.compaction.summarising.summary import SummarySizes, output_limit, readers

SMALL = TokenRates(input=0.2, cached=0.02, cache_write=0.25, output=1.0)


def sizes(**given: object) -> SummarySizes:
    plain = {
        "prefix": 50_000,
        "region": 20_000,
        "instructions": 300,
        "output": 4_000,
        "main_budget": 60_000,
        "small_budget": 60_000,
    }
    return SummarySizes(**{**plain, **given})  # type: ignore[arg-type]


def test_the_cheaper_model_writes_the_summary() -> None:
    # main: 50,000 × 0.1 + 300 + 4,000 × 5 = 25,300; small: 20,000 × 0.2 + 4,000 = 8,000
    assert readers(sizes(), CompactionFacts(small=SMALL)) == ("small", "main")
    # The small model is hardly cheaper, and pays the full price for tokens that the main model has
    # cached.
    assert readers(sizes(), CompactionFacts(small=TokenRates(0.9, 0.1, 1.0, 4.5))) == (
        "main",
        "small",
    )


def test_a_prefix_without_a_cache_costs_its_full_price() -> None:
    near = TokenRates(0.9, 0.1, 1.0, 4.5)
    assert readers(sizes(), CompactionFacts(small=near, is_cached=False)) == ("small", "main")


def test_a_prefix_that_contains_a_summary_is_not_summarised_again() -> None:
    assert readers(sizes(is_faithful=False), CompactionFacts()) == ("apart",)
    assert readers(sizes(is_faithful=False), CompactionFacts(small=SMALL)) == ("small",)


def test_a_model_with_a_too_small_window_is_not_asked_for_a_summary() -> None:
    assert readers(sizes(prefix=70_000), CompactionFacts(small=SMALL)) == ("small",)
    assert readers(sizes(small_budget=10_000), CompactionFacts(small=SMALL)) == ("main",)
    assert readers(sizes(prefix=70_000, region=70_000), CompactionFacts(small=SMALL)) == ()


def test_a_summary_reply_may_have_the_target_and_200_more_tokens() -> None:
    assert output_limit(4_000) == 4_200
    assert output_limit(100) == 1_000


def test_a_compaction_layer_with_two_poor_runs_pauses_until_the_conversation_grows() -> None:
    once = after_run(Restraint(), "snip", 10_000, 9_500)
    assert failed(once, 10_000) == frozenset()
    twice = after_run(once, "snip", 10_000, 9_500)
    assert failed(twice, 10_000) == {"snip"}
    assert failed(twice, 10_600) == frozenset()
    assert failed(after_run(twice, "snip", 12_000, 9_000), 10_000) == frozenset()


def test_a_good_compaction_run_between_two_poor_runs_prevents_a_pause() -> None:
    state = Restraint()
    for after in (9_500, 8_000, 9_500):
        state = after_run(state, "snip", 10_000, after)
    assert failed(state, 9_500) == frozenset()
