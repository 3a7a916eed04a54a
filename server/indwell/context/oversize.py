"""A single text too large for the window goes to a file; the message says where (H12)."""

from __future__ import annotations

from indwell.context.tokens import estimate_tokens

SHARE = 4  # a text may take one part in four of the window
_SHOWN = 1_500  # characters of head and of tail that stay in the message


def is_oversize(text: str, window: int) -> bool:
    """Would this one text take more than a quarter of ``window`` tokens?"""
    # Cheap first: no character costs more than three tokens.
    return len(text) * 3 > window // SHARE and estimate_tokens(text) > window // SHARE


def oversize_words(text: str, path: str) -> str:
    """What stands in the message instead: head, tail, where all of it is, and how long it is."""
    lines = text.count("\n") + 1
    return (
        f"{text[:_SHOWN]}\n[… this text is too long for one message: {len(text):,} characters in "
        f"{lines:,} lines; all of it is in {path}, and read_file reads it in pieces …]\n"
        f"{text[-_SHOWN:]}"
    )
