"""A picture of tokens per request as lines and words, before it becomes SVG or PNG. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

WIDTH, HEIGHT, MARGIN = 900, 420, 60  # pixels
_COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#555555")
_TITLE = 80  # characters
_LEGEND = 130  # pixels for the name of a series

Point: TypeAlias = tuple[float, float]


class Line(msgspec.Struct, frozen=True):
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


Shape: TypeAlias = Line | Words


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
        Line(((left, y(top)), (left, y(0)), (right, y(0))), "#000000"),
        Line(((left, y(window)), (right, y(window))), "#999999", dashed=True),
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
        shapes.append(Line(points, colour))
        shapes.append(Words((left + _LEGEND * number, 20), name, colour))
    return tuple(shapes)
