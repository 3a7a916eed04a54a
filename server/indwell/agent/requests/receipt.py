"""What a turn took, in a few words for people. Pure."""

from __future__ import annotations

from indwell.messages import Usage


def usage_words(usage: Usage) -> str:
    """Tokens in, cached and out; marked where the endpoint counted nothing."""
    estimated = "" if usage.reported else ", estimated"
    return f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out{estimated}"


def compaction_words(before: int, after: int, note: str) -> str:
    """What compaction has done."""
    more = f"; {note}" if note else ""
    return f"earlier parts were shortened: {before:,} → {after:,} tokens{more}"


def to_review_words(number: int) -> str:
    """How many changes wait for a verdict."""
    return "1 change to review" if number == 1 else f"{number:,} changes to review"
