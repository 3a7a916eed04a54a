"""Parses server-sent events (WHATWG HTML, 9.2.6), and decodes the JSON of an event. Pure.

A line ends at CR LF, LF or CR. Several ``data`` lines make one event. Other fields and comments are
skipped. The parser works on bytes, because no UTF-8 character contains the byte of a line end. So a
part may end anywhere.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import msgspec

# The unit is bytes of one event; even a whole reply rarely has a fifth of this size.
EVENT_LIMIT = 2_000_000
DONE = b"[DONE]"  # This data ends a stream of chat completions.
_BOM = b"\xef\xbb\xbf"
_DATA = b"data:"
_NAME = b"event:"


class Event(NamedTuple):
    """One event: the data with lines joined by LF, and the name if the event has one."""

    data: bytes
    name: bytes = b""


class EventTooLong(ValueError):
    """One event, or one line, exceeds the limit."""


class EventReader:
    """Reads the events of one stream.

    Args:
        limit: Bytes that one event may have.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._tail: list[bytes] = []  # The parts belong to an unfinished line.
        self._n_tail = 0
        self._data: list[bytes] = []
        self._n_data = 0
        self._name = b""
        self._after_cr = False
        self._first = True

    def feed(self, part: bytes) -> list[Event]:
        """Return the events that this part completes.

        Raises:
            EventTooLong: An event exceeds the limit.
        """
        if self._after_cr and part:
            self._after_cr = False
            part = part.removeprefix(b"\n")
        if b"\r" in part:
            self._after_cr = part.endswith(b"\r")
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in part:
            self._keep(part)
            return []
        lines = part.split(b"\n")
        if self._tail:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail.clear()
            self._n_tail = 0
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        tail = lines.pop()
        events: list[Event] = []
        for line in lines:
            self._line(line, events)
        if tail:
            self._keep(tail)
        return events

    def close(self) -> list[Event]:
        """Return the last event, because some servers omit the empty line that ends an event."""
        events: list[Event] = []
        if self._tail:
            line = b"".join(self._tail)
            self._line(line.removeprefix(_BOM) if self._first else line, events)
        self._tail.clear()
        self._line(b"", events)
        return events

    def _keep(self, tail: bytes) -> None:
        self._tail.append(tail)
        self._n_tail += len(tail)
        self._check(self._n_tail)

    def _line(self, line: bytes, events: list[Event]) -> None:
        if line.startswith(_DATA):
            data = line[6:] if line[5:6] == b" " else line[5:]
            # Empty lines take memory, too, so each line counts one more byte.
            self._n_data += len(line) + 1
            self._check(self._n_data)
            self._data.append(data)
        elif not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                events.append(Event(data, self._name))
                self._data.clear()
                self._n_data = 0
            self._name = b""
        elif line.startswith(_NAME):
            self._name = line[len(_NAME) :].strip()
        elif line == b"data":
            self._data.append(b"")

    def _check(self, n_bytes: int) -> None:
        if n_bytes > self._limit:
            raise EventTooLong(f"an event of over {self._limit:,} bytes")


SMALL = 64_000  # The unit is bytes that take at most a millisecond to decode.
MOST_VALUES = 30_000
"""The limit of values in one event, counted by commas and brackets.

100 kB of brackets take 2 ms to decode, 2 MB take 110 ms. A text of any length counts as one value.
A reply in one event has less than a hundred values.
"""

_DECODE = msgspec.json.Decoder().decode


class TooManyValues(ValueError):
    """An event has more values than any reply."""


def decoded(data: bytes) -> object:
    """Decode one JSON value; accept lone surrogates and NaN, which some servers send.

    Both decoders hold the interpreter lock, so a thread would not help. 2 MB take at most 10 ms.

    Raises:
        TooManyValues: The value has over ``MOST_VALUES``.
        ValueError: The data is not JSON, or not UTF-8.
        RecursionError: The value is nested too deeply.
    """
    if len(data) > SMALL and _n_values(data) > MOST_VALUES:
        words_left_out = _outside_words(data)
        if words_left_out is None or _n_values(words_left_out) > MOST_VALUES:
            raise TooManyValues(f"an event of over {MOST_VALUES:,} values")
    try:
        return _DECODE(data)
    except msgspec.DecodeError:
        value: object = json.loads(data)
        return value


def _n_values(data: bytes) -> int:
    """Count values by commas and brackets, including commas and brackets in strings."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _outside_words(data: bytes) -> bytes | None:
    """Return the JSON without quoted strings, or None if there are too many strings."""
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 2 * MOST_VALUES:
        return None
    return b"".join(plain.split(b'"')[::2])
