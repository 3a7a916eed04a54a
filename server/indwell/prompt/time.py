"""The words for how much time has passed: from an hour on, or on another day. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

LEAST = timedelta(hours=1)  # less than that changes nothing for the work
_DAY, _WEEK = timedelta(days=1), timedelta(weeks=1)
_FEW_DAYS = 14  # from so many on, weeks say more


def elapsed_words(before: datetime | None, now: datetime) -> str:
    """The body of the reminder; empty if too little time has passed, or a clock was set back.

    Args:
        before: When the model answered last; None if it never did.
        now: When the user speaks again; both know their time zones.
    """
    if before is None or now - before < LEAST:
        return ""
    return (
        f"About {_about(now - before)} have passed since the last answer. Files, branches and what "
        "runs may be others by now: look again before you rely on them."
    ).replace("1 hour have", "1 hour has")


def _about(passed: timedelta) -> str:
    if passed < _DAY * 2:
        hours = round(passed / LEAST)
        return "1 hour" if hours == 1 else f"{hours} hours"
    days = round(passed / _DAY)
    return f"{days} days" if days < _FEW_DAYS else f"{round(passed / _WEEK)} weeks"
