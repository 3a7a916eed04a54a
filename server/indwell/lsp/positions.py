"""Positions of the protocol ↔ offsets in a text, in utf-8, utf-16 or utf-32 code units. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}
"""By position encoding: the codec that gives its code units, and the bytes of one."""


def index_in_line(line: str, units: int, encoding: str) -> int:
    """The index in code points of a character offset in code units; clamped to the line's text.

    An offset inside a character (half of a surrogate pair, say) means the character's start.
    """
    body = line.rstrip("\r\n")
    if units <= 0:
        return 0
    if encoding == types.PositionEncodingKind.Utf32 or body.isascii():
        return min(units, len(body))
    codec, unit_b = _CODECS[encoding]
    # A character has at least one unit, so no more of the line than this matters.
    encoded = body[:units].encode(codec, "surrogatepass")
    stop = min(units * unit_b, len(encoded))
    while stop < len(encoded) and _is_inside(encoded, stop, unit_b):
        stop -= unit_b
    return len(encoded[:stop].decode(codec, "surrogatepass"))


def units_in_line(line: str, index: int, encoding: str) -> int:
    """The character offset in code units of an index in code points."""
    if encoding == types.PositionEncodingKind.Utf32 or line.isascii():
        return min(index, len(line))
    codec, unit_b = _CODECS[encoding]
    return len(line[:index].encode(codec, "surrogatepass")) // unit_b


def to_offset(lines: Sequence[str], position: types.Position, encoding: str) -> int:
    """The offset in code points of a position; clamped to the document."""
    if position.line >= len(lines):
        return sum(map(len, lines))
    before = sum(map(len, lines[: position.line]))
    return before + index_in_line(lines[position.line], position.character, encoding)


def to_position(lines: Sequence[str], offset: int, encoding: str) -> types.Position:
    """The position of an offset in code points."""
    left = offset
    for number, line in enumerate(lines):
        if left < len(line) or number == len(lines) - 1:
            return types.Position(line=number, character=units_in_line(line, left, encoding))
        left -= len(line)
    return types.Position(line=0, character=0)


def _is_inside(encoded: bytes, stop: int, unit_b: int) -> bool:
    """Would a cut at ``stop`` part a character of UTF-8 or UTF-16?"""
    if unit_b == 1:
        return encoded[stop] & 0xC0 == 0x80  # noqa: PLR2004 - a continuation byte
    halves = encoded[stop - 1] & 0xFC, encoded[stop + 1] & 0xFC
    return halves == (0xD8, 0xDC)
