"""Reasoning that stands in the words, between ``<think>`` and ``</think>``; pure.

Local servers send it so when they do not know the model's template. Only the very beginning of a
reply counts: tags later on are words about tags.
"""

from __future__ import annotations

from typing import Literal

from indwell.providers.growing_text import GrowingText

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkTags:
    """Takes the words of one reply, piece by piece, and tells reasoning from words."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "gap", "words"] = "start"
        self._held = ""
        self._blanks = GrowingText()  # before the first word or tag

    def feed(self, piece: str) -> tuple[str, str]:
        """Reasoning and words that this piece brings; what may be half a tag is held back."""
        if self._state == "words":
            return "", piece
        thinking = ""
        if self._state == "start":
            if not self._held:  # what is blank is looked at once only
                begun = piece.lstrip()
                self._blanks.add(piece[: len(piece) - len(begun)])
                piece = begun
            self._held += piece
            if self._held.startswith(_OPEN):
                self._held, self._state = self._held[len(_OPEN) :].lstrip("\n"), "thinking"
            elif _OPEN.startswith(self._held):
                return "", ""
            else:
                self._held, self._state = self._before(), "words"
        else:
            self._held += piece
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
        if self._state == "start":
            self._held = self._before()
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinking" else ("", held)

    def _before(self) -> str:
        """What is held with the blanks before it: no tag came, so they are words."""
        return self._blanks.joined + self._held


def _half_tag(text: str) -> int:
    """How many characters at the end may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(text[-n:])), 0)
