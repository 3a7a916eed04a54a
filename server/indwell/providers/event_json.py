"""The JSON of one event, refused before it could hold up the loop; pure."""

from __future__ import annotations

import json

import msgspec

SMALL = 64_000  # bytes; whatever they hold is decoded within a millisecond
MOST_VALUES = 30_000
"""Values in one event, as its commas and brackets count them: 100 kB of nothing but brackets are
decoded in 2 ms, 2 MB of them in 110. Words count as one value however long they are, and a reply
in one event has under a hundred."""

_DECODE = msgspec.json.Decoder().decode


class TooManyValues(ValueError):
    """An event is made of more values than any reply."""


def decoded(data: bytes) -> object:
    """One JSON value; halves of characters and NaN, which some servers send, are let through.

    Neither decoder gives up the interpreter, so a thread would not help: 2 MB take 10 ms at most.

    Raises:
        TooManyValues: It has over ``MOST_VALUES``.
        ValueError: It is no JSON, or no UTF-8.
        RecursionError: It is nested too deeply.
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
    """At least as many as there are, but for numbers and names."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _outside_words(data: bytes) -> bytes | None:
    """JSON without what stands in quotes; None if so much stands in quotes that it is too much."""
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 2 * MOST_VALUES:
        return None
    return b"".join(plain.split(b'"')[::2])
