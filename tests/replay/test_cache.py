"""The part of the next request that a provider's cache rules serve."""

from __future__ import annotations

import msgspec
import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.messages import Anchors, Message, Meta, Request, Text
from indwell.replay.cache import CACHES, CacheRules, PrefixCache, Served
from indwell.replay.measure import replayed
from indwell.replay.replayed_conversation import Point, ReplayRules, points
from support.replay_sessions import session

PLAIN = CacheRules(minimum=0)


def block(text: str, tokens: int) -> Text:
    return Text(text, Meta(3, "user", tokens - 4, 1))  # the block itself needs 4 tokens


def request(*texts: tuple[str, int], marks: tuple[int, ...] = (), system: bool = False) -> Request:
    """Return messages of one block each, alternating between user and assistant."""
    messages = tuple(
        Message("assistant" if number % 2 else "user", (block(*text),), 1)
        for number, text in enumerate(texts)
    )
    return Request(
        model="m",
        system=(block("prompt", 1_000),),
        tools=(),
        messages=messages,
        max_output=1,
        anchors=Anchors(system=system, messages=marks),
    )


FIRST = (("a" * 40, 100), ("b" * 40, 200), ("c" * 40, 300))


def served(rules: CacheRules, *requests: Request, gap_s: float = 1.0) -> list[Served]:
    cache = PrefixCache(rules)
    return [cache.served(one, at_s=number * gap_s) for number, one in enumerate(requests)]


def test_the_cache_serves_the_last_request_and_stores_the_new_messages() -> None:
    longer = request(*FIRST, ("d", 50), ("e", 60))
    assert served(PLAIN, request(*FIRST), longer) == [Served(0, 1_600), Served(1_600, 110)]


def test_the_cache_serves_the_equal_beginning_of_a_changed_message() -> None:
    changed = request(FIRST[0], ("b" * 20 + "x" * 20, 200), FIRST[2])
    _, second = served(PLAIN, request(*FIRST), changed)
    # The block {"role":"assistant","content":"bbbb… has 31 characters before the text, 20 equal
    # characters, and 2 after the text.
    assert second.read == 1_100 + int(200 * (31 + 20) / (31 + 40 + 2))


def test_a_changed_system_prompt_invalidates_the_whole_cache() -> None:
    other = msgspec.structs.replace(request(*FIRST), system=(block("other", 1_000),))
    assert served(PLAIN, request(*FIRST), other)[1] == Served(0, 1_600)


@pytest.mark.parametrize(
    ("rules", "read"),
    [
        (CacheRules(minimum=1_600), 1_600),
        (CacheRules(minimum=1_601), 0),
        (CacheRules(block=128), 1_536),
        (CacheRules(life_s=300.0), 1_600),
        (CacheRules(life_s=299.0), 0),
        (CacheRules(exists=False), 0),
    ],
)
def test_minimum_size_block_size_and_lifetime_decide_what_the_cache_serves(
    rules: CacheRules, read: int
) -> None:
    longer = request(*FIRST, ("d", 50), ("e", 60))
    assert served(rules, request(*FIRST), longer, gap_s=300.0)[1].read == read


def test_each_use_makes_a_cache_live_longer() -> None:
    same = [request(*FIRST)] * 4
    assert [one.read for one in served(CacheRules(life_s=300.0), *same, gap_s=200.0)][1:] == [
        1_600
    ] * 3


def test_with_anchors_the_cache_serves_only_prefixes_that_end_at_a_mark() -> None:
    rules = CacheRules(minimum=0, anchors=True)
    longer = request(*FIRST, ("d", 50), ("e", 60), marks=(3,), system=True)
    first, second = served(rules, request(*FIRST, marks=(1,), system=True), longer)
    # the part up to the cache mark; the newest message costs as input
    assert first == Served(0, 1_300)
    assert second == Served(1_300, 350)  # only c and d are written


def test_an_older_mark_serves_the_unchanged_prefix_after_a_compaction() -> None:
    rules = CacheRules(minimum=0, anchors=True)
    one = request(*FIRST, marks=(0, 1), system=True)
    cut = request(FIRST[0], ("short", 20), FIRST[2], marks=(1,), system=True)
    assert served(rules, one, cut)[1].read == 1_100
    all_cut = request(("other", 20), FIRST[1], FIRST[2], marks=(1,), system=True)
    assert served(rules, one, all_cut)[1].read == 1_000


def test_a_cache_mark_beyond_the_search_distance_has_no_effect() -> None:
    rules = CacheRules(minimum=0, anchors=True)
    far = request(*FIRST, *((f"{at}", 10) for at in range(30)), marks=(28,))
    near = request(*FIRST, *((f"{at}", 10) for at in range(30)), marks=(21,))
    one = request(*FIRST, marks=(1,))
    assert (served(rules, one, far)[1].read, served(rules, one, near)[1].read) == (0, 1_300)


def test_the_cache_rules_of_providers_rank_as_expected_on_a_session() -> None:
    one = session()
    cached = {
        name: replayed(one, "default", 20_000, cache=rules, pause_s=10.0).cached
        for name, rules in CACHES.items()
    }
    assert cached["none"] == 0 < cached["anthropic"] <= cached["plain"]
    assert cached["openai"] <= cached["deepseek"] <= cached["plain"]
    slow = replayed(one, "default", 20_000, cache=CACHES["openai"], pause_s=301.0)
    assert slow.cached == 0


def test_the_times_in_a_recording_take_precedence_over_the_assumed_pause() -> None:
    one = session(n=6)
    times = tuple(float(at) for at in range(len(one.messages)))
    timed = msgspec.structs.replace(one, times_s=times)
    rules = CACHES["openai"]
    assert replayed(timed, "none", 64_000, cache=rules, pause_s=301.0).cached > 0
    assert replayed(one, "none", 64_000, cache=rules, pause_s=301.0).cached == 0


def test_without_a_cache_every_token_costs_as_input() -> None:
    figures = replayed(session(n=6), "none", 64_000, cache=CACHES["none"])
    assert figures.cost == figures.tokens


def test_the_cache_serves_the_whole_previous_request_of_a_real_session() -> None:
    course: list[Point] = list(
        points(session(n=6).messages, ReplayRules(PRESETS["none"], 1_000_000))
    )
    cache = PrefixCache()
    assert cache.served(course[0].request).read == 0
    assert cache.served(course[1].request).read == course[0].tokens
