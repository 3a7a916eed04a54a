"""Runs a program in a terminal of tmux, types into it, and draws what it shows as SVG.

A picture holds text, so it stays sharp and small. A recording is one SVG that moves by CSS alone,
so it also plays where a page shows it as an image; a reader who wants no motion sees its last
frame.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

CELL = (8.4, 18)  # width and height of a character
TIMEOUT_S = 60.0
LONGEST_MS, SHORTEST_MS, LAST_MS = 1_600, 80, 4_000  # how long a frame is shown
BACKGROUND, INK, SOFT = "#10151c", "#dbe2ea", "#8b98a7"
BASIC = (
    "#20262e", "#f2777a", "#7fcf8a", "#e6c07b", "#6cb0f5", "#c792ea", "#63c5c9", "#dbe2ea",
    "#5c6773", "#ff8f8f", "#9be6a4", "#f4d58d", "#8cc4ff", "#dcb0ff", "#84e0e3", "#ffffff",
)  # fmt: skip
_GREYS = 232  # the first of 24 shades of grey, after the cube of colours
_CUBE = (0, 95, 135, 175, 215, 255)
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_OTHER = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Za-z]|\[[\d;?]*[A-Za-ln-z])")


@dataclass(frozen=True)
class Look:
    """How a character is drawn; an empty colour is the terminal's own."""

    ink: str = ""
    ground: str = ""
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underlined: bool = False
    reversed: bool = False


_LONG = {38: "ink", 48: "ground"}
_SHORT: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"faint": True},
    3: {"italic": True},
    4: {"underlined": True},
    7: {"reversed": True},
    22: {"bold": False, "faint": False},
    23: {"italic": False},
    24: {"underlined": False},
    27: {"reversed": False},
    39: {"ink": ""},
    49: {"ground": ""},
    **{first + at: {"ink": BASIC[at + up]} for first, up in ((30, 0), (90, 8)) for at in range(8)},
    **{
        first + at: {"ground": BASIC[at + up]}
        for first, up in ((40, 0), (100, 8))
        for at in range(8)
    },
}
"""The numbers that select a look, apart from those that a colour of more numbers follows."""


class Run(NamedTuple):
    """Characters of one line with one look."""

    column: int
    text: str
    look: Look


Line = tuple[Run, ...]


def colour(numbers: list[int]) -> str:
    """Take the rest of ``38;…`` or ``48;…`` from the numbers of a sequence."""
    if numbers[:1] == [2]:
        red, green, blue = numbers[1:4]
        del numbers[:4]
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = numbers[1]
    del numbers[:2]
    if number < len(BASIC):
        return BASIC[number]
    if number >= _GREYS:
        return "#" + f"{8 + 10 * (number - _GREYS):02x}" * 3
    number -= 16
    return "#" + "".join(
        f"{_CUBE[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6)
    )


def changed(look: Look, sequence: str) -> Look:
    """Return a look after a sequence that selects colours."""
    numbers = [int(one or 0) for one in re.split("[;:]", sequence)]
    while numbers:
        number = numbers.pop(0)
        if number in _LONG:
            look = replace(look, **{_LONG[number]: colour(numbers)})
        else:
            look = replace(look, **_SHORT.get(number, {})) if number else Look()
    return look


def lines_of(shown: str) -> tuple[Line, ...]:
    """Return the lines of a captured screen."""
    found = []
    look = Look()
    for line in shown.split("\n"):
        runs, column = [], 0
        for number, part in enumerate(_SGR.split(_OTHER.sub("", line))):
            if number % 2:
                look = changed(look, part)
            elif part:
                runs.append(Run(column, part, look))
                column += len(part)
        found.append(tuple(runs))
    return tuple(found)


def drawn(line: Line) -> str:
    """Return the elements of a line, whose top is at 0."""
    parts = []
    for column, text, look in line:
        ink, ground = look.ink or INK, look.ground
        if look.reversed:
            ink, ground = ground or BACKGROUND, look.ink or INK
        if look.faint and not look.ink:
            ink = SOFT
        x, width = column * CELL[0], len(text) * CELL[0]
        if ground:
            parts.append(
                f'<rect x="{x:.1f}" width="{width:.1f}" height="{CELL[1]}" fill="{ground}"/>'
            )
        lead = len(text) - len(text.lstrip(" "))
        words = text.strip(" ")
        if not words:
            continue
        style = "".join(
            (
                f' fill="{ink}"' if ink != INK else "",
                ' font-weight="700"' if look.bold else "",
                ' font-style="italic"' if look.italic else "",
                ' text-decoration="underline"' if look.underlined else "",
            )
        )
        parts.append(
            f'<text x="{x + lead * CELL[0]:.1f}" y="13.5" textLength="{len(words) * CELL[0]:.1f}"'
            f"{style}>{escape(words)}</text>"
        )
    return "".join(parts)


