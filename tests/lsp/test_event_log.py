"""Events that a client missed are complete and in order, and use limited memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.core.event_log import (
    KEPT_SESSIONS,
    EventEntry,
    EventLog,
    Missed,
    SessionEvents,
)
from indwell.agent.core.events import Event, Notice, TextAdded, ThinkingAdded, ToolOutput


def log_of(*events: Event, kept: int = 10_000) -> SessionEvents:
    log = SessionEvents(kept)
    for event in events:
        log.add(event)
    return log


NOTICE = Notice(1, "info", "hm")


def test_event_numbers_start_at_one_without_gaps() -> None:
    log = SessionEvents()
    assert [log.add(TextAdded(1, "a")), log.add(NOTICE), log.add(TextAdded(1, "b"))] == [1, 2, 3]


def test_consecutive_text_chunks_become_one_event_with_the_last_chunks_number() -> None:
    log = log_of(
        TextAdded(1, "He"),
        TextAdded(1, "llo"),
        NOTICE,
        ThinkingAdded(1, "x"),
        ThinkingAdded(1, "y"),
    )
    assert log.after(0) == Missed(
        (
            EventEntry(2, TextAdded(1, "Hello")),
            EventEntry(3, NOTICE),
            EventEntry(5, ThinkingAdded(1, "xy")),
        ),
        5,
        is_complete=True,
    )


def test_the_event_log_continues_in_the_middle_of_a_run() -> None:
    growing = log_of(TextAdded(1, "He"), TextAdded(1, "llo"), TextAdded(1, "!"))
    assert growing.after(1).events == (EventEntry(3, TextAdded(1, "llo!")),)
    closed = log_of(TextAdded(1, "He"), TextAdded(1, "llo"), TextAdded(1, "!"), NOTICE)
    assert closed.after(2).events == (EventEntry(3, TextAdded(1, "!")), EventEntry(4, NOTICE))
    assert closed.after(4) == Missed((), 4, is_complete=True)


def test_chunks_of_different_events_are_not_joined() -> None:
    events = (
        TextAdded(1, "a"),
        TextAdded(1, "", restart=True),
        TextAdded(1, "b"),
        TextAdded(2, "c"),
        ToolOutput(2, "c1", "x"),
        ToolOutput(2, "c2", "y"),
    )
    assert [one.event for one in log_of(*events).after(0).events] == list(events)


def test_old_events_are_dropped_and_the_answer_reports_the_loss() -> None:
    log = log_of(*(Notice(1, "info", "x" * 400) for _ in range(100)), kept=3_000)
    missed = log.after(0)
    assert (len(missed.events), missed.is_complete, missed.next) == (4, False, 100)
    assert log.after(96).is_complete
    assert not log.after(95).is_complete


def test_an_event_larger_than_the_log_limit_is_kept_alone() -> None:
    large = Notice(1, "info", "x" * 5_000)
    assert log_of(NOTICE, large, kept=1_000).after(0).events == (EventEntry(2, large),)


def test_a_sequence_number_of_an_earlier_server_is_reported_as_incomplete() -> None:
    assert not log_of(NOTICE).after(7).is_complete


def test_the_log_keeps_the_newest_of_many_sessions() -> None:
    log = EventLog()
    for number in range(KEPT_SESSIONS + 1):
        log.add(f"s{number}", NOTICE)
    assert (log.after("s0", 0), log.after("never", 0)) == (None, None)
    assert log.after("s1", 0) == Missed((EventEntry(1, NOTICE),), 1, is_complete=True)


event_lists = st.lists(
    st.one_of(
        st.builds(TextAdded, st.integers(1, 2), st.text(max_size=4), st.booleans()),
        st.builds(ThinkingAdded, st.just(1), st.text(max_size=4)),
        st.builds(ToolOutput, st.just(1), st.sampled_from("ab"), st.text(max_size=4)),
        st.just(NOTICE),
    ),
    max_size=30,
)


def joined(events: list[Event]) -> list[Event]:
    """Join neighbouring events that are chunks of the same text."""
    log = log_of(*events, kept=10**9)
    return [one.event for one in log.after(0).events]


@given(event_lists, st.data())
def test_seen_and_missed_events_together_are_complete(events, data) -> None:
    seen = data.draw(st.integers(0, len(events)))
    missed = log_of(*events, kept=10**9).after(seen)
    assert (missed.is_complete, missed.next) == (True, len(events))
    assert [one.event for one in missed.events] == joined(events[seen:])


@given(event_lists, st.integers(200, 900))
def test_a_small_event_log_keeps_exactly_the_newest_events(events, kept) -> None:
    log = log_of(*events, kept=kept)
    found = [one.event for one in log.after(0).events]
    assert found == joined(events)[len(joined(events)) - len(found) :]
    assert log.after(0).is_complete == (len(found) == len(joined(events)))
