"""When the messages of a foreign recording were made, if its entries say so. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise

from indwell.messages import Message

_NAMES = ("timestamp", "created_at", "time", "ts")
_MILLISECONDS = 1e11  # a number of seconds this large is the year 5138
_SIDES = {"user": "user", "tool": "user", "assistant": "assistant"}


def times_of(entries: Sequence[object], messages: Sequence[Message]) -> tuple[float, ...]:
    """For each of ``messages`` when it was made, in seconds; empty if that cannot be said of all.

    Args:
        entries: Of the record, as they stand there.
        messages: What was made of them: entries of one side that follow each other are one, and
            its time is that of the last of them.
    """
    told = [
        (side, _seconds(entry))
        for entry in entries
        if isinstance(entry, Mapping) and (side := _SIDES.get(str(entry.get("role"))))
    ]
    runs = [(side, [at for _, at in run]) for side, run in groupby(told, key=lambda one: one[0])]
    if [side for side, _ in runs] != [message.role for message in messages]:
        return ()
    times = [at[-1] for _, at in runs]
    known = [at for at in times if at is not None]
    is_ascending = all(one <= other for one, other in pairwise(known))
    return tuple(known) if len(known) == len(times) and is_ascending else ()


def _seconds(entry: Mapping[object, object]) -> float | None:
    """Since 1970, of a number of seconds or milliseconds, or of an ISO 8601 time."""
    given = next((entry[name] for name in _NAMES if entry.get(name) is not None), None)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given / 1_000 if given > _MILLISECONDS else float(given)
    if not isinstance(given, str):
        return None
    try:
        return datetime.fromisoformat(given).timestamp()
    except (ValueError, OverflowError):
        return None
