"""Keeps the newest lines about one MCP server in memory: its output, and what Indwell did.

A line is kept as it came. Secrets are hidden and control characters made visible when somebody
reads the log, so that a server that writes much costs little. Nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from indwell.context.untrusted_text import short_line, visible
from indwell.lazy_pattern import lazy_pattern
from indwell.secrets import Hider

# the limits of lines and of characters for a reader
MOST_LINES, MOST_CHARACTERS = 1_000, 64 << 10
# Older lines are kept, but not shown: a private key of 20,000 characters may begin in them.
_MARGIN_LINES, _MARGIN_CHARACTERS = 400, 32 << 10
_LINE_B = 4_000  # the limit of bytes for one line
_SECRET_CHARACTERS = 1_000  # A cut line loses so many characters, because a secret may be cut.
_COPIED_LINES = 200  # the limit of lines that are copied to Indwell's log after each start
_COPIED_CHARACTERS = 400  # the limit of characters for one copied line
_COLOUR = lazy_pattern(r"\x1b\[[0-9;]*m")
_BETWEEN = "\n\0\n"  # separates lines that are only kept from shown lines; no line contains NUL

Source: TypeAlias = Literal["indwell", "stderr", "stdout", "log"]
"""Who wrote a line; ``log`` is a log message by the protocol."""

_log = logging.getLogger(__name__)


class _Line(NamedTuple):
    at: datetime  # local time
    source: Source
    text: str
    n_left_out: int


def _now() -> datetime:
    return datetime.now().astimezone()


class ServerLog:
    """The log of one server, over all its starts.

    Args:
        name: The server's name.
        hide: Replaces secrets in a text.
    """

    def __init__(self, name: str, hide: Callable[[str], str]) -> None:
        self._name = name
        self._hide = hide
        self._own: frozenset[str] = frozenset()
        self._own_hider = Hider(knows_forms=False)
        self._lines: deque[_Line] = deque()
        self._n_characters = 0
        self._has_dropped = False
        self._rest = bytearray()  # the beginning of a line of standard error without its end
        self._n_unkept = 0
        self._last = b""
        self._n_copied = 0

    def also_hide(self, secrets: Iterable[str]) -> None:
        """Hide values that the server was started with, too, from now on."""
        found = self._own.union(secrets)
        if found != self._own:
            self._own, self._own_hider = found, Hider(own=found, knows_forms=False)

    def note(self, words: str) -> None:
        """Add a line about what Indwell did or noticed."""
        self._add("indwell", words)

    def received(self, level: str, words: str) -> None:
        """Add a log message that the server sent by the protocol."""
        self._add("log", f"{level}: {words}")

    def stray(self, line: bytes) -> None:
        """Add a line of standard output that is not a message of the protocol."""
        self._add_bytes("stdout", line)

    def begin(self) -> None:
        """Begin the output of a newly started program."""
        self._n_copied, self._last = 0, b""

    def take(self, data: bytes) -> None:
        """Add bytes of standard error; the function is quick for any bytes."""
        first, newline, more = data.partition(b"\n")
        self._extend(first)
        if not newline:
            return
        self.end()
        *whole, rest = more.split(b"\n")
        for line in whole[: max(_COPIED_LINES + 1 - self._n_copied, 0)]:
            self._copy(line)
        n_over = len(whole) - MOST_LINES - _MARGIN_LINES
        self._has_dropped |= n_over > 0
        for line in whole[max(n_over, 0) :]:
            self._add_bytes("stderr", line)
        self._last = next((line for line in reversed(whole) if line.strip()), self._last)
        self._extend(rest)

    def end(self) -> None:
        """Complete the last line of standard error, because the line or the output has ended."""
        line, n_unkept = bytes(self._rest), self._n_unkept
        self._rest.clear()
        self._n_unkept = 0
        if line.strip():
            self._copy(line)
            self._add_bytes("stderr", line, n_unkept)
            self._last = line

    @property
    def last_words(self) -> str:
        """Return the last line of standard error as the end of a sentence; empty without one."""
        words = self._hidden(self._last[:_LINE_B].decode("utf-8", "replace"))
        last = short_line(words, _COPIED_CHARACTERS)
        return f"; its last words: {last}" if last else ""

    async def read(self, *, only_output: bool = False) -> tuple[str, ...]:
        """Return the newest lines, each with its time and source; the oldest line is first.

        Args:
            only_output: Whether to leave out Indwell's own lines.
        """
        lines = [one for one in self._lines if not only_output or one.source != "indwell"]
        if self._rest.strip():
            text = self._rest.decode("utf-8", "replace")
            lines.append(_Line(_now(), "stderr", text, self._n_unkept))
        return await asyncio.to_thread(self._shown, lines, has_dropped=self._has_dropped)

    def _shown(self, lines: Sequence[_Line], *, has_dropped: bool) -> tuple[str, ...]:
        words = [self._worded(one) for one in lines]
        first = _first_shown(words)
        hidden = self._hidden("\n".join(words[:first]) + _BETWEEN + "\n".join(words[first:]))
        _, found, newest = hidden.partition(_BETWEEN)
        # Without the separator, a secret covers the border, and all lines are shown.
        shown = visible(newest if found else hidden).split("\n") if lines else []
        n_over = _first_shown(shown)
        is_whole = not has_dropped and not first and not n_over
        return (*(() if is_whole else ("(older lines are left out)",)), *shown[n_over:])

    def _worded(self, line: _Line) -> str:
        text = _COLOUR.sub("", line.text).rstrip("\r").replace("\0", "\\u0000")
        if line.n_left_out:
            # A secret at the cut has lost its end, so that no pattern finds it.
            text = self._hidden(text)[:-_SECRET_CHARACTERS]
            text += f"… ({line.n_left_out + _SECRET_CHARACTERS:,} more bytes are left out)"
        at = f"{line.at:%Y-%m-%d %H:%M:%S}"
        return f"{at} [{line.source}] {text}"

    def _hidden(self, text: str) -> str:
        return self._hide(self._own_hider.hide(text))

    def _extend(self, data: bytes) -> None:
        room = _LINE_B - len(self._rest)
        self._rest += data[:room]
        self._n_unkept += max(len(data) - room, 0)

    def _add_bytes(self, source: Source, line: bytes, n_unkept: int = 0) -> None:
        text = line[:_LINE_B].decode("utf-8", "replace")
        if text.strip():
            self._keep(_Line(_now(), source, text, n_unkept + max(len(line) - _LINE_B, 0)))

    def _add(self, source: Source, words: str) -> None:
        now = _now()
        for text in words[:MOST_CHARACTERS].split("\n"):
            if text.strip():
                n_left_out = max(len(text) - _LINE_B, 0)
                self._keep(_Line(now, source, text[:_LINE_B], n_left_out))

    def _keep(self, line: _Line) -> None:
        self._lines.append(line)
        self._n_characters += len(line.text)
        while (
            len(self._lines) > MOST_LINES + _MARGIN_LINES
            or self._n_characters > MOST_CHARACTERS + _MARGIN_CHARACTERS
        ):
            self._n_characters -= len(self._lines.popleft().text)
            self._has_dropped = True

    def _copy(self, line: bytes) -> None:
        """Copy a line of standard error to Indwell's log, up to a limit."""
        shown = short_line(
            line[: 4 * _COPIED_CHARACTERS].decode("utf-8", "replace"), _COPIED_CHARACTERS
        )
        if not shown or self._n_copied > _COPIED_LINES:
            return
        self._n_copied += 1
        if self._n_copied <= _COPIED_LINES:
            _log.info("MCP server %s: %s", self._name, shown)
        else:
            _log.info("MCP server %s: further lines are left out", self._name)


def _first_shown(lines: Sequence[str]) -> int:
    """Return the index of the first line within the limits, counted from the last line."""
    n_characters = 0
    for n_lines, line in enumerate(reversed(lines)):
        n_characters += len(line)
        if n_lines == MOST_LINES or n_characters > MOST_CHARACTERS:
            return len(lines) - n_lines
    return 0
