"""Where a hunk stands in an editor: a range of its lines, or a line to reach it by. Pure.

Every hunk has a line that a cursor can be on, also where nothing of it is left in the text: lines
that were deleted are reached at the line that follows them, or at the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from indwell.lsp.positions import units_in_line
from indwell.review.hunk import Hunk


class Lines(NamedTuple):
    """First and last line, 0-based, inclusive."""

    first: int
    last: int


def reachable(n_lines: int, *, ends_empty: bool) -> int:
    """How many lines of a text a cursor can be on in every editor; at least 1.

    Args:
        n_lines: As the protocol counts them.
        ends_empty: The last of them is empty: Vim and its kin have no such line.
    """
    return max(n_lines - 1 if ends_empty else n_lines, 1)


def lines_of(hunk: Hunk, n_lines: int | None) -> Lines:
    """The lines of a hunk; of deleted ones, and of all that is no text, the one to reach it by.

    Args:
        hunk: With its place in the current text.
        n_lines: What ``reachable`` gave; None if nobody knows.
    """
    first = max(hunk.line - 1, 0)
    if n_lines is not None:
        first = min(first, n_lines - 1)
    return Lines(first, first + max(len(hunk.new) - 1, 0))


def range_of(hunk: Hunk, n_lines: int | None, encoding: str) -> Mapping[str, Any]:
    """The range of a hunk as plain JSON: it ends with its last line, and not on the next one."""
    first, last = lines_of(hunk, n_lines)
    character = 0
    if hunk.new:
        line = hunk.new[-1].rstrip("\r\n")
        character = units_in_line(line, len(line), encoding)
    return {
        "start": {"line": first, "character": 0},
        "end": {"line": last, "character": character},
    }


def touched(hunks: Sequence[Hunk], lines: Lines, n_lines: int | None) -> tuple[Hunk, ...]:
    """The hunks that stand on some of these lines; below the text means its last line."""
    if n_lines is not None:
        lines = Lines(min(lines.first, n_lines - 1), min(lines.last, n_lines - 1))
    found = []
    for hunk in hunks:
        first, last = lines_of(hunk, n_lines)
        if first <= lines.last and last >= lines.first:
            found.append(hunk)
    return tuple(found)
