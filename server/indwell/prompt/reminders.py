"""Texts of reminders for the model: surroundings, time, limits, changed files, AGENTS.md. Pure.

The AGENTS.md of a trusted folder reaches the model as bounded data (H13).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.prompt.instruction_files import FILE_NAME

# The pattern matches no sentence, because the model reads the branch's name.
_BRANCH = lazy_pattern(r"[\w./+@#-]{1,120}")

LEAST = timedelta(hours=1)  # The model is not told about shorter pauses.
_DAY, _WEEK = timedelta(days=1), timedelta(weeks=1)
_FEW_DAYS = 14  # The reminder gives longer pauses in weeks.


class Surroundings(msgspec.Struct, frozen=True):
    """The current surroundings. ``date`` is ISO 8601; ``branch`` is empty outside git."""

    date: str
    folder: str
    branch: str
    model: str


def surroundings_words(now: Surroundings) -> str:
    """The body of the reminder. Equal surroundings give equal bytes, which are not sent again."""
    parts = [f"Today is {now.date}.", f"The workspace is {now.folder!r}."]
    if _BRANCH.fullmatch(now.branch):
        parts.append(f"The git branch is {now.branch!r}.")
    elif now.branch:
        parts.append("The git branch has an odd name.")
    parts.append(f"The model is {now.model}.")
    return " ".join(parts)


def round_limit_words(limit: int) -> str:
    """The request for a closing message when a turn has used all its rounds (H64)."""
    return (
        f"This turn has used its {limit} rounds, so no tool can be called now. Say in a few "
        "sentences what is done, what is left, and what to do next; the user can let you go on."
    )


def repetition_words(name: str, times: int) -> str:
    """The hint after the same call was made ``times`` times in a row (H64).

    ``name`` is the name of an existing tool. ``name`` is empty for any other name, because a name
    that the model invented may be any text.
    """
    what = f"{name} was called" if name else "This call was made"
    return (
        f"{what} {times} times in a row with the same arguments, with the same outcome "
        "to expect. Try something else, or say what stands in the way."
    )


def call_format_words() -> str:
    """The request to use real tool calls, after a reply with a call as text."""
    return (
        "Your last reply holds a tool call as text, so nothing was run. Call the tool itself. If "
        "you can only write calls as text, reply with the call and no other words: "
        '{"name": "read_file", "arguments": {"path": "..."}}'
    )


def elapsed_words(before: datetime | None, now: datetime) -> str:
    """The body of the reminder, or empty after a short pause, or if a clock was set back.

    Args:
        before: Time of the model's last answer, or None before the first.
        now: Time of the user's next message. Both times have a time zone.
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


Became: TypeAlias = Literal["undone", "reformatted", "changed", "late", "unreadable", "gone"]

_EDITED: dict[Became, str] = {
    "undone": "Your edit of this file was undone: it reads as it did before. Do not repeat the "
    "edit unless the user asks for it.",
    "reformatted": "This file was reformatted after your edit; only white space and line breaks "
    "differ. Keep that layout.",
    "changed": "This file was changed after your edit: by a command, a sub-agent, the user or "
    "another program. What you did not do yourself, keep.",
    "late": "The editor has applied your edit of this file after all, later than it was waited "
    "for. Do not repeat the edit.",
    "unreadable": "This file, which you edited, was changed and cannot be read as before: ",
    "gone": "This file, which you edited, is gone: it was deleted or renamed.",
}
_READ: dict[Became, str] = {
    "late": _EDITED["late"],
    "undone": "This file was changed since you read it.",
    "reformatted": "This file was reformatted since you read it; only white space and line breaks "
    "differ.",
    "changed": "This file was changed since you read it: by a command, a sub-agent, the user or "
    "another program.",
    "unreadable": "This file, which you have read, was changed and cannot be read as before: ",
    "gone": "This file, which you have read, is gone: it was deleted or renamed.",
}


