"""Draws the tables of the study as SVG pictures with a light and a dark form.

Each picture has a background of its own, so its text is readable on any page. The pictures need no
package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import log10
from typing import Any

AGENTS = ("entire", "packmind", "codex", "opencode")
WINDOWS = ("32k", "64k", "128k")
MARKS = {
    "default": ("circle", "Indwell (default)"),
    "slide": ("square", "sliding"),
    "ladder-a": ("triangle", "published 50/70/90 ladder"),
    "oracle": ("diamond", "oracle (knows the future)"),
}
SIGNS = {
    "name": {
        "spread": "number of texts with the name",
        "seen": "calls since a text had the name",
        "is written": "the agent wrote the name",
        "written": "calls since the agent wrote it",
        "times": "how often the agent wrote it",
        "is asked": "the user wrote the name",
        "occurs once": "only one text has the name",
    },
    "line": {
        "read": "result of a read",
        "result of an edit": "result of an edit",
        "edit": "call of an edit",
        "whole file": "call that writes a whole file",
        "search": "result of a search",
        "age": "calls since the text came",
        "age before an edit": "age, if the file has no edit",
        "last read": "calls since the file's last read",
        "reads": "number of reads of the file",
        "last edit": "calls since the file's last edit",
        "edits": "number of edits of the file",
        "part": "read of a part of a file",
        "any edit": "calls since any edit",
        "line of an edit": "an edit wrote the line",
        "is written": "the agent wrote a name of the line",
        "written": "calls since the agent wrote it",
        "near an edit": "near a line that an edit wrote",
        "near a rare name": "near a rare name of the agent",
        "near asked names": "near names that the user wrote",
        "is asked": "has a name that the user wrote",
        "length": "length of the line",
    },
}
LIGHT = {
    "card": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#8c959f", "grid": "#e3e7eb",
    "default": "#0969da", "slide": "#bc4c00", "ladder-a": "#8250df", "oracle": "#1a7f37",
    "entire": "#0969da", "packmind": "#bc4c00", "codex": "#8250df", "opencode": "#1a7f37",
}  # fmt: skip
DARK = {
    "card": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#656c76", "grid": "#252b33",
    "default": "#58a6ff", "slide": "#f0883e", "ladder-a": "#bc8cff", "oracle": "#3fb950",
    "entire": "#58a6ff", "packmind": "#f0883e", "codex": "#bc8cff", "opencode": "#3fb950",
}  # fmt: skip


def all_pictures(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each picture that the tables suffice for."""
    if "replays" in found:
        yield "compaction-cost-and-lines", cost_and_lines(found["replays"])
    if "name: calibration" in found and "line: calibration" in found:
        curves = {kind: found[f"{kind}: calibration"] for kind in ("name", "line")}
        yield "compaction-calibration", calibration(curves)
    if "name: worth" in found and "line: worth" in found:
        worth = {kind: found[f"{kind}: worth"] for kind in ("name", "line")}
        yield "compaction-signs", signs(worth)


class Canvas:
    """Collects the elements of a picture."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size, self._title = (width, height), title
        self._parts: list[str] = []

    def text(self, x: float, y: float, words: str, kind: str = "", turn: int = 0) -> None:
        """Add a text; ``kind`` has class names such as ``soft middle``."""
        turned = f' transform="rotate({turn} {x:g} {y:g})"' if turn else ""
        self._add(f'<text x="{x:g}" y="{y:g}" class="{kind}"{turned}>{escape(words)}</text>')

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Add a line through points."""
        at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(f'<polyline points="{at}" class="{kind}"/>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Add a rectangle."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}"'
        self._add(f'<rect {place} class="{kind}"/>')

    def mark(self, x: float, y: float, shape: str, kind: str) -> None:
        """Add a mark with one of the shapes of ``MARKS``."""
        outline = {
            "square": ((-5, -5), (5, -5), (5, 5), (-5, 5)),
            "triangle": ((0, -6), (6, 5), (-6, 5)),
            "diamond": ((0, -7), (6, 0), (0, 7), (-6, 0)),
        }.get(shape)
        if outline is None:
            self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" class="{kind}"/>')
            return
        at = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in outline)
        self._add(f'<polygon points="{at}" class="{kind}"/>')

    def svg(self) -> str:
        """Return the picture."""
        width, height = self._size
        rules = (
            "text{font:12px system-ui,sans-serif}.middle{text-anchor:middle}.end{text-anchor:end}"
            ".head{font-weight:600}polyline{fill:none;stroke-width:1.5}.dash{stroke-dasharray:4 3}"
            f"{_colors(LIGHT)}@media (prefers-color-scheme:dark){{{_colors(DARK)}}}"
        )
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
            f"<title>{escape(self._title)}</title>\n<style>{rules}</style>\n"
            f'<rect width="{width}" height="{height}" rx="6" class="card"/>\n{body}\n</svg>\n'
        )

    def _add(self, element: str) -> None:
        self._parts.append(element)


