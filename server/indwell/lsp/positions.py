"""Positions of the protocol ↔ offsets in a text, in utf-8, utf-16 or utf-32 code units. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types


def index_in_line(line: str, units: int, encoding: str) -> int:
    """The index in code points of a character offset in code units; clamped to the line's text.

    An offset inside a character (half of a surrogate pair, say) means the character's start.
    """
    body = line.rstrip("\r\n")
    if units <= 0:
        return 0
    if encoding == types.PositionEncodingKind.Utf32 or body.isascii():
        return min(units, len(body))
    left = units
    for index, character in enumerate(body):
        left -= _units(character, encoding)
        if left < 0:
            return index
        if left == 0:
            return index + 1
    return len(body)


def units_in_line(line: str, index: int, encoding: str) -> int:
    """The character offset in code units of an index in code points."""
    if encoding == types.PositionEncodingKind.Utf32 or line.isascii():
        return index
    return sum(_units(character, encoding) for character in line[:index])


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


def _units(character: str, encoding: str) -> int:
    code = ord(character)
    if encoding == types.PositionEncodingKind.Utf8:
        return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)  # noqa: PLR2004 - UTF-8's steps
    return 1 + (code > 0xFFFF)  # noqa: PLR2004 - UTF-16: one surrogate pair beyond the plane
