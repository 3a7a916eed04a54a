"""The words for what became of a file that the model knows (editor §4). Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
        became: What happened.
        edited: The model had changed the file; else it had only read it.
        diff: From what the model knew to what stands there, as far as it is shown; or nothing.
            Of an unreadable file, why it is so.
        is_whole: Nothing of the difference is left out, so the model knows the file again.
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
    """What the user said of the model's changes of a file.

    Args:
        diff: Those that were taken back, as they were made, as far as they are shown.
        n_rejected: How many these are.
        n_accepted: How many others of this file the user accepted.
        is_gone: The file is not there any more.
        is_sure: The file reads as it does without them; else somebody has changed it there since.
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
    """Follows ``verdict_words`` where the file differs otherwise, too, from what the model knows.

    Args:
        diff: From what it knew to what stands there, as far as it is shown; or nothing.
        is_whole: That is all of it.
    """
    sentence = "Besides, this file was changed by a sub-agent, the user or another program"
    if is_whole:
        return f"{sentence}. All that differs from what you know:\n{diff.rstrip()}"
    begins = f" The difference begins:\n{diff.rstrip()}" if diff else ""
    return f"{sentence}. Before you edit it or rely on it, read_file it.{begins}"


def more_changed_words(n_more: int) -> str:
    """Closes a list that is too long to be told."""
    return (
        f"{n_more} more files that you know were changed, by a command, a sub-agent, the user or "
        "another program. Read what you need again."
    )