def aftermath_words(became: Became, *, edited: bool, diff: str, is_whole: bool) -> str:
    """The body of a ``changed-file`` block.

    Args:
        became: What has happened to the file.
        edited: Whether the model had changed the file; otherwise the model had only read the file.
        diff: The part of the difference that is shown, from the text the model knew to the current
            one; may be empty. For an unreadable file, the reason.
        is_whole: Whether ``diff`` is the whole difference, so that the model knows the file again.
    """
    sentence = (_EDITED if edited else _READ)[became]
    if became == "gone":
        return sentence
    if became == "unreadable":
        return f"{sentence}{diff}"
    if is_whole:
        return f"{sentence} The difference:\n{diff}".rstrip()
    begins = f" The difference begins:\n{diff}" if diff else ""
    return f"{sentence} Before you edit it or rely on it, read_file it.{begins}".rstrip()


def verdict_words(
    diff: str, *, n_rejected: int, n_accepted: int, is_gone: bool, is_sure: bool = True
) -> str:
    """The user's verdict on the model's changes of a file.

    Args:
        diff: The shown part of the rejected changes, as a diff of the model's edits.
        n_rejected: Number of rejected changes.
        n_accepted: Number of accepted changes of this file.
        is_gone: Whether the file no longer exists.
        is_sure: Whether the file's text shows that the rejected changes are gone. Otherwise the
            same lines have changed again.
    """
    them = "this change" if n_rejected == 1 else "these changes"
    it = "it" if n_rejected == 1 else "them"
    is_, was = ("is", "was") if n_rejected == 1 else ("are", "were")
    back = (
        f"{is_} taken back"
        if is_sure
        else f"{was} taken back; the file was changed there since, so look at what it reads now"
    )
    words = (
        f"The user rejected {them} of yours, which {back}. Do not make {it} again unless "
        f"the user asks for it:\n{diff.rstrip()}"
    )
    if n_accepted:
        others = "another one" if n_accepted == 1 else f"{n_accepted} others"
        words += f"\nThe user accepted {others} of this file."
    return f"{words}\nThe file is gone with that." if is_gone else words


def beyond_verdict_words(diff: str, *, is_whole: bool) -> str:
    """Return the text after ``verdict_words`` if the file has other changes unknown to the model.

    Args:
        diff: The shown part of the diff between the text that the model knew and the current text;
            may be empty.
        is_whole: Whether ``diff`` is the whole difference.
    """
    sentence = "Besides, this file was changed by a sub-agent, the user or another program"
    if is_whole:
        return f"{sentence}. All that differs from what you know:\n{diff.rstrip()}"
    begins = f" The difference begins:\n{diff.rstrip()}" if diff else ""
    return f"{sentence}. Before you edit it or rely on it, read_file it.{begins}"


def more_changed_words(n_more: int) -> str:
    """The end of a list of changed files that is too long to be sent whole."""
    return (
        f"{n_more} more files that you know were changed, by a command, a sub-agent, the user or "
        "another program. Read what you need again."
    )


# The unit is characters; 16,000 are about 4,700 tokens, and read_file shows the rest.
LIMIT = 16_000


def instruction_words(
    text: str,
    *,
    folder: str = "",
    limit: int = LIMIT,
    name: str = FILE_NAME,
    globs: tuple[str, ...] = (),
) -> str:
    """The body of ``<project-instructions>``.

    Args:
        text: The text of the file.
        folder: The displayed folder that the file applies to, or empty for the project.
        limit: Most characters of the text that are sent.
        name: The path of the file in the folder.
        globs: Patterns of the files that the text applies to, or empty for all files.
    """
    path = f"{folder}/{name}" if folder else name
    whose = "of this project"
    if folder:
        whose = f"of the folder {folder!r}, which counts for what lies in it, before those above it"
    if globs:
        whose = f"{whose}, for files that match {', '.join(globs)}"
    if len(text) <= limit:
        return f"{name} {whose}:\n{text}"
    return (
        f"{name} {whose}, its first {limit:,} of {len(text):,} characters "
        f"(read_file {path} for the rest):\n{text[:limit]}"
    )


def no_room_words(name: str) -> str:
    """The note in place of a file that does not fit into the limit on instructions."""
    return f"{name} is not told here for want of room; read_file it before you work in its folder."


def gone_words(name: str) -> str:
    """The note that withdraws instructions that the model got earlier."""
    return f"{name} does not count any more: it was deleted, or the user has not trusted it so."
