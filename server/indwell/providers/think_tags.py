"""Reasoning that stands in the words, between ``<think>`` and ``</think>``; pure.

Local servers send it so when they do not know the model's template. Only the very beginning of a
reply counts: tags later on are words about tags.
"""

from __future__ import annotations

from typing import Literal

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkTags:
    """Takes the words of one reply, piece by piece, and tells reasoning from words."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "gap", "words"] = "start"
        self._held = ""

    def feed(self, piece: str) -> tuple[str, str]:
        """Reasoning and words that this piece brings; what may be half a tag is held back."""
        if self._state == "words":
            return "", piece
        self._held += piece
        thinking = ""
        if self._state == "start":
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._held, self._state = begun[len(_OPEN) :].lstrip("\n"), "thinking"
            elif _OPEN.startswith(begun):
                return "", ""
            else:
                self._state = "words"
        if self._state == "thinking":
            thinking, close, rest = self._held.partition(_CLOSE)
            if close:
                self._held, self._state = rest, "gap"
            else:
                n_held = _half_tag(thinking)
                self._held = thinking[len(thinking) - n_held :]
                return thinking[: len(thinking) - n_held], ""
        if self._state == "gap":
            self._held = self._held.lstrip()
            if not self._held:
                return thinking, ""
            self._state = "words"
        words, self._held = self._held, ""
        return thinking, words

    def close(self) -> tuple[str, str]:
        """What was held back, now that no more comes."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinking" else ("", held)


def _half_tag(text: str) -> int:
    """How many characters at the end may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(text[-n:])), 0)
