"""The user's text survives every compaction, wherever it is in the conversation."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context import conversation as talk
from indwell.context.compaction.ladder import take
from indwell.context.compaction.presets import Collapse
from indwell.context.compaction.step import CompactionStep, SummarySpan
from indwell.context.compaction.summarising.span import summary_span
from indwell.context.compaction.summarising.summary import apply_summary
from indwell.context.compaction.transcripts import FILE_LENGTH
from indwell.context.conversation import Conversation
from indwell.context.history import History, MessageSplice, is_boundary, snapped, spliced
from indwell.messages import Message, Reply, Text
from indwell.sessions import log_lines
from indwell.sessions.conversation_restore import folded
from indwell.sessions.records import CompactionRecord, MessageRecord
from indwell.sessions.storage.writer import encode
from support.context_checks import check_words
from support.long_talks import code, empty, summarised, turned, users_words, viewed, wanted
from support.requests import words

LONG = code(200)
PASTE = "and this pasted line " * 900


def planned(now: Conversation, start: int, stop: int, *, keep_replies: bool = False) -> SummarySpan:
    plan = summary_span("regions", viewed(now), start, stop, keep_replies=keep_replies)
    assert plan is not None
    return plan


def test_user_text_that_a_summary_merged_into_another_message_survives_the_next_summary() -> None:
    now = empty(60_000)
    for turn in range(1, 7):
        now = turned(now, turn, [LONG, LONG], reply=f"Done {turn}.")
    now = summarised(now, planned(now, 1, 18, keep_replies=True))  # turns 1 to 3
    last = snapped(now.messages, len(now.messages) - 6)
    # The next summary puts the user's text into the last message of the group.
    now = summarised(now, planned(now, max(now.history.joined) + 1, last))
    said = [f"Do number {turn}." for turn in range(1, 7)]
    assert users_words(now.messages) == said
    n = len(now.messages)
    for start in filter(partial(is_boundary, now.messages), range(n)):
        plan = summary_span("regions", viewed(now), start, n)
        if plan is not None:
            assert users_words(summarised(now, plan).messages) == said, start


def test_a_summary_as_long_as_its_source_still_represents_every_user_message() -> None:
    now = empty(60_000)
    for turn in range(1, 5):
        now = turned(now, turn, [LONG], reply=f"Done {turn}.")
    plan = planned(now, 1, 7, keep_replies=True)
    (splice,) = apply_summary(now, plan, "It is done.").splices
    same = MessageSplice(
        splice.start, splice.start + len(splice.messages), splice.messages, whole=True
    )
    _, history = spliced(now.messages, History(), (same,))
    n = len(splice.messages)
    assert n > 1
    assert history.joined == frozenset(range(splice.start + 1, splice.start + n))
    _, one_by_one = spliced(now.messages, History(), (msgspec.structs.replace(same, whole=False),))
    assert one_by_one.joined == frozenset()


def test_each_file_of_user_text_includes_the_text_of_the_earlier_file() -> None:
    now, spills = empty(8_000), dict[str, str]()
    said: list[str] = []
    for turn in range(1, 10):
        said.append(f"Number {turn}: " + "more and more of it. " * 40)
        now = turned(now, turn, [LONG] * 2, words=said[-1])
        plan = wanted(Collapse(), now)
        if isinstance(plan, SummarySpan):
            step = apply_summary(now, plan, "It is done.")
            spills |= {spill.name: spill.text for spill in step.spills}
            now = take(now, step)
        check_words(now, said, spills)
    assert len(spills) > 2
    text = str(now.messages)
    assert sum(name in text for name in spills) == 1, "one file is enough"


def test_a_long_paste_does_not_displace_short_earlier_user_text() -> None:
    now = empty(16_000)
    for turn, said in enumerate(("Never touch b.py.", PASTE, "Go on.", "And now?"), 1):
        now = turned(now, turn, [LONG] * 2, words=said)
    plan = wanted(Collapse(), now)
    assert isinstance(plan, SummarySpan)
    assert users_words(summarised(now, plan).messages) == [
        "Never touch b.py.", "Go on.", "And now?",
    ]  # fmt: skip
    (spill,) = plan.spills
    assert spill.text == f"[turn 1]\nNever touch b.py.\n\n[turn 2]\n{PASTE}"
    (pointer,) = (one for one in plan.kept if one.meta.source == "reminder")
    assert isinstance(pointer, Text)
    assert f"(1, of turn 2) are in /state/spill/{spill.name}" in pointer.text


def test_the_prompt_is_kept_despite_many_steering_messages() -> None:
    now = talk.with_input(empty(8_000), words="Move the cart. " * 30, turn=1)
    for number in range(12):
        now = turned(now, 1, [LONG], words=f"Mind {number}, too. " * 30)
    plan = wanted(Collapse(), now)
    assert isinstance(plan, SummarySpan)
    kept = users_words((Message("user", plan.kept, 1),))
    assert kept[0] == "Move the cart. " * 30
    assert len(kept) < 12


def test_a_long_prompt_is_removed_after_its_turn() -> None:
    prompt = "word " * 1_500
    under_way = turned(empty(8_000), 1, [LONG] * 5, words=prompt)
    over = talk.with_reply(under_way, Reply("Done."), turn=1)
    for now, stays in ((under_way, True), (over, False)):
        plan = wanted(Collapse(), now)
        assert isinstance(plan, SummarySpan)
        assert (users_words(summarised(now, plan).messages) == [prompt]) == stays
        assert [spill.text for spill in plan.spills] == ([] if stays else [f"[turn 1]\n{prompt}"])


def test_user_text_merged_into_a_summary_message_is_kept() -> None:
    now = turned(empty(60_000), 1, [LONG] * 3, reply="Done 1.")
    summary = (
        Message("user", (words("Do number 1."), words("sum", "compactor")), 1),
        Message("assistant", (words("Done 1.", "assistant"),), 1),
        Message("user", (words("mind the cart"),), 1),
    )
    n = len(now.messages)
    now = take(now, CompactionStep("regions", (MessageSplice(0, n, summary, whole=True),)))
    now = talk.with_input(now, words="Do number 2.", turn=2)
    now = talk.with_reply(now, Reply("Done 2."), turn=2)
    assert now.history.joined == {1, 2}
    now = turned(now, 3, [LONG] * 3, reply="Done 3.")
    plan = planned(now, 2, len(now.messages))
    assert plan.start == 0
    assert users_words(plan.source) == ["Do number 1.", "Do number 2.", "Do number 3."]


def test_an_old_log_without_the_whole_flag_is_read_unchanged() -> None:
    message = Message("user", (words("sum"),), 1)
    splice = MessageSplice(0, 2, (message,))
    record = CompactionRecord(1, "collapse", (splice,), 2, 1, (), "t", live=3)
    encoded = encode(record)
    assert b"whole" not in encoded
    assert log_lines.decode(encoded).records == (record,)
    whole = msgspec.structs.replace(record, splices=(msgspec.structs.replace(splice, whole=True),))
    assert log_lines.decode(encode(whole)).records == (whole,)


def test_joined_messages_stay_joined_after_the_log_is_read_again() -> None:
    now = empty(60_000)
    for turn in range(1, 5):
        now = turned(now, turn, [LONG], reply=f"Done {turn}.")
    plan = planned(now, 1, 9, keep_replies=True)
    step = apply_summary(now, plan, "It is done.")
    after = take(now, step)
    said = [MessageRecord(message, "t") for message in now.messages]
    record = CompactionRecord(1, "regions", step.splices, 2, 1, (), "t", live=len(now.messages))
    reading = log_lines.decode(b"".join(map(encode, (*said, record))))
    told = folded(reading.records)
    assert (told.messages, told.history) == (after.messages, after.history)
    assert told.history.joined


@pytest.mark.parametrize("window", [4_000, 8_000, 32_000])
@given(
    lengths=st.lists(st.integers(1, 400), min_size=2, max_size=14),
    replies=st.lists(st.booleans(), min_size=14, max_size=14),
    cuts=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40), st.booleans()), max_size=8),
)
def test_any_sequence_of_summaries_keeps_all_user_text(window, lengths, replies, cuts) -> None:
    now, spills, said = empty(window), dict[str, str](), list[str]()
    for turn, length in enumerate(lengths, 1):
        said.append(f"Number {turn}: " + "on and on, " * length)
        now = turned(now, turn, [LONG], words=said[-1], reply="Done." * replies[turn - 1])
        for start, n, keep in cuts[turn % 3 :: 3]:
            at = min(start, len(now.messages) - 2)
            stop = min(at + n, len(now.messages))
            at, stop = snapped(now.messages, at), snapped(now.messages, stop)
            if at >= stop:
                continue
            plan = summary_span("regions", viewed(now), at, stop, keep_replies=keep)
            if plan is None:
                continue
            step = apply_summary(now, plan, "It is done.")
            if step.splices:
                spills |= {spill.name: spill.text for spill in step.spills}
                now = take(now, step)
        check_words(now, said, spills)


def test_files_of_user_text_grow_with_the_text_and_not_with_each_summary() -> None:
    """A later summary uses an earlier summary's files again; only the newest file is written."""
    now, written = empty(8_000), dict[str, str]()
    said: list[str] = []
    n_written: list[int] = []
    for turn in range(1, 161):
        said.append(f"Number {turn}: " + "more and more of it. " * 60)
        now = turned(now, turn, [LONG] * 2, words=said[-1])
        plan = wanted(Collapse(), now)
        if isinstance(plan, SummarySpan):
            step = apply_summary(now, plan, "It is done.")
            fresh = {one.name: one.text for one in step.spills if one.name not in written}
            n_written.append(sum(len(text) for name, text in fresh.items() if "words-" in name))
            written |= fresh
            now = take(now, step)
    n_said = sum(map(len, said))
    n_summaries = len(n_written)
    assert n_summaries > 20
    assert sum(n_written) < 2 * n_said + n_summaries * FILE_LENGTH
    assert max(n_written) < 3 * FILE_LENGTH, "however long the session is"
    held = "".join(text for name, text in written.items() if "words-" in name)
    shown = "".join(users_words(now.messages))
    assert all(one.strip() in held + shown for one in said)
