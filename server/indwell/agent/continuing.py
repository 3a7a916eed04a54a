"""Continuing a turn that Indwell's own end stopped: a prompt of its own, which repeats nothing."""

from __future__ import annotations

CONTINUE = "/continue"
NOTHING = "there is no conversation yet to continue"
_WORDS = (
    "Continue from where you stopped: Indwell ended while the turn before ran. Nothing was run "
    "again since. Look at what is done already before you repeat any of it."
)


def is_continue(words: str) -> bool:
    """Do these words ask to continue, and for nothing else?"""
    return len(words) < 3 * len(CONTINUE) and words.strip().lower() == CONTINUE


def told_words(words: str) -> str:
    """What the model reads of the user's words."""
    return _WORDS if is_continue(words) else words
