"""The words that tell the model how a file it knows has changed (editor §4). Pure."""

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
        became: What happened to the file.
        edited: Whether the model had changed the file; otherwise it had only read it.
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
        diff: The part of the rejected changes that is shown, as the model made them.
        n_rejected: Number of rejected changes.
        n_accepted: Number of accepted changes of this file.
        is_gone: Whether the file no longer exists.
        is_sure: Whether the file reads as it would without the rejected changes; otherwise
            somebody has changed those places since.
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
    """What follows ``verdict_words`` if the file has other changes that the model does not know.

    Args:
        diff: The part of the difference that is shown, from the text the model knew to the current
            one; may be empty.
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
