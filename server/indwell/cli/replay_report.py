"""What ``indwell replay`` prints: a table for people, JSON for programs, a bar while it works."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from indwell.cli.json_line import json_line
from indwell.policy.approvals import one_line
from indwell.replay.figures import Figures

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")
_WIDTH = 100  # characters, where no terminal says it
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
        prices: What price list costs are shown by, in words; empty: in prices of a million input
            tokens.
    """

    window: int
    names: tuple[str, ...]
    notes: tuple[str, ...]
    presets: tuple[str, ...]
    each: tuple[tuple[Figures, ...], ...]
    totals: tuple[Figures, ...]
    prices: str = ""

    def series(self) -> tuple[str, dict[str, tuple[int, ...]]]:
        """The session with most requests, and the tokens of each of them, by preset."""
        at = max(range(len(self.each)), key=lambda number: self.each[number][0].requests)
        rows = zip(self.presets, self.each[at], strict=True)
        return one_line(self.names[at]), {name: one.sizes for name, one in rows}


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
    """One object with the totals; before it, if asked for, one for each session.

    What was mended is told on stderr.
    """
    if each:
        for name, figures in zip(report.names, report.each, strict=True):
            print(json_line({"session": name, **_object(report, 1, figures)}))
    print(json_line(_object(report, len(report.names), report.totals)))
    for note in report.notes:
        print(one_line(note), file=sys.stderr)


def print_table(report: Report, *, each: bool) -> None:
    """A table of the totals, and one for each session if asked for."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    if each:
        for name, figures in zip(report.names, report.each, strict=True):
            _print_table(console, name, _table(report.presets, figures))
    n = len(report.names)
    title = f"{n} session{'s' if n != 1 else ''}, window {report.window:,}"
    _print_table(console, title, _table(report.presets, report.totals))
    unit = f"US dollars, as {report.prices}" if report.prices else "a million input tokens"
    lines = [f"cost in {unit}; what was lost and read again, and summaries, are in it"]
    lines.append("what rows and presets are: `indwell replay --help`")
    lines += _rules(report)
    lines += [f"mended: {note}" for note in report.notes[:_NOTES]]
    if len(report.notes) > _NOTES:
        lines.append(f"and {len(report.notes) - _NOTES} notes more")
    for line in lines:
        console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def _rules(report: Report) -> Iterator[str]:
    """For each preset that broke rules: which, and in how many requests."""
    for name, figures in zip(report.presets, report.totals, strict=True):
        broken = [f"{rule} ({n:,})" for rule, n in figures.broken().items() if n]
        if broken:
            yield f"violations of {name}, in requests: {', '.join(broken)}"


def _object(report: Report, n: int, figures: Iterable[Figures]) -> dict[str, object]:
    by_name = {name: one.shown() for name, one in zip(report.presets, figures, strict=True)}
    return {"window": report.window, "sessions": n, "presets": by_name}


def _print_table(console: Console, title: str, table: object) -> None:
    """The title on a line of its own: a table would wrap it at its own width."""
    console.print(one_line(title), markup=False, highlight=False, style="italic", soft_wrap=True)
    console.print(table)


def _table(presets: Sequence[str], figures: Iterable[Figures]) -> object:
    """Presets side by side: six of them fit on 80 columns, their twelve figures would not."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in presets:
        table.add_column(name, justify="right", no_wrap=True)
    for row in zip(_ROWS, *map(_cells, figures), strict=True):
        table.add_row(*row)
    return table


_ROWS = (
    "requests", "tokens", "cached", "cost", "summaries", "kept", "edit lines", "recoverable",
    "compactions", "largest", "violations", "seconds",
)  # fmt: skip


def _cells(one: Figures) -> tuple[str, ...]:
    shown = one.shown()
    return (
        f"{one.requests:,}",
        f"{one.tokens / 1e6:.1f}M",
        f"{shown['cached_share']:.1%}",
        f"{shown['cost']:.3f}",
        f"{shown['summary_cost']:.3f}",
        f"{shown['kept']:.3f}",
        f"{shown['edit_lines']:.3f}",
        f"{shown['recoverable']:.3f}",
        f"{one.compactions:,}",
        f"{one.largest_request:,}",
        f"{one.violations:,}",
        f"{one.seconds:.1f}",
    )
