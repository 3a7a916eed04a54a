"""Tokens of each request as lines in an SVG picture. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, MARGIN = 900, 420, 60  # pixels
_COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#555555")
_FONT = 'font-family="sans-serif" font-size="12"'


def plot(series: Mapping[str, Sequence[int]], window: int) -> str:
    """A picture of ``series``, with the window as a dashed line.

    Args:
        series: Tokens of each request, by name.
        window: Tokens that a request may have.
    """
    n_most = max((len(values) for values in series.values()), default=0)
    top = max([window, *(max(values, default=0) for values in series.values())]) or 1
    x_step = (WIDTH - 2 * MARGIN) / max(n_most - 1, 1)

    def y(tokens: float) -> float:
        return HEIGHT - MARGIN - tokens / top * (HEIGHT - 2 * MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _line(MARGIN, y(0), WIDTH - MARGIN, y(0), "#000000"),
        _line(MARGIN, y(0), MARGIN, y(top), "#000000"),
        _line(MARGIN, y(window), WIDTH - MARGIN, y(window), "#999999", dashed=True),
        _text(MARGIN, y(window) - 5, f"window {window:,}"),
        _text(MARGIN, HEIGHT - MARGIN + 20, "request 1"),
        _text(WIDTH - MARGIN, HEIGHT - MARGIN + 20, f"{n_most:,}", end=True),
        _text(MARGIN - 5, y(top) + 4, f"{top:,}", end=True),
        _text(MARGIN - 5, y(0) + 4, "0", end=True),
    ]
    for number, (name, values) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        shown = " ".join(
            f"{MARGIN + at * x_step:.1f},{y(one):.1f}" for at, one in enumerate(values)
        )
        parts.append(
            f'<polyline points="{shown}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        parts.append(_text(MARGIN + 110 * number, 20, name, colour=colour))
    return "\n".join([*parts, "</svg>\n"])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dash}/>'
    )


def _text(x: float, y: float, words: str, *, end: bool = False, colour: str = "#333333") -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{anchor} {_FONT}>{escape(words)}</text>'
