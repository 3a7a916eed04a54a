"""Session ids: a time and random digits, sortable, and safe as a file name (H60).

Pure: callers pass in the time and the random bytes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from indwell.errors import UnknownSession
from indwell.lazy_pattern import lazy_pattern

# The pattern excludes dots, slashes and a leading dash.
_ID = lazy_pattern(r"[0-9a-z](?:[0-9a-z-]{0,62}[0-9a-z])?")
_TIME = lazy_pattern(r"(\d{8}-\d{6})-(\d{3})-", re.ASCII)
_SHOWN = 60  # The error message repeats at most 60 characters of an invalid id.

RANDOM_B = 6  # With 6 bytes, two sessions of one millisecond get the same id once in 2.8e14 times.


def new_id(now: datetime, random_bytes: bytes) -> str:
    """Build an id such as ``20261121-034012-123-9f3a1c7e2b4d``; ids sort by time.

    Args:
        now: The time, with a time zone; the id has this time in UTC, to the millisecond.
        random_bytes: Random bytes; ``RANDOM_B`` are enough.
    """
    assert now.tzinfo is not None, "a session's time needs a time zone"
    utc = now.astimezone(UTC)
    date = f"{utc.year:04}{utc.month:02}{utc.day:02}"
    time = f"{utc.hour:02}{utc.minute:02}{utc.second:02}-{utc.microsecond // 1_000:03}"
    return f"{date}-{time}-{random_bytes.hex()}"


def time_after(newest: str, now: datetime) -> datetime:
    """Return ``now``, or 1 ms after session ``newest`` if the clock has been set back.

    The returned time keeps sessions sorted by their start.
    """
    before = began(newest)
    try:
        return now if before is None else max(now, before + timedelta(milliseconds=1))
    except OverflowError:
        return now


def began(session: str) -> datetime | None:
    """Return the time at which a session began, from its id, or None if the id has no time."""
    match = _TIME.match(session)
    if match is None:
        return None
    try:
        second = datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return second + timedelta(milliseconds=int(match[2]))


def closest(given: str, known: Sequence[str]) -> str:
    """Return the known id most like ``given``, or an empty text if no id is similar."""
    shown = given[:_SHOWN]
    near = difflib.get_close_matches(shown, known, n=1, cutoff=0.6)
    return next(iter(near), "") or next((one for one in known if one.startswith(shown)), "")


def check_id(text: str) -> str:
    """Return ``text`` if it is a valid session id.

    Raises:
        UnknownSession: The id has characters other than digits, small letters and inner dashes, or
            is longer than 64 characters.
    """
    if not is_id(text):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise UnknownSession(
            f"{shown!r} is not a session id (digits, small letters and dashes); `indwell "
            "sessions` lists those of this workspace"
        )
    return text


def is_id(text: str) -> bool:
    """Return whether ``text`` is a valid session id."""
    return _ID.fullmatch(text) is not None