def _colors(scheme: Mapping[str, str]) -> str:
    shapes = "".join(
        f".{name}{{fill:{color};stroke:{color}}}.{name}.open{{fill:{scheme['card']}}}"
        f"polyline.{name}{{fill:none}}"
        for name, color in scheme.items()
        if name not in {"card", "ink", "soft", "line", "grid"}
    )
    return (
        f".card{{fill:{scheme['card']}}}text{{fill:{scheme['ink']}}}.soft{{fill:{scheme['soft']}}}"
        f".line{{stroke:{scheme['line']}}}.grid{{stroke:{scheme['grid']};stroke-width:1}}{shapes}"
    )


def cost_and_lines(table: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Draw the cost against the kept edit lines, in a panel for each agent and window."""
    width, height, left, top = 210, 128, 92, 76
    agents = [one for one in AGENTS if any(place.startswith(f"{one} ") for place in table)]
    canvas = Canvas(
        left + 3 * width + 8, top + len(agents) * (height + 24) + 44,
        "Cost relative to sliding against kept edit lines, by agent and window",
    )  # fmt: skip
    for at, (preset, (shape, words)) in enumerate(MARKS.items()):
        x = left + (0, 140, 226, 420)[at]
        canvas.mark(x, 18, shape, preset)
        canvas.text(x + 11, 22, words)
    canvas.mark(left, 38, "circle", "default open")
    canvas.text(left + 11, 42, "open mark: numbers were fitted or chosen on these sessions", "soft")
    for column, window in enumerate(WINDOWS):
        middle = left + column * width + (width - 14) / 2
        canvas.text(middle, top - 12, f"window of {window[:-1]},000 tokens", "head middle")
    for row, agent in enumerate(agents):
        y = top + row * (height + 24)
        canvas.text(14, y + height / 2, "edit lines kept", "soft middle", turn=-90)
        canvas.text(31, y + height / 2, agent, "head middle", turn=-90)
        groups = table[f"{agent} {WINDOWS[0]}"]["slide"]
        n_sessions = sum(one["n_sessions"] for one in groups.values())
        canvas.text(46, y + height / 2, f"{n_sessions} sessions", "soft middle", turn=-90)
        for column, window in enumerate(WINDOWS):
            panel = (left + column * width, y, width - 14, height)
            presets = table.get(f"{agent} {window}", {})
            _panel(canvas, panel, presets, is_first=not column)
    middle = left + 1.5 * width
    bottom = top + len(agents) * (height + 24) + 26
    canvas.text(middle, bottom, "cost relative to sliding (1 = as dear as sliding)", "soft middle")
    return canvas.svg()


LOWEST, HIGHEST = 0.5, 1.3  # the shown range of the cost


def _panel(
    canvas: Canvas,
    panel: tuple[float, float, float, float],
    presets: Mapping[str, Mapping[str, Any]],
    *,
    is_first: bool,
) -> None:
    x, y, width, height = panel

    def place(cost: float, share: float) -> tuple[float, float]:
        across = (min(max(cost, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
        return x + width * across, y + height * (1 - share)

    for share in (0, 0.5, 1):
        canvas.line([place(LOWEST, share), place(HIGHEST, share)], "grid")
        if is_first:
            canvas.text(x - 5, place(0, share)[1] + 4, f"{share:.0%}", "soft end")
    for cost in (0.6, 0.8, 1.0, 1.2):
        canvas.line([place(cost, 0), place(cost, 1)], "grid")
        canvas.text(place(cost, 0)[0], y + height + 14, f"{cost:.1f}", "soft middle")
    canvas.line([place(1, 0), place(1, 1)], "line dash")
    canvas.line([(x, y), (x, y + height), (x + width, y + height)], "line")
    missing = []
    n_sessions = {
        group: max(one[group]["n_sessions"] for one in presets.values())
        for one in presets.values()
        for group in one
    }
    for preset, groups in presets.items():
        for group, figures in groups.items():
            if figures["cost"] is None or figures["n_sessions"] < n_sessions[group]:
                continue
            if figures["lines"] is None:
                missing.append(preset)
                continue
            kind = f"{preset} open" if group == "fitted" else preset
            canvas.mark(*place(figures["cost"], figures["lines"]), MARKS[preset][0], kind)
    if missing:
        words = "sliding cuts nothing" if "slide" in missing else "no edit line was cut"
        canvas.text(x + 8, y + height - 8, words, "soft")


def calibration(curves: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> str:
    """Draw the engine's chances against the real shares, with logarithmic axes."""
    size, left, top = 270, 64, 66
    canvas = Canvas(
        2 * (size + left) + 20, top + size + 52,
        "The engine's chances of a later use against the real shares",
    )  # fmt: skip
    agents = [one for one in AGENTS if curves["name"].get(one)]
    for at, agent in enumerate(agents):
        canvas.mark(left + 92 * at, 18, "circle", agent)
        canvas.text(left + 92 * at + 10, 22, agent)
    canvas.text(left + 92 * len(agents) + 8, 22, "dashed: a perfect chance", "soft")
    heads = {"name": "a name is written again", "line": "an edit quotes a line that was read"}
    for column, (kind, of_agent) in enumerate(curves.items()):
        x0 = left + column * (size + left)

        def place(chance: float, share: float, x0: float = x0) -> tuple[float, float]:
            across, up = ((log10(max(one, 1e-3)) + 3) / 3 for one in (chance, share))
            return x0 + size * across, top + size * (1 - up)

        canvas.text(x0 + size / 2, top - 12, heads[kind], "head middle")
        for tick, words in ((0.001, "0.1 %"), (0.01, "1 %"), (0.1, "10 %"), (1, "100 %")):
            canvas.line([place(tick, 0.001), place(tick, 1)], "grid")
            canvas.line([place(0.001, tick), place(1, tick)], "grid")
            canvas.text(place(tick, 1)[0], top + size + 16, words, "soft middle")
            canvas.text(x0 - 6, place(1, tick)[1] + 4, words, "soft end")
        canvas.line([place(0.001, 0.001), place(1, 1)], "line dash")
        for agent in agents:
            points = [place(*one) for one in of_agent.get(agent, ())]
            canvas.line(points, agent)
            for point in points:
                canvas.mark(*point, "circle", f"{agent} small")
        canvas.text(x0 + size / 2, top + size + 38, "the engine's chance", "soft middle")
    canvas.text(14, top + size / 2, "real share within 25 calls", "soft middle", turn=-90)
    return canvas.svg()


def signs(worth: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Draw how much the area under the curve falls without each sign, for left-out agents."""
    falls: dict[str, dict[str, float]] = {}
    for kind, table in worth.items():
        whole = table["all signs"]
        mean = {
            sign: sum(whole[agent] - areas[agent] for agent in whole) / len(whole)
            for sign, areas in table.items()
            if sign != "all signs"
        }
        falls[kind] = dict(sorted(mean.items(), key=lambda one: -one[1]))
    n_rows = sum(map(len, falls.values()))
    row, names_end, left, right = 19, 232, 90, 300
    zero, scale = names_end + left, right / max(max(one.values()) for one in falls.values())
    canvas = Canvas(
        zero + right + 66, 44 + n_rows * row + 2 * 34 + 18,
        "How much worse chances become without each sign",
    )  # fmt: skip
    canvas.text(
        14,
        24,
        "Fall of the area under the curve if a fit lacks a sign: the mean of the agents that",
    )
    canvas.text(
        14,
        40,
        "the fit left out. A bar to the left means that the chances get better without the sign.",
    )
    y = 62
    for kind, bars in falls.items():
        canvas.text(14, y + 6, {"name": "names", "line": "lines that edits quote"}[kind], "head")
        y += 16
        for sign, fall in bars.items():
            canvas.text(names_end - 8, y + 12, SIGNS[kind].get(sign, sign), "end")
            length = max(1.0, min(abs(fall) * scale, left if fall < 0 else right))
            canvas.bar(zero - length if fall < 0 else zero, y + 2, length, 12, "default")
            canvas.text(zero + max(0.0, fall) * scale + 6, y + 12, _signed(fall), "soft")
            y += row
        y += 18
    canvas.line([(zero, 74), (zero, y - 18)], "line")
    return canvas.svg()


def _signed(value: float) -> str:
    shown = f"{value:+.3f}"
    return "0.000" if shown[1:] == "0.000" else shown
