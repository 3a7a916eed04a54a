from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import SessionError
from indwell.sessions.ids import check_id, is_id, new_id

moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9.5))]))
randoms = st.binary(min_size=6, max_size=6)


def test_an_id_contains_the_start_time_of_the_session() -> None:
    now = datetime(2026, 11, 21, 5, 40, 12, 123_999, tzinfo=timezone(timedelta(hours=2)))
    assert new_id(now, bytes.fromhex("9f3a1c7e2b4d")) == "20261121-034012-123-9f3a1c7e2b4d"


@given(moments, moments, randoms, randoms)
def test_the_id_of_a_later_session_sorts_after_an_earlier_id(
    one: datetime, other: datetime, a: bytes, b: bytes
) -> None:
    earlier, later = sorted([one, other])
    if later - earlier >= timedelta(milliseconds=1):
        assert new_id(earlier, a) < new_id(later, b)


@given(moments, randoms)
def test_every_new_id_passes_the_check(now: datetime, random_bytes: bytes) -> None:
    made = new_id(now, random_bytes)
    assert check_id(made) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "../x",
        "a/../b",
        "a/b",
        "a\\b",
        "/etc",
        "c:x",
        "a.b",
        "A",
        "a\n",
        "a\x00",
        " a",
        "-rf",
        "a-",
        "é",
        "٣",  # an Arabic digit, which is not allowed
        "ａ",  # noqa: RUF001 -- a full-width letter is the point
        "\ud800",
        "a" * 65,
    ],
)
def test_a_name_that_leaves_the_folder_or_is_hidden_is_not_a_session_id(text: str) -> None:
    with pytest.raises(SessionError, match="is not a session id"):
        check_id(text)


@given(st.text() | st.text("abz019-./\\~%: \x00\n"))
def test_every_valid_id_names_one_entry_of_the_folder(text: str) -> None:
    if is_id(text):
        assert re.fullmatch(r"[0-9a-z-]{1,64}", text, re.ASCII)
        state = Path("/state").resolve()  # has a drive on Windows
        assert (state / text / "log.jsonl").resolve().parent.parent == state


def test_an_invalid_id_is_shown_shortened_and_escaped() -> None:
    with pytest.raises(SessionError) as caught:
        check_id("\x1b[31m" + "x" * 10_000)
    assert str(caught.value) == (
        "'\\x1b[31m" + "x" * 55 + "…' is not a session id (digits, small letters and dashes); "
        "`indwell sessions` lists those of this workspace"
    )
