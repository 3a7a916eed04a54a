"""Recorded conversations are replayed as a whole: requests, cache, sums, broken rules."""

from __future__ import annotations

import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.context.history import MessageSplice
from indwell.messages import Message
from indwell.replay.cache import CacheRules
from indwell.replay.measure import RequestSums, replayed, total
from indwell.replay.replayed_conversation import ReplayRules, WrittenSummary, points, simulating
from indwell.sessions.imports import recorded, recorded_sessions
from indwell.sessions.records import CompactionRecord, MessageRecord, Record, SessionStarted
from indwell.sessions.storage.writer import encode
from support.recorded import foreign_sessions
from support.replay_sessions import entries, session


def test_a_replay_makes_one_request_for_each_recorded_reply() -> None:
    one = session(n=5)
    n_replies = sum(message.role == "assistant" for message in one.messages)
    assert replayed(one, "none", 100_000).requests == n_replies


def test_without_compaction_the_cache_serves_old_messages_and_nothing_is_lost() -> None:
    figures = replayed(session(), "none", 1_000_000)
    largest = figures.sizes[-1]
    assert figures.tokens - figures.cached == largest  # each token is written to the cache once
    assert (figures.kept, figures.lines_kept) == (figures.pairs, figures.lines) == (0, 0)
    assert figures.violations == 0
    assert figures.cost == pytest.approx(largest * 1.25 + figures.cached * 0.1)


def test_the_preset_none_reaches_the_append_only_cache_share_on_real_sessions() -> None:
    for one in foreign_sessions("entire", every=40):
        figures = replayed(one, "none", 64_000)
        ideal = sum(figures.sizes[:-1]) / sum(figures.sizes)
        assert figures.shown()["cached_share"] == pytest.approx(ideal, abs=1e-4)


def test_sliding_loses_a_line_that_a_late_edit_needs_and_counts_the_reread() -> None:
    figures = replayed(session(), "slide", 20_000)
    assert (figures.lines, figures.lines_kept) == (1, 0)
    assert figures.recoverable == 0
    assert figures.rereads > 0 < figures.reread_cost
    assert figures.words_missing > 0
    assert figures.too_large == 0


def test_a_request_over_the_window_is_counted_not_hidden() -> None:
    figures = replayed(session(), "none", 20_000)
    assert figures.too_large == sum(size > 20_000 for size in figures.sizes) > 0
    assert figures.violations == figures.too_large


@pytest.mark.parametrize("preset", ["slide", "none", "default"])
def test_an_exchange_larger_than_the_window_is_a_violation_unless_the_ladder_trims(
    preset: str,
) -> None:
    messages = entries(3)
    messages[2]["content"] = "value_0_7 = compute_total(7)\n" * 4_000
    figures = replayed(recorded({"messages": messages}), preset, 20_000)
    if preset == "default":
        assert (figures.too_large, figures.largest_request < 20_000) == (0, True)
    else:
        assert figures.too_large > 0
        assert figures.largest_request > 40_000


def test_the_engine_knows_whether_a_cache_still_holds_the_last_request() -> None:
    one = session()
    known: list[bool] = []

    def summarise(conversation, plan, facts, preset, index) -> WrittenSummary:
        known.append(facts.is_cached)
        return simulating(0.2)(conversation, plan, facts, preset, index)

    def asked(rules: CacheRules, moments_s: tuple[float, ...]) -> set[bool]:
        known.clear()
        preset = PRESETS["regions-d"]
        list(
            points(
                one.messages,
                ReplayRules(preset, 20_000, cache=rules, summarise=summarise),
                moments_s,
            )
        )
        return set(known)

    slow = tuple(at * 301.0 for at in range(len(one.messages) // 2))
    quick = tuple(at * 300.0 for at in range(len(one.messages) // 2))
    assert asked(CacheRules(life_s=300.0), quick) == {True}
    assert asked(CacheRules(life_s=300.0), slow) == {False}
    assert asked(CacheRules(), slow) == asked(CacheRules(life_s=300.0), ()) == {True}
    assert asked(CacheRules(exists=False), ()) == {False}


def test_totals_add_up_and_keep_the_largest_request() -> None:
    one = total(
        (RequestSums(requests=2, largest_request=7), RequestSums(requests=3, largest_request=5))
    )
    assert (one.requests, one.largest_request) == (5, 7)
    for name in ("kept", "edit_lines", "recoverable", "cached_share", "study_kept"):
        assert one.shown()[name] is None, "a share of nothing is no share"


def test_the_studys_figures_count_names_in_lists_and_leave_out_the_price_of_summaries() -> None:
    for preset in ("ladder-a", "default"):
        figures = replayed(session(), preset, 20_000)
        assert figures.kept <= figures.study_kept <= figures.pairs
        assert figures.study_cost <= figures.cost - figures.summary_cost
    figures = replayed(session(), "slide", 20_000)
    assert figures.study_cost == figures.cost > 0, "nothing is rewritten, and no summary is made"
    figures = replayed(session(), "regions-d", 12_000)
    assert figures.summary_cost > 0
    assert figures.study_cost <= figures.cost - figures.summary_cost


def test_a_log_of_indwell_is_replayed_as_it_was_before_its_compactions() -> None:
    one = session(12)
    at = "2026-11-27T10:{:02}:00.000+00:00"
    records: list[Record] = [SessionStarted("s-1", "/w", "m", at.format(0))]
    for number, message in enumerate(one.messages):
        records += [MessageRecord(message, at.format(number))]
    note = (MessageSplice(0, 5, (Message("user", one.messages[0].blocks, 1),)),)
    records.insert(9, CompactionRecord(1, "digest", note, 9, 1, (), at.format(8)))
    lines = b"".join(map(encode, records)).splitlines()
    (log,) = recorded_sessions(lines, name="log")
    assert (log.id, log.messages, log.notes) == ("s-1", one.messages, ())
    assert log.times_s[1] - log.times_s[0] == 60
    damaged = [*lines[:6], lines[6][:40], *lines[7:]]
    (log,) = recorded_sessions(damaged, name="log")
    assert any("line 7" in note for note in log.notes)
    assert replayed(log, "slide", 20_000).unpaired == 0
