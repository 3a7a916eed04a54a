from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from indwell.prompt.reminders import elapsed_words
from support.doc_examples import examples

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "about"),
    [
        (timedelta(hours=1), "1 hour has"),
        (timedelta(hours=1, minutes=40), "2 hours have"),
        (timedelta(hours=47), "47 hours have"),
        (timedelta(days=2, hours=1), "2 days have"),
        (timedelta(days=13), "13 days have"),
        (timedelta(days=15), "2 weeks have"),
        (timedelta(days=400), "57 weeks have"),
    ],
)
def test_a_long_time_is_reported_in_round_numbers(passed: timedelta, about: str) -> None:
    assert elapsed_words(NOW - passed, NOW).startswith(
        f"About {about} passed since the last answer."
    )


@pytest.mark.parametrize(
    "before",
    [
        None,
        NOW,
        NOW - timedelta(minutes=59, seconds=59),
        NOW + timedelta(days=3),
        NOW.astimezone(timezone(timedelta(hours=-7))),
    ],
    ids=["never", "now", "just under an hour", "a clock set back", "another zone"],
)
def test_a_short_pause_is_not_reported(before: datetime | None) -> None:
    assert elapsed_words(before, NOW) == ""


def test_the_documented_elapsed_time_equals_the_sent_text() -> None:
    (example,) = examples("time.md", "text")
    assert example.text == elapsed_words(NOW - timedelta(hours=3), NOW) + "\n"
