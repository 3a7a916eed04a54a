"""The computation of costs, compared with numbers that were calculated by hand."""

from __future__ import annotations

import msgspec
import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import CompactionFacts, SummarySpan, TokenRates
from indwell.context.compaction.transcripts import source_text
from indwell.context.conversation import prompt_tokens
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.messages import Message
from indwell.replay.cache import CACHES, CacheRules, PrefixCache
from indwell.replay.loss import LossMeter, Reader
from indwell.replay.measure import replayed, reread_cost
from indwell.replay.replayed_conversation import INSTRUCTIONS, ReplayRules, points, price_of
from indwell.sessions.imports import Recorded
from support.replay_sessions import session

TEN = TokenRates(input=10.0, cached=1.0, cache_write=12.5, output=50.0)


def test_each_token_is_written_once_and_read_in_every_later_request() -> None:
    figures = replayed(session(n=2, lines=10), "none", 100_000)
    one, two, three, *_ = figures.sizes
    assert figures.sizes[0] == 6_000 + 12  # the prefix, and "mend parse_header in src/a.py"
    cost = 1.25 * one + (0.1 * one + 1.25 * (two - one)) + (0.1 * two + 1.25 * (three - two))
    assert len(figures.sizes) == 3
    assert figures.cost == pytest.approx(cost)


def test_prices_from_a_list_scale_the_cost() -> None:
    one = session(n=6)
    figures = replayed(one, "slide", 12_000)
    assert figures.reread_cost > 0
    dear = replayed(one, "slide", 12_000, rates=TEN)
    assert dear.cost == pytest.approx(10 * figures.cost)
    assert dear.reread_cost == pytest.approx(10 * figures.reread_cost)


@pytest.mark.parametrize(
    ("rules", "cost"),
    [
        (CACHES["plain"], 1_000 * 0.1 + 200 * 1.25),
        (CACHES["openai"], 1_000 * 0.1 + 200),
        (CACHES["none"], 1_200),
    ],
)
def test_the_cost_of_a_reread_is_one_request_plus_the_lost_text(
    rules: CacheRules, cost: float
) -> None:
    assert reread_cost(1_000, 200, rules, TokenRates()) == pytest.approx(cost)


def test_a_lost_text_is_charged_at_the_request_that_needs_it() -> None:
    one = session()
    meter = LossMeter(Reader())
    expected = 0.0
    n_pieces = 0
    for point in points(one.messages, ReplayRules(PRESETS["slide"], 20_000)):
        for piece in meter.at(point).pieces:
            expected += point.tokens * 0.1 + piece * 1.25
            n_pieces += 1
    figures = replayed(one, "slide", 20_000)
    assert n_pieces == figures.rereads > 0
    assert figures.reread_cost == pytest.approx(expected)


@pytest.mark.parametrize("is_cached", [True, False])
def test_a_summary_costs_the_cached_prefix_or_the_region_and_its_own_tokens(
    *, is_cached: bool
) -> None:
    course = list(points(session(n=6).messages, ReplayRules(PRESETS["none"], 1_000_000)))
    talk = course[5].conversation
    plan = SummarySpan(
        layer="regions",
        start=1,
        stop=9,
        source=talk.messages[1:9],
        kept=(),
        range="turn 1",
        target=500,
    )
    prefix, region = prompt_tokens(talk), estimate_tokens(source_text(plan))
    appended = prefix * (0.1 if is_cached else 1.0) + INSTRUCTIONS + 700 * 5
    facts = CompactionFacts(is_cached=is_cached)
    assert price_of(talk, plan, facts, 700) == pytest.approx(appended)
    summed = inject("summary", "Before.", turn=1)
    cut = msgspec.structs.replace(
        talk, messages=(*talk.messages[:2], Message("user", (summed,), 1), *talk.messages[3:])
    )
    apart = region + INSTRUCTIONS + 700 * 5
    assert price_of(cut, plan, facts, 700) == pytest.approx(apart), "the prefix shows no original"


def test_summaries_are_in_the_cost_and_extraction_by_code_is_free() -> None:
    one = session()
    figures = replayed(one, "regions-d", 20_000)
    assert 0 < figures.summary_cost < figures.cost
    main = sum(
        1.25 * (size - read) + 0.1 * read for size, read in _sizes_and_reads(one, "regions-d")
    )
    assert figures.cost == pytest.approx(main + figures.reread_cost + figures.summary_cost)
    assert replayed(one, "regions-d", 20_000, ratio=0.0).summary_cost == 0


def _sizes_and_reads(one: Recorded, preset: str) -> list[tuple[int, int]]:
    cache = PrefixCache()
    rules = ReplayRules(PRESETS[preset], 20_000)
    return [
        (point.tokens, cache.served(point.request).read) for point in points(one.messages, rules)
    ]
