"""The changed places of a large file as one diff: each with its lines, long ones cut. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from indwell.tools.truncate import untorn
from indwell.workspace.comparing.diff import count_changes, unified_diff
from indwell.workspace.text import shown

SHOWN_PLACES = 20  # changed places in the diff
LINE_CHARS = 500  # of a line in the diff

_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


class Spot(msgspec.Struct, frozen=True):
    """A changed place with the lines around it, before and after, and the line it begins in."""

    line: int
    before: str
    after: str


def diff_of(spots: Sequence[Spot], name: str) -> str:
    """The changed places as one unified diff, long lines cut."""
    pieces: list[str] = []
    for spot in spots[:SHOWN_PLACES]:
        diff = unified_diff(spot.before, spot.after, name)
        at = diff.find("@@")
        pieces += [*([] if pieces else [diff[:at]]), _moved(diff[at:], spot.line - 1)]
    lines = shown("".join(pieces)).split("\n")[:-1]
    n_more = len(spots) - SHOWN_PLACES
    whole = "".join(f"{line}\n" for line in _cut(lines))
    return whole + (f"[… {n_more:,} more places …]\n" if n_more > 0 else "")


def figure_of(spots: Sequence[Spot]) -> str:
    """How many lines came and went."""
    counts = [count_changes(spot.before, spot.after) for spot in spots]
    n_added, n_removed = (sum(numbers) for numbers in zip(*counts, strict=True))
    return f"+{n_added} \N{MINUS SIGN}{n_removed}"


def cut_line(line: str) -> str:
    """A line as it stands in the diff."""
    return line if len(line) <= LINE_CHARS else untorn(line[:LINE_CHARS])


def _moved(hunks: str, by: int) -> str:
    """Hunks of a part, as hunks of the whole, which has ``by`` more lines before it."""

    def moved(head: re.Match[str]) -> str:
        old, n_old, new, n_new = head.groups(default="")
        return f"@@ -{int(old) + by}{n_old} +{int(new) + by}{n_new} @@"

    return _HUNK.sub(moved, hunks)


def _cut(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        head = cut_line(line)
        more = len(line) - len(head)
        yield f"{head}[… {more:,} more characters]" if more else line
