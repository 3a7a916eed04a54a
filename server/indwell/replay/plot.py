"""Tokens of each request as an SVG or PNG picture. Pure."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TypeAlias

import msgspec

FORMATS = (".svg", ".png")
_FONT = 'font-family="sans-serif" font-size="12"'


def plot(
    series: Mapping[str, Sequence[int]], window: int, form: str = ".svg", *, title: str = ""
) -> bytes:
    """A picture of ``series``, with the window as a dashed line.

    Args:
        series: Tokens of each request, by name.
        window: Tokens that a request may have.
        form: One of ``FORMATS``.
        title: Whose requests these are.
    """
    shapes = drawing(series, window, title)
    return png(shapes, WIDTH, HEIGHT) if form == ".png" else svg(shapes).encode()


def svg(shapes: Sequence[Shape]) -> str:
    """The shapes as SVG."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            *(_line(one) if isinstance(one, PlotLine) else _words(one) for one in shapes),
            "</svg>\n",
        ]
    )


def _line(line: PlotLine) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line.points)
    dash = ' stroke-dasharray="6 4"' if line.dashed else ""
    return (
        f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="1.5"{dash}/>'
    )


def _words(words: Words) -> str:
    x, y = words.at
    anchor = ' text-anchor="end"' if words.is_end else ""
    text = escape(words.text)
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{words.colour}"{anchor} {_FONT}>{text}</text>'


WIDTH, HEIGHT, MARGIN = 900, 420, 60  # pixels
_COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#555555")
_TITLE = 80  # characters
_LEGEND = 130  # pixels for the name of a series

Point: TypeAlias = tuple[float, float]


class PlotLine(msgspec.Struct, frozen=True):
    """Through points, in pixels from the upper left corner."""

    points: tuple[Point, ...]
    colour: str
    dashed: bool = False


class Words(msgspec.Struct, frozen=True):
    """One line of words that begins at a point, or ends there."""

    at: Point
    text: str
    colour: str = "#333333"
    is_end: bool = False


Shape: TypeAlias = PlotLine | Words


def drawing(series: Mapping[str, Sequence[int]], window: int, title: str = "") -> tuple[Shape, ...]:
    """Lines of ``series``, with the window as a dashed one.

    Args:
        series: Tokens of each request, by name.
        window: Tokens that a request may have.
        title: Whose requests these are; a long one is cut.
    """
    n_most = max((len(values) for values in series.values()), default=0)
    top = max([window, *(max(values, default=0) for values in series.values())]) or 1
    x_step = (WIDTH - 2 * MARGIN) / max(n_most - 1, 1)

    def y(tokens: float) -> float:
        return HEIGHT - MARGIN - tokens / top * (HEIGHT - 2 * MARGIN)

    left, right = MARGIN, WIDTH - MARGIN
    shapes: list[Shape] = [
        PlotLine(((left, y(top)), (left, y(0)), (right, y(0))), "#000000"),
        PlotLine(((left, y(window)), (right, y(window))), "#999999", dashed=True),
        Words((left + 5, y(window) - 5), f"window {window:,}"),
        Words((left, HEIGHT - MARGIN + 20), "request 1"),
        Words((right, HEIGHT - MARGIN + 20), f"{n_most:,}", is_end=True),
        Words((left, HEIGHT - 12), title[:_TITLE]),
        Words((left - 5, y(top) - 14), "tokens", is_end=True),
        Words((left - 5, y(0) + 4), "0", is_end=True),
        Words((left - 5, y(top) + 4), f"{top:,}", is_end=True),
    ]
    for number, (name, values) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = tuple((left + at * x_step, y(one)) for at, one in enumerate(values))
        shapes.append(PlotLine(points, colour))
        shapes.append(Words((left + _LEGEND * number, 20), name, colour))
    return tuple(shapes)


COLUMNS, ROWS = 5, 7

_DOTS = {
    "0": "3e5149453e", "1": "00427f4000", "2": "4261514946", "3": "2141454b31",
    "4": "1814127f10", "5": "2745454539", "6": "3c4a494930", "7": "0171090503",
    "8": "3649494936", "9": "064949291e", "a": "2054545478", "b": "7f48444438",
    "c": "3844444420", "d": "384444487f", "e": "3854545418", "f": "087e090102",
    "g": "0c5252523e", "h": "7f08040478", "i": "00447d4000", "j": "2040443d00",
    "k": "7f10284400", "l": "00417f4000", "m": "7c04180478", "n": "7c08040478",
    "o": "3844444438", "p": "7c14141408", "q": "081414187c", "r": "7c08040408",
    "s": "4854545420", "t": "043f444020", "u": "3c4040207c", "v": "1c2040201c",
    "w": "3c4030403c", "x": "4428102844", "y": "0c5050503c", "z": "4464544c44",
    "-": "0808080808", ",": "0050300000", ".": "0060600000", " ": "0000000000",
}  # fmt: skip
_UNKNOWN = "7f4141417f"  # a box


def dots(character: str) -> Iterator[tuple[int, int]]:
    """The dots of a character, as (column, row) from the upper left; capitals look small."""
    columns = bytes.fromhex(_DOTS.get(character.lower(), _UNKNOWN))
    for x, column in enumerate(columns):
        for y in range(ROWS):
            if column >> y & 1:
                yield x, y


SCALE = 2  # dots a pixel of the drawing, so that it is sharp on today's screens
_LETTER = 2  # dots a dot of a letter
_ADVANCE = (COLUMNS + 1) * _LETTER
_PEN = 2  # dots
_DASH, _GAP = 12, 8  # dots


def png(shapes: Sequence[Shape], width: int, height: int) -> bytes:
    """The shapes on white, ``width`` by ``height`` pixels, ``SCALE`` times as many dots."""
    canvas = _Canvas(width * SCALE, height * SCALE)
    for shape in shapes:
        if isinstance(shape, PlotLine):
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

    def line(self, line: PlotLine) -> None:
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
