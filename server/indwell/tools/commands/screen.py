"""Computes what a terminal would show of an output, piece by piece."""

from __future__ import annotations

import re

from indwell.tools.truncate import plain, without_escapes

_HELD = 1_000  # characters of an escape that has not ended; what is longer says nothing more
_UNFINISHED = re.compile(r"\x1b(?:\][^\x07\x1b]*|[P^_X][^\x1b]*|\[[0-?]*[ -/]*|[ -/]*)\Z")


class Screen:
    """What ``plain`` makes of a whole text, from any pieces of it.

    A regular expression over megabytes keeps every other thread waiting, the editor's among them.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._line = 0  # the part with which the last line begins
        self._held = ""

    def feed(self, text: str) -> None:
        """Take a piece."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        stop = unfinished.start() if unfinished else len(text)
        done = without_escapes(text[:stop])
        shown = done.rstrip("\r")  # whether they end the line or begin it anew is not known yet
        self._held = done[len(shown) :] + text[stop:][:_HELD]
        self._show(shown.replace("\r\n", "\n"))

    def finish(self) -> str:
        """The whole."""
        text = without_escapes(self._held).rstrip("\r")
        self._held = ""
        self._show(text)
        whole = "".join(self._parts)
        self._parts.clear()
        return whole

    def _show(self, text: str) -> None:
        """Add text without escapes, and with no carriage return at its end."""
        first, end, rest = text.partition("\n")
        first = first.rstrip("\r")
        if "\r" in first:  # it goes over what stood in this line
            del self._parts[self._line :]
        self._parts.append(plain(first) + end)
        if end:
            lines, end, last = rest.rpartition("\n")
            self._parts.append(plain(lines) + end)
            self._line = len(self._parts)
            self._parts.append(plain(last))
