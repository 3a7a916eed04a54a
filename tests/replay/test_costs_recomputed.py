"""The cost of sliding, recomputed from the raw records, without the engine.

The goals of ``default`` are fractions of this cost, so the cost must be right. The prefix has 6,000
tokens. A token costs 1.25 when it is new, and 0.1 when the last request began with it. Output is
not counted.
"""

from __future__ import annotations

from typing import Any

import pytest

from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens
from indwell.replay.measure import replayed
from support.recorded import foreign_sessions, recorded_sessions

EVERY = 16
CLOSE = 0.015  # notes and joined prompts make a difference of at most 0.7 %


def tokens_of(entry: dict[str, Any]) -> int:
    calls = (one["function"] for one in entry.get("tool_calls") or ())
    texts = [entry.get("content") or "", *(one["name"] + one["arguments"] for one in calls)]
    return sum(estimate_tokens(text) + BLOCK_OVERHEAD for text in texts if text.strip())


def slid(entries: list[dict[str, Any]], window: float, prefix: int = 6_000) -> float:
    """Return the cost of a session that slides to half its window when it is full."""
    sizes = [tokens_of(one) for one in entries]
    start, cost = 0, 0.0
    before: tuple[int, int] | None = None  # where the last request began, and its tokens
    for index, entry in enumerate(entries):
        if entry["role"] != "assistant":
            continue
        if prefix + sum(sizes[start:index]) > window:
            start = half(entries, sizes, start, index, window / 2 - prefix)
        tokens = prefix + sum(sizes[start:index])
        cached = 0 if before is None else before[1] if before[0] == start else prefix
        cost += 1.25 * (tokens - cached) + 0.1 * cached
        before = start, tokens
    return cost


def half(
    entries: list[dict[str, Any]], sizes: list[int], start: int, index: int, room: float
) -> int:
    """Return the start of the newest exchanges that fit into ``room``; the last exchange stays."""
    newest = index - 1
    while newest > start and entries[newest]["role"] == "tool":
        newest -= 1
    while start < newest and sum(sizes[start:index]) > room:
        start += 1
        while entries[start]["role"] == "tool":
            start += 1
    return min(start, newest)


@pytest.mark.parametrize("window", [32_000, 64_000])
def test_the_cost_of_sliding_equals_an_independent_calculation_for_each_session(
    window: int,
) -> None:
    raw = recorded_sessions("entire")[::EVERY]
    for entries, one in zip(raw, foreign_sessions("entire", every=EVERY), strict=True):
        figures = replayed(one, "slide", window)
        cost = figures.cost - figures.reread_cost
        assert cost == pytest.approx(slid(entries, window), rel=CLOSE), one.id


def test_the_cost_of_an_append_only_conversation_equals_an_independent_calculation() -> None:
    raw = recorded_sessions("entire")[::EVERY]
    for entries, one in zip(raw, foreign_sessions("entire", every=EVERY), strict=True):
        cost = replayed(one, "none", 64_000).cost
        assert cost == pytest.approx(slid(entries, float("inf")), rel=0.002), one.id
