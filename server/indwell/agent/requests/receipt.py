"""The receipt of a turn in a few words: tokens, compaction, changes to review. Pure."""

from __future__ import annotations

from indwell.messages import Usage


def usage_words(usage: Usage) -> str:
    """Input, cached and output tokens; marked as estimated if the endpoint did not count."""
    estimated = "" if usage.reported else ", estimated"
    return f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out{estimated}"


def compaction_words(before: int, after: int, note: str) -> str:
    """What a compaction did."""
    more = f"; {note}" if note else ""
    return f"earlier parts were shortened: {before:,} → {after:,} tokens{more}"


def to_review_words(number: int) -> str:
    """How many changes await review."""
    return "1 change to review" if number == 1 else f"{number:,} changes to review"
