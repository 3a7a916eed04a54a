"""Adds up the figures of sessions by agent, window and preset, and prints them as tables.

"Left out" are the sessions that no number of the engine was fitted or chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from replays import PRESETS, Row

from indwell.replay.measure import total


class Figures(NamedTuple):
    """The figures of several sessions; a share of nothing is None.

    Attributes:
        cost: The cost relative to the preset ``slide`` on the same sessions.
        names: The share of needed names that the requests still show.
        lines: The share of lines that an edit had to match, and that the requests still show.
        n_sessions: The number of sessions.
        n_names: The number of needed names whose source was shortened.
        n_lines: The number of needed lines whose source was shortened.
        lost_names, lost_lines: The needed names and lines that the requests do not show. A preset
            that shortens more sources has more names and lines to lose, so both the share and the
            number count.
        reread: The price of reading lost text again, relative to the cost of ``slide``.
        violations: The number of broken rules.
    """

    cost: float | None
    names: float | None
    lines: float | None
    n_sessions: int
    n_names: int
    n_lines: int
    lost_names: int
    lost_lines: int
    reread: float | None
    violations: int


def figures(rows: Iterable[Row], preset: str) -> Figures:
    """Return the figures of a preset for the sessions of some rows of one window."""
    rows = list(rows)
    own = {row.session: row for row in rows if row.preset == preset}
    slide = [row for row in rows if row.preset == "slide" and row.session in own]
    base = total(row.sums() for row in slide).cost
    sums = total(row.sums() for row in own.values())
    is_whole = len(slide) == len(own)
    return Figures(
        cost=sums.cost / base if base and is_whole else None,
        names=sums.kept / sums.pairs if sums.pairs else None,
        lines=sums.lines_kept / sums.lines if sums.lines else None,
        n_sessions=len(own),
        n_names=sums.pairs,
        n_lines=sums.lines,
        lost_names=sums.pairs - sums.kept,
        lost_lines=sums.lines - sums.lines_kept,
        reread=sums.reread_cost / base if base and is_whole else None,
        violations=sums.violations,
    )


SIDES: Mapping[str, Callable[[Row], bool]] = {
    "left out": lambda row: not row.is_fitted,
    "fitted": lambda row: row.is_fitted,
}


Table: TypeAlias = dict[str, dict[str, dict[str, Figures]]]
"""The figures by agent and window, by preset, and by group of sessions."""


def table(rows: Sequence[Row], groups: Mapping[str, Callable[[Row], bool]]) -> Table:
    """Return the figures of each agent, window, preset and group of sessions."""
    found: Table = {}
    for agent in dict.fromkeys(row.agent for row in rows):
        for window in sorted({row.window for row in rows}):
            here = [row for row in rows if row.agent == agent and row.window == window]
            found[f"{agent} {window // 1_000}k"] = {
                preset: {
                    group: figures((row for row in here if chosen(row)), preset)
                    for group, chosen in groups.items()
                }
                for preset in PRESETS
                if any(row.preset == preset for row in here)
            }
    return found


def plain(found: Table) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """Return a table with names instead of positions, for JSON."""
    return {
        place: {
            preset: {group: one._asdict() for group, one in groups.items()}
            for preset, groups in presets.items()
        }
        for place, presets in found.items()
    }


def shown(found: Table) -> str:
    """Return a table as text: cost / names / lines, and the number of sessions and lost lines."""
    lines = []
    for place, presets in found.items():
        for at, (preset, groups) in enumerate(presets.items()):
            if not lines:
                heads = (f"{group}: cost / names / lines" for group in groups)
                lines.append(f"{'':27}" + "".join(f"{head:{_CELL}}" for head in heads))
            cells = "".join(f"{_cell(one):{_CELL}}" for one in groups.values())
            lines.append(f"{place if not at else '':17}{preset:10}{cells}".rstrip())
    return "\n".join(lines)


_CELL = 56  # the width of a cell


def _cell(one: Figures) -> str:
    if not one.n_sessions:
        return "no session"
    shares = " / ".join("—" if part is None else f"{part:.3f}" for part in one[:3])
    sessions = f"{one.n_sessions} session{'s' if one.n_sessions > 1 else ''}"
    return f"{shares}  ({sessions}, {one.lost_lines:,} of {one.n_lines:,} lines lost)"


def markdown(found: Table) -> str:
    """Return the table for a page: left out and fitted sessions side by side.

    A cell is empty if some of the sessions were not measured.
    """
    lines = [
        "| agent, window | sessions | `default` | `slide` | `ladder-a` | oracle |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, presets in found.items():
        agent, _, window = place.partition(" ")
        for side in SIDES:
            own = [presets.get(preset, {}).get(side) for preset in PRESETS]
            known = [one for one in own if one is not None and one.n_sessions]
            if not known:
                continue
            n = max(one.n_sessions for one in known)
            cells = " | ".join(
                "" if one is None or one.n_sessions < n else _short_cell(one) for one in own
            )
            where = f"`{agent}`, {window.removesuffix('k')},000"
            lines.append(f"| {where} | {n} {side} | {cells} |")
    return "\n".join(lines)


def _short_cell(one: Figures) -> str:
    if not one.n_sessions:
        return ""
    shares = " / ".join("–" if part is None else f"{part:.3f}".lstrip("0") for part in one[:3])
    return f"{shares} ({one.lost_lines:,})"
