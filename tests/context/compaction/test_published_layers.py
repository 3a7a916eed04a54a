"""The published layers micro, snip, slide and summarise."""

from __future__ import annotations

from indwell.context import conversation as talk
from indwell.context.compaction.presets import Micro, Slide, Snip, Summarise
from indwell.context.compaction.step import CompactionStep, SummarySpan
from indwell.context.conversation import estimated_tokens
from indwell.context.injections import inject
from support.long_talks import (
    FOLDER,
    code,
    empty,
    results,
    summarised,
    taken,
    turned,
    users_words,
    wanted,
)

LONG = code(400)


def test_micro_keeps_the_newest_three_results_and_short_results() -> None:
    now = turned(empty(), 1, ["short", LONG, LONG, LONG, LONG])
    step = wanted(Micro(keep=3), now)
    assert isinstance(step, CompactionStep)
    (spill,) = step.spills
    assert spill.text == LONG
    where = f"{len(LONG):,} characters, in {FOLDER}/{spill.name}]"
    assert results(taken(now, step).messages) == [
        "short",
        f"[earlier result of read_file src/t1_1.py: {where}",
        LONG,
        LONG,
        LONG,
    ]


def test_micro_does_not_change_an_already_shortened_conversation() -> None:
    now = turned(empty(), 1, [LONG] * 5)
    step = wanted(Micro(keep=3), now)
    assert isinstance(step, CompactionStep)
    assert wanted(Micro(keep=3), taken(now, step)) is None


def test_a_result_shorter_than_its_placeholder_is_not_replaced() -> None:
    now = turned(empty(), 1, ["x y " * 26, "a", "b", "c"])
    assert wanted(Micro(keep=3), now) is None


def test_snip_keeps_three_lines_at_both_ends_and_counts_the_cut_lines() -> None:
    now = turned(empty(), 1, [LONG, "seen last"])
    step = wanted(Snip(), now)
    assert isinstance(step, CompactionStep)
    lines = LONG.split("\n")
    (spill,) = step.spills
    assert results(taken(now, step).messages)[0].split("\n") == [
        *lines[:3],
        f"[… 394 lines left out of read_file src/t1_0.py; all of it is in {FOLDER}/{spill.name} …]",
        *lines[-3:],
    ]


def test_snip_cuts_few_but_huge_lines_by_characters() -> None:
    now = turned(empty(), 1, ["[" + "17, " * 5_000 + "]", "seen last"])
    step = wanted(Snip(), now)
    assert isinstance(step, CompactionStep)
    text = results(taken(now, step).messages)[0]
    assert (text[:5], text[-5:]) == ("[17, ", "17, ]")
    assert len(text) < 1_500


def test_snip_keeps_results_that_the_model_has_not_seen() -> None:
    assert wanted(Snip(), turned(empty(), 1, ["short", LONG])) is None


def test_a_result_that_is_cut_twice_is_spilled_in_its_original_form() -> None:
    now = turned(empty(), 1, [LONG, "a", "b", "c"])
    snipped = wanted(Snip(), now)
    assert isinstance(snipped, CompactionStep)
    now = taken(now, snipped)
    step = wanted(Micro(keep=3), now)
    assert isinstance(step, CompactionStep)
    # The step writes the text again, because in a fork the file may be missing.
    assert step.spills == snipped.spills
    assert snipped.spills[0].name in results(taken(now, step).messages)[0]


def test_a_result_that_names_its_own_file_is_still_written() -> None:
    """In a fork the text names a file in another folder, and a tool can print such words."""
    for said in (Micro(keep=0), Snip()):
        now = turned(empty(), 1, [LONG], reply="Ok.")
        first = wanted(Snip(), now)
        assert isinstance(first, CompactionStep)
        cut = results(taken(now, first).messages)[0]
        assert first.spills[0].name in cut
        now = turned(empty(), 1, [f"{LONG}\n{cut}"], reply="Ok.")
        step = wanted(said, now)
        assert isinstance(step, CompactionStep)
        (spill,) = step.spills
        assert spill.text == f"{LONG}\n{cut}"


def test_results_of_calls_with_the_same_id_go_to_different_files() -> None:
    now = turned(turned(empty(), 1, [LONG], reply="Ok."), 2, [code(300, "g")], reply="Ok.")
    step = wanted(Micro(keep=0), now)
    assert isinstance(step, CompactionStep)
    assert len({spill.name for spill in step.spills}) == 2


def test_slide_drops_the_oldest_exchanges_down_to_the_goal_and_leaves_a_note() -> None:
    now = empty()
    for turn in range(1, 11):
        now = turned(now, turn, [code(100)], reply="Done.")
    goal = estimated_tokens(now) // 2
    step = wanted(Slide(), now, goal=goal)
    assert isinstance(step, CompactionStep)
    after = taken(now, step)
    assert goal * 0.8 < estimated_tokens(after) <= goal
    assert after.messages[0].blocks[0].meta.source == "reminder"
    assert users_words(after.messages) == [f"Do number {turn}." for turn in range(7, 11)]


def test_slide_never_drops_the_newest_exchange_or_a_pinned_block() -> None:
    now = talk.queue(empty(), (inject("instructions", "Use tabs.", turn=1),))
    now = turned(now, 1, [LONG, LONG])
    step = wanted(Slide(), now)
    assert isinstance(step, CompactionStep)
    after = taken(now, step)
    assert [block.meta.source for block in after.messages[0].blocks] == ["reminder", "instructions"]
    assert results(after.messages) == [LONG]
    assert wanted(Slide(), after) is None


def test_summarise_takes_all_but_the_newest_messages_in_whole_exchanges() -> None:
    now = turned(empty(), 1, [LONG] * 9)
    plan = wanted(Summarise(over=10, keep=7), now)
    assert isinstance(plan, SummarySpan)
    assert (plan.start, plan.stop) == (0, len(now.messages) - 8)
    after = summarised(now, plan)
    assert users_words(after.messages) == ["Do number 1."]
    assert results(after.messages) == [LONG] * 4


def test_summarise_waits_for_enough_messages() -> None:
    assert wanted(Summarise(over=10, keep=8), turned(empty(), 1, [LONG] * 4)) is None


def test_a_whole_conversation_can_become_one_summary_plus_the_users_text() -> None:
    now = turned(turned(empty(), 1, [LONG], reply="Done."), 2, [LONG])
    plan = wanted(Summarise(over=0, keep=0), now)
    assert isinstance(plan, SummarySpan)
    after = summarised(now, plan)
    assert [message.role for message in after.messages] == ["user"]
    assert users_words(after.messages) == ["Do number 1.", "Do number 2."]