class Frame(NamedTuple):
    """A screen and the time at which it appeared, in milliseconds."""

    at_ms: int
    lines: tuple[Line, ...]


def svg(frames: Sequence[Frame], columns: int, rows: int, title: str) -> str:
    """Return a picture of one frame, or a recording of several."""
    lines = list(dict.fromkeys(line for frame in frames for line in frame.lines if line))
    names = {line: f"l{number}" for number, line in enumerate(lines)}
    width, height = columns * CELL[0], rows * CELL[1]
    symbols = "".join(f'<g id="{names[line]}">{drawn(line)}</g>' for line in lines)
    film = []
    for number, frame in enumerate(frames):
        top = number * height
        used = (
            f'<use href="#{names[line]}" y="{row * CELL[1] + top:g}"/>'
            for row, line in enumerate(frame.lines[:rows])
            if line
        )
        film.append("".join(used))
    style = (
        "text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}"
    )
    if len(frames) > 1:
        style += _motion(frames, height)
    size = f"0 0 {width + 24:g} {height + 24:g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img">'
        f"<title>{escape(title)}</title><style>{style}</style><defs>{symbols}"
        f'<clipPath id="c"><rect width="{width:g}" height="{height:g}"/></clipPath></defs>'
        f'<rect width="{width + 24:g}" height="{height + 24:g}" rx="8" fill="{BACKGROUND}"/>'
        f'<g transform="translate(12 12)" clip-path="url(#c)" fill="{INK}">'
        f'<g class="film">{"".join(film)}</g></g></svg>\n'
    )


def _motion(frames: Sequence[Frame], height: float) -> str:
    times = [min(LONGEST_MS, two.at_ms - one.at_ms) for one, two in pairwise(frames)] + [LAST_MS]
    whole, at, steps = sum(times), 0, []
    for number, lasts in enumerate(times):
        steps.append(f"{100 * at / whole:.3f}%{{transform:translateY({-number * height:g}px)}}")
        at += lasts
    end = f"translateY({-(len(frames) - 1) * height:g}px)"
    return (
        f".film{{animation:film {whole}ms step-end infinite}}@keyframes film{{{''.join(steps)}}}"
        f"@media (prefers-reduced-motion:reduce){{.film{{animation:none;transform:{end}}}}}"
    )


class Screen:
    """A program in a terminal that only this object knows."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        columns: int = 88,
        rows: int = 26,
    ) -> None:
        self.columns, self.rows = columns, rows
        self.frames: list[Frame] = []
        self._begun_s = time.monotonic()
        self._socket = folder.parent / "tmux"
        size = ("-x", str(columns), "-y", str(rows))
        self._environment = dict(environment)
        options = (
            "set-option",
            "-g",
            "status",
            "off",
            ";",
            "set-option",
            "-g",
            "remain-on-exit",
            "on",
            ";",
        )
        self._tmux(
            "start-server", ";", *options, "new-session", "-d", *size, "-c", str(folder), *command
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _it: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        self._tmux("kill-server", is_needed=False)

    def look(self) -> str:
        """Return the text of the screen, and keep a frame if it has changed."""
        shown = self._tmux("capture-pane", "-e", "-p", is_needed=False)
        frame = Frame(
            round(1_000 * (time.monotonic() - self._begun_s)), lines_of(shown.rstrip("\n"))
        )
        if frame.lines != (self.frames[-1].lines if self.frames else ()):
            if self.frames and frame.at_ms - self.frames[-1].at_ms < SHORTEST_MS:
                frame = frame._replace(at_ms=self.frames.pop().at_ms)
            self.frames.append(frame)
        return "\n".join("".join(run.text for run in line) for line in frame.lines)

    def until(self, words: str, *, gone: bool = False) -> None:
        """Watch until the screen shows a text, or no longer shows it."""
        deadline = time.monotonic() + TIMEOUT_S
        while (words in self.look()) == gone:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words!r} did not {'go' if gone else 'come'}:\n{self.look()}")
            time.sleep(0.05)

    def watch(self, seconds: float) -> None:
        """Watch for some time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.look()
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, such as ``Enter`` and ``C-s``."""
        self._tmux("send-keys", *keys)

    def write(self, words: str, pause_s: float = 0.045) -> None:
        """Type a text as a person does."""
        for letter in words:
            self._tmux("send-keys", "-l", letter)
            self.watch(pause_s)

    def recording(self, title: str) -> str:
        """Return everything that was seen as one recording."""
        return svg(self.frames, self.columns, self.rows, title)

    def picture(self, title: str) -> str:
        """Return the screen as it is now."""
        self.look()
        return svg(self.frames[-1:], self.columns, self.rows, title)

    def _tmux(self, *words: str, is_needed: bool = True) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", os.devnull, *words]
        ended = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False
        )
        if ended.returncode and is_needed:
            raise RuntimeError(ended.stderr)
        return ended.stdout
