"""Wildcards matched without going back and forth: no hostile text makes it take long."""

from __future__ import annotations

from collections.abc import Sequence


def matches(pattern: str, text: str, *, many: str = "*", one: str = "?") -> bool:
    """Does a whole text match a pattern?

    Args:
        pattern: The pattern.
        text: The text.
        many: The characters of the pattern that stand for anything, or nothing.
        one: Those that stand for one character.
    """
    at = begin = 0
    star = -1
    while begin < len(text):
        if at < len(pattern) and pattern[at] in many:
            star, held = at, begin
            at += 1
        elif at < len(pattern) and (pattern[at] == text[begin] or pattern[at] in one):
            at += 1
            begin += 1
        elif star >= 0:  # the last `*` takes one character more
            held += 1
            at, begin = star + 1, held
        else:
            return False
    return all(rest in many for rest in pattern[at:])


def covers(patterns: Sequence[str], words: Sequence[str]) -> bool:
    """Do patterns for words match words? A ``*`` alone stands for one word or more.

    Within a word, a wildcard does not reach into the next.
    """
    at = begin = 0
    star = -1
    while begin < len(words):
        if at < len(patterns) and patterns[at] and not patterns[at].strip("*"):
            star, held = at, begin
            at += 1
            begin += 1
        elif at < len(patterns) and matches(patterns[at], words[begin]):
            at += 1
            begin += 1
        elif star >= 0:
            held += 1
            at, begin = star + 1, held + 1
        else:
            return False
    return at == len(patterns)
