"""Texts that editors and servers count differently, and functions that count the whole text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind, Range

from indwell.workspace.text import index_in_line, units_in_line

ENCODINGS = tuple(kind.value for kind in PositionEncodingKind)

texts = st.text(alphabet="abé€😀🝳\f\x85\u2028\v\r\n", max_size=24) | st.lists(
    st.sampled_from(["a", "\r\n", "\n", "\r", "\f", "\u2028", "\x85", "😀", "line"]), max_size=16
).map("".join)
"""Short texts full of line breaks, of what only looks like one, and of long characters."""

positions = st.builds(Position, line=st.integers(0, 8), character=st.integers(0, 10))
ranges = st.builds(Range, start=positions, end=positions)
"""Any two positions: outside the document, in the wrong order, inside a character."""

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_BREAK = re.compile(r"\r\n|\n|\r")


def units(text: str, encoding: str) -> int:
    """Return the number of code units of ``text``, by encoding the text."""
    codec, size = _CODECS[encoding]
    return len(text.encode(codec)) // size


def offset_of(text: str, position: Position, encoding: str) -> int:
    """Return the offset of a position in the whole text; clamp as the protocol says."""
    starts = [0, *(found.end() for found in _BREAK.finditer(text))]
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    found = _BREAK.search(text, start)
    body = text[start : found.start() if found else len(text)]
    fitting = [n for n in range(len(body) + 1) if units(body[:n], encoding) <= position.character]
    return start + fitting[-1]


def changed(text: str, range_: Range, new: str, encoding: str) -> str:
    """Return the whole text after a change; swap the ends of a reversed range."""
    start, end = sorted((range_.start, range_.end), key=lambda one: (one.line, one.character))
    return text[: offset_of(text, start, encoding)] + new + text[offset_of(text, end, encoding) :]


def to_offset(lines: Sequence[str], position: Position, encoding: str) -> int:
    """Return the offset of a position in code points, clamped to the document."""
    if position.line >= len(lines):
        return sum(map(len, lines))
    before = sum(map(len, lines[: position.line]))
    return before + index_in_line(lines[position.line], position.character, encoding)


def to_position(lines: Sequence[str], offset: int, encoding: str) -> Position:
    """Return the position of an offset in code points."""
    left = offset
    for number, line in enumerate(lines):
        if left < len(line) or number == len(lines) - 1:
            return Position(line=number, character=units_in_line(line, left, encoding))
        left -= len(line)
    return Position(line=0, character=0)
