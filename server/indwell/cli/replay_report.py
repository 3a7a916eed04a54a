"""What ``indwell replay`` prints: a table for people, JSON for programs, a bar while it works."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from indwell.replay.figures import Figures

Item = TypeVar("Item")
_NOTES = 5  # shown of what was mended; the rest is a number


class Report(msgspec.Struct, frozen=True):
    """A replay of several sessions under several presets.

    Attributes:
        window: Tokens.
        names: Of the sessions.
        notes: What was mended in them.
        presets: Their names.
        each: For each session the figures of each preset.
        totals: For each preset.
    """

    window: int
    names: tuple[str, ...]
    notes: tuple[str, ...]
    presets: tuple[str, ...]
    each: tuple[tuple[Figures, ...], ...]
    totals: tuple[Figures, ...]

    def series(self) -> dict[str, tuple[int, ...]]:
        """Tokens of each request of the session with most of them, by preset."""
        longest = max(self.each, key=lambda one: one[0].requests)
        return {name: one.sizes for name, one in zip(self.presets, longest, strict=True)}


def progress(results: Iterable[Item], n: int) -> Iterator[Item]:
    """Pass ``results`` on, with a bar on a terminal."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=n)
        for one in results:
            bar.advance(task)
            yield one


def print_json(report: Report, *, each: bool) -> None:
    """One object with the totals; before it, if asked for, one for each session."""
    if each:
        for name, figures in zip(report.names, report.each, strict=True):
            print(json.dumps({"session": name, **_object(report, 1, figures)}, ensure_ascii=False))
    print(json.dumps(_object(report, len(report.names), report.totals)))


def print_table(report: Report, *, each: bool) -> None:
    """A table of the totals, and one for each session if asked for."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 120)
    if each:
        for name, figures in zip(report.names, report.each, strict=True):
            console.print(_table(f"{name}", report.presets, figures))
    n = len(report.names)
    title = f"{n} session{'s' if n != 1 else ''}, window {report.window:,}"
    console.print(_table(title, report.presets, report.totals))
    for note in report.notes[:_NOTES]:
        console.print(f"mended: {note}", markup=False)
    if len(report.notes) > _NOTES:
        console.print(f"and {len(report.notes) - _NOTES} notes more")


def _object(report: Report, n: int, figures: Iterable[Figures]) -> dict[str, object]:
    by_name = {name: one.shown() for name, one in zip(report.presets, figures, strict=True)}
    return {"window": report.window, "sessions": n, "presets": by_name}


_COLUMNS = (
    "preset", "requests", "tokens", "cached", "cost", "of it summaries", "kept", "edit lines",
    "recoverable", "compactions", "largest", "violations", "seconds",
)  # fmt: skip


def _table(title: str, presets: Iterable[str], figures: Iterable[Figures]) -> object:
    from rich.table import Table

    table = Table(title=title)
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "preset" else "right")
    for name, one in zip(presets, figures, strict=True):
        shown = one.shown()
        table.add_row(
            name,
            f"{one.requests:,}",
            f"{one.tokens / 1e6:.1f}M",
            f"{shown['cached_share']:.1%}",
            f"{shown['cost']:.2f}",
            f"{shown['summary_cost']:.2f}",
            f"{shown['kept']:.3f}",
            f"{shown['edit_lines']:.3f}",
            f"{shown['recoverable']:.3f}",
            f"{one.compactions:,}",
            f"{one.largest_request:,}",
            f"{one.violations:,}",
            f"{one.seconds:.1f}",
        )
    return table
