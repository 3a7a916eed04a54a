"""Answers are limited in size, whatever a session contains."""

from __future__ import annotations

import pytest

from indwell.lsp.messages.answers import PAGE_CHARACTERS, TEXT_CHARACTERS, page_size, session_result
from indwell.messages import Message, Meta, Text
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import MessageRecord, Record, SessionStarted, TurnStartRecord

META = Meta(tier=3, source="assistant", tokens=1)


def log_of(*texts: str) -> LogReading:
    """Create the log of a session with one turn for each answer."""
    records: list[Record] = [SessionStarted("s1", "/work", "small", "now")]
    for turn, text in enumerate(texts, start=1):
        records.append(TurnStartRecord(turn, "go", "now"))
        records.append(MessageRecord(Message("assistant", (Text(text, META),), turn), "now"))
    return LogReading(tuple(records), ())


@pytest.mark.parametrize(
    ("before", "limit", "turns", "more"),
    [
        (None, 20, [1, 2, 3, 4], False),
        (None, 2, [3, 4], True),
        (3, 20, [1, 2], False),
        (3, 1, [2], True),
        (1, 20, [], False),
        (None, 0, [4], True),
        (None, -7, [4], True),
        (99, 10**9, [1, 2, 3, 4], False),
    ],
)
def test_a_page_of_turns_has_the_expected_content(before, limit, turns, more) -> None:
    page = session_result("s1", log_of("a", "b", "c", "d"), before=before, limit=limit)
    assert ([one.turn for one in page.turns], page.more, page.total) == (turns, more, 4)


def test_a_long_text_is_cut_and_the_rest_is_counted() -> None:
    (turn,) = session_result("s1", log_of("x" * 50_000), before=None, limit=1).turns
    assert (len(turn.events[-1]["text"]), turn.cut) == (TEXT_CHARACTERS, 50_000 - TEXT_CHARACTERS)


def test_a_page_holds_as_many_turns_as_one_message_should() -> None:
    n_fitting = PAGE_CHARACTERS // (TEXT_CHARACTERS + 200)
    reading = log_of(*["x" * TEXT_CHARACTERS] * 90)
    page = session_result("s1", reading, before=None, limit=90)
    assert (page.turns[0].turn, page.more) == (91 - n_fitting, True)


def test_a_page_of_turns_is_limited_in_size() -> None:
    assert [page_size(one) for one in (-1, 0, 1, 20, 10**12)] == [1, 1, 1, 20, 100]
