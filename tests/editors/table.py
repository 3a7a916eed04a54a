"""Reads the table of ``docs/editors/README.md``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "editors" / "README.md"
_CELL = re.compile(r"(\(?)(yes|no)\)?(?:\[\^([a-z-]+)\])?")


class Cell(NamedTuple):
    """One answer.

    Attributes:
        works: Whether the editor supports the scenario.
        is_seen: Whether a test in the real editor shows the answer; otherwise documentation does.
        note: The name of its footnote; empty without one.
    """

    works: bool
    is_seen: bool
    note: str


def read() -> dict[str, dict[str, Cell]]:
    """Return the cells of the table by row and column."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        name: {column: _cell(cell) for column, cell in zip(head[1:], cells, strict=True)}
        for name, *cells in rows
    }


def notes() -> dict[str, str]:
    """Return the footnotes of the table by name."""
    return dict(re.findall(r"^\[\^([a-z-]+)\]: (.+)$", PAGE.read_text("utf-8"), re.MULTILINE))


def _cell(text: str) -> Cell:
    found = _CELL.fullmatch(text)
    assert found is not None, f"{text!r} is neither yes nor no"
    return Cell(found[2] == "yes", not found[1], found[3] or "")
