"""Tokens of each request as an SVG or PNG picture. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from indwell.replay.drawing import HEIGHT, WIDTH, Line, Shape, Words, drawing
from indwell.replay.raster import png

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
            *(_line(one) if isinstance(one, Line) else _words(one) for one in shapes),
            "</svg>\n",
        ]
    )


def _line(line: Line) -> str:
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
