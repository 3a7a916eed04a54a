"""The times of the messages in a recording."""

from __future__ import annotations

from typing import Any

import pytest

from indwell.sessions.imports import recorded

CALL = [{"id": "c1", "function": {"name": "Read", "arguments": "{}"}}]


def session(*times: object, name: str = "timestamp") -> tuple[float, ...]:
    """Return the times of a prompt, a call, a result with a prompt after it, and a reply."""
    entries: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": CALL},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "done"},
    ]
    for entry, at in zip(entries, times, strict=False):
        entry[name] = at
    one = recorded({"messages": [{"role": "system", "content": "x", name: 1}, *entries]})
    assert len(one.messages) == 4
    return one.times_s


def test_consecutive_messages_of_one_role_have_the_time_of_the_last_message() -> None:
    assert session(10, 11.5, 12, 13, 14) == (10, 11.5, 13, 14)


@pytest.mark.parametrize("name", ["timestamp", "created_at", "time", "ts"])
def test_seconds_milliseconds_and_iso_times_are_understood(name: str) -> None:
    ms = [1_700_000_000_000 + 1_000 * at for at in range(5)]
    iso = [f"2023-11-14T22:13:{20 + at}Z" for at in range(5)]
    expected = (1_700_000_000.0, 1_700_000_001.0, 1_700_000_003.0, 1_700_000_004.0)
    assert session(*ms, name=name) == session(*iso, name=name) == expected


@pytest.mark.parametrize(
    "times",
    [(), (1, 2, 3), (1, 2, 3, "soon", 5), (5, 4, 3, 2, 1), (1, 2, 3, True, 5), (1, 2, 3, [], 5)],
)
def test_missing_or_unordered_times_are_ignored(times: tuple[object, ...]) -> None:
    assert session(*times) == ()


def test_repaired_messages_have_no_times() -> None:
    entries = [{"role": "assistant", "content": "hello", "timestamp": 1}]
    one = recorded({"messages": entries})
    assert (len(one.messages), one.times_s) == (2, ())
