"""Prints figures as a small table, or as one JSON object with ``--json``."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence


def show(title: str, rows: Mapping[str, Mapping[str, float]], *, goal: str = "") -> None:
    """Print rows of named figures; all rows have the same names."""
    if "--json" in sys.argv:
        print(json.dumps({"title": title, "rows": rows, "goal": goal}))
        return
    names = list(next(iter(rows.values())))
    first = max(map(len, rows))
    print(f"\n{title}")
    print(" " * first, *(name.rjust(max(10, len(name))) for name in names), sep="  ")
    for row, figures in rows.items():
        cells = (f"{figures[name]:.2f}".rjust(max(10, len(name))) for name in names)
        print(row.ljust(first), *cells, sep="  ")
    if goal:
        print(f"goal: {goal}")


def percentile(figures: Sequence[float], percent: float) -> float:
    """Return the smallest figure that ``percent`` of the figures do not exceed."""
    ordered = sorted(figures)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def spread(figures: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the largest figure."""
    return {
        "median": statistics.median(figures),
        "p95": percentile(figures, 95),
        "largest": max(figures),
    }
