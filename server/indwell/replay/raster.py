"""Lines and words as a PNG picture, drawn dot by dot: no library does it here. Pure."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise

from indwell.replay.drawing import Line, Point, Shape, Words
from indwell.replay.glyphs import COLUMNS, ROWS, dots

SCALE = 2  # dots a pixel of the drawing, so that it is sharp on today's screens
_LETTER = 2  # dots a dot of a letter
_ADVANCE = (COLUMNS + 1) * _LETTER
_PEN = 2  # dots
_DASH, _GAP = 12, 8  # dots


def png(shapes: Sequence[Shape], width: int, height: int) -> bytes:
    """The shapes on white, ``width`` by ``height`` pixels, ``SCALE`` times as many dots."""
    canvas = _Canvas(width * SCALE, height * SCALE)
    for shape in shapes:
        if isinstance(shape, Line):
            canvas.line(shape)
        else:
            canvas.words(shape)
    return canvas.encoded()


class _Canvas:
    """Rows of dots in colours of a palette; the first colour is the ground."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [bytearray(width) for _ in range(height)]
        self._palette = {"#ffffff": 0}

    def line(self, line: Line) -> None:
        colour = self._colour(line.colour)
        for one, other in pairwise(line.points):
            self._stretch(_scaled(one), _scaled(other), colour, dashed=line.dashed)

    def words(self, words: Words) -> None:
        colour = self._colour(words.colour)
        x, y = _scaled(words.at)
        x -= words.is_end * _ADVANCE * len(words.text)
        for number, character in enumerate(words.text):
            for column, row in dots(character):
                left = x + number * _ADVANCE + column * _LETTER
                self._square(left, y + (row - ROWS) * _LETTER, _LETTER, colour)

    def encoded(self) -> bytes:
        """As PNG with a palette (PNG specification, 2003)."""
        palette = b"".join(bytes.fromhex(one[1:]) for one in self._palette)
        head = struct.pack(">IIBBBBB", self._width, self._height, 8, 3, 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", data), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)

    def _colour(self, name: str) -> int:
        return self._palette.setdefault(name, len(self._palette))

    def _stretch(
        self, one: tuple[int, int], other: tuple[int, int], colour: int, *, dashed: bool
    ) -> None:
        steps = max(abs(other[0] - one[0]), abs(other[1] - one[1]), 1)
        for step in range(steps + 1):
            if dashed and step % (_DASH + _GAP) >= _DASH:
                continue
            x = one[0] + (other[0] - one[0]) * step // steps
            y = one[1] + (other[1] - one[1]) * step // steps
            self._square(x, y, _PEN, colour)

    def _square(self, x: int, y: int, size: int, colour: int) -> None:
        for row in range(max(0, y), min(y + size, self._height)):
            for column in range(max(0, x), min(x + size, self._width)):
                self._rows[row][column] = colour


def _scaled(point: Point) -> tuple[int, int]:
    return round(point[0] * SCALE), round(point[1] * SCALE)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
