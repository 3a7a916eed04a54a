"""Reminders about the surroundings: date, folder, branch, model, time passed, rounds used (H13)."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from indwell.lazy_pattern import lazy_pattern

_BRANCH = lazy_pattern(r"[\w./+@#-]{1,120}")  # a branch name must not read as a sentence

LEAST = timedelta(hours=1)  # a shorter pause changes nothing for the work
_DAY, _WEEK = timedelta(days=1), timedelta(weeks=1)
_FEW_DAYS = 14  # from so many days on, weeks say more


class Surroundings(msgspec.Struct, frozen=True):
    """The current surroundings; ``date`` is ISO 8601, ``branch`` is empty outside a repository."""

    date: str
    folder: str
    branch: str
    model: str


def surroundings_words(now: Surroundings) -> str:
    """The body of the reminder; the same facts give the same bytes, so it is sent only once."""
    parts = [f"Today is {now.date}.", f"The workspace is {now.folder!r}."]
    if _BRANCH.fullmatch(now.branch):
        parts.append(f"The git branch is {now.branch!r}.")
    elif now.branch:
        parts.append("The git branch has an odd name.")
    parts.append(f"The model is {now.model}.")
    return " ".join(parts)


def round_limit_words(limit: int) -> str:
    """The request for closing words when a turn has used all its rounds (H64)."""
    return (
        f"This turn has used its {limit} rounds, so no tool can be called now. Say in a few "
        "sentences what is done, what is left, and what to do next; the user can let you go on."
    )


def repetition_words(name: str, times: int) -> str:
    """The hint after the same call was made ``times`` times in a row (H64).

    ``name`` is the name of an existing tool. It is empty for any other name, because a name that
    the model made up may be any text.
    """
    what = f"{name} was called" if name else "This call was made"
    return (
        f"{what} {times} times in a row with the same arguments, with the same outcome "
        "to expect. Try something else, or say what stands in the way."
    )


def elapsed_words(before: datetime | None, now: datetime) -> str:
    """The body of the reminder; empty after a short pause, or if a clock was set back.

    Args:
        before: Time of the model's last answer; None before the first.
        now: Time of the user's next words. Both times have a time zone.
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
