"""``indwell replay``: replays recorded conversations and reports each preset."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from indwell.cli.replay.options import ReplayOptions
from indwell.cli.stored.imported import read_sessions
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import told
from indwell.context.compaction.step import TokenRates
from indwell.context.request.window_parts import PART_NAMES
from indwell.context.untrusted_text import one_line
from indwell.errors import ToolError, UserError
from indwell.files.contents.atomic import write_atomic
from indwell.replay.cache import CacheRules
from indwell.replay.fitted_sessions import LeftOut, fitted_sessions, fold
from indwell.replay.loss import Reader
from indwell.replay.measure import RequestSums, replayed, total
from indwell.replay.replayed_conversation import Summarise
from indwell.sandbox.worker_processes import mapped
from indwell.sessions.imports import Recorded

if TYPE_CHECKING:
    from rich.console import Console


Item = TypeVar("Item")
_WIDTH = 100  # the limit of characters for a line if the output is no terminal
_TITLE = 80  # the limit of characters for the title above a picture
_NOTES = 5  # the limit of notes that are shown; further notes are counted


class ReplayReport(msgspec.Struct, frozen=True):
    """A replay of several sessions under several presets.

    Attributes:
        window: The context window in tokens.
        names: The names of the sessions.
        notes: Sentences about repairs of the recordings.
        presets: The names of the presets.
        each: The figures of each preset, for each session.
        totals: The sums for each preset.
        prices: The source of the prices, in words, or empty if costs are relative to the price of a
            million input tokens.
        fitted: Whether numbers of compaction were fitted on the session, for each session.
    """

    window: int
    names: tuple[str, ...]
    notes: tuple[str, ...]
    presets: tuple[str, ...]
    each: tuple[tuple[RequestSums, ...], ...]
    totals: tuple[RequestSums, ...]
    prices: str = ""
    fitted: tuple[bool, ...] = ()

    def series(self) -> tuple[str, dict[str, tuple[int, ...]]]:
        """Return the session with the most requests, and the tokens of each request, by preset."""
        at = max(range(len(self.each)), key=lambda number: self.each[number][0].requests)
        rows = zip(self.presets, self.each[at], strict=True)
        return one_line(self.names[at]), {name: one.sizes for name, one in rows}


def progress(results: Iterable[Item], n: int) -> Iterator[Item]:
    """Yield ``results``, with a progress bar on a terminal."""
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


def print_json(report: ReplayReport, *, each: bool) -> None:
    """Print an object with the totals; if requested, first print an object for each session.

    Notes on repairs go to stderr.
    """
    if each:
        for name, figures, is_fitted in zip(report.names, report.each, report.fitted, strict=True):
            one = _object(report, 1, figures, n_fitted=int(is_fitted))
            print(json_line({"session": name, "fold": fold(name), **one}))
    n_fitted = sum(report.fitted)
    print(json_line(_object(report, len(report.names), report.totals, n_fitted=n_fitted)))
    for note in report.notes:
        print(one_line(note), file=sys.stderr)


def print_table(report: ReplayReport, *, each: bool) -> None:
    """Print a table of the totals; if requested, first print a table for each session."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    if each:
        for name, figures in zip(report.names, report.each, strict=True):
            _print_table(console, name, _table(report.presets, figures))
    n = len(report.names)
    title = f"{n} session{'s' if n != 1 else ''}, window {report.window:,}"
    _print_table(console, told(title), _table(report.presets, report.totals))
    unit = f"US dollars, as {report.prices}" if report.prices else "a million input tokens"
    lines = [f"cost in {unit}; includes summaries and lost text that was read again"]
    lines.append("`indwell replay --help` explains rows and presets")
    lines += _rules(report)
    lines.append(_fitted_words(sum(report.fitted), n))
    lines += [f"note: {note}" for note in report.notes[:_NOTES]]
    if len(report.notes) > _NOTES:
        lines.append(f"and {len(report.notes) - _NOTES} notes more")
    for line in lines:
        console.print(one_line(told(line)), markup=False, highlight=False, soft_wrap=True)


def _fitted_words(n_fitted: int, n: int) -> str:
    """Say how many of ``n`` sessions were used to fit numbers of the preset ``default``."""
    n_all = len(fitted_sessions().sessions)
    if not n_fitted:
        return f"`default` was fitted on {n_all:,} sessions, and none of the {n:,} is among them"
    return f"`default` was fitted on {n_fitted:,} of the {n:,} sessions; see --leave-out"


def _rules(report: ReplayReport) -> Iterator[str]:
    """Yield the rules that each preset broke, with the number of requests that broke them."""
    for name, figures in zip(report.presets, report.totals, strict=True):
        broken = [f"{rule} ({n:,})" for rule, n in figures.broken().items() if n]
        if broken:
            yield f"violations of {name}, in requests: {', '.join(broken)}"


def _object(
    report: ReplayReport, n: int, figures: Iterable[RequestSums], *, n_fitted: int
) -> dict[str, object]:
    by_name = {
        name: {**one.shown(), "filled": one.filled()}
        for name, one in zip(report.presets, figures, strict=True)
    }
    return {
        "window": report.window,
        "sessions": n,
        "fitted_sessions": n_fitted,
        "presets": by_name,
    }


def _print_table(console: Console, title: str, table: object) -> None:
    """Print the title on its own line, because a table would wrap the title."""
    console.print(one_line(title), markup=False, highlight=False, style="italic", soft_wrap=True)
    console.print(table)


def _table(presets: Sequence[str], figures: Iterable[RequestSums]) -> object:
    """Return a table with a column for each preset and a row for each figure."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in presets:
        table.add_column(name, justify="right", no_wrap=True)
    figures = tuple(figures)
    fills = [one.filled() for one in figures]
    for row in zip(_ROWS, *map(_cells, figures), strict=True):
        table.add_row(*row)
    for part in PART_NAMES:
        if any(fill[part] for fill in fills):
            table.add_row(f"window: {part}", *(_cell(fill[part], ".1%") for fill in fills))
    return table


_ROWS = (
    "requests", "tokens", "cached", "cost", "summaries", "kept", "edit lines", "recoverable",
    "compactions", "largest", "violations", "seconds",
    "study: cost", "study: kept", "study: lines",
)  # fmt: skip


def _cells(one: RequestSums) -> tuple[str, ...]:
    shown = one.shown()
    return (
        f"{one.requests:,}",
        f"{one.tokens / 1e6:.1f}M",
        _cell(shown["cached_share"], ".1%"),
        f"{shown['cost']:.3f}",
        f"{shown['summary_cost']:.3f}",
        _cell(shown["kept"]),
        _cell(shown["edit_lines"]),
        _cell(shown["recoverable"]),
        f"{one.compactions:,}",
        f"{one.largest_request:,}",
        f"{one.violations:,}",
        f"{one.seconds:.1f}",
        f"{shown['study_cost']:.3f}",
        _cell(shown["study_kept"]),
        _cell(shown["study_edit_lines"]),
    )


def _cell(fraction: float | None, form: str = ".3f") -> str:
    """Return a fraction as text; a fraction of nothing is a dash."""
    return "–" if fraction is None else format(fraction, form)


class _Job(msgspec.Struct, frozen=True):
    """The part of the options that worker processes receive."""

    presets: Sequence[str]
    window: int
    ratio: float
    cache: CacheRules
    pause_s: float
    rates: TokenRates


def replay(wish: ReplayOptions) -> int:
    """Replay the recordings and print the report.

    Raises:
        UserError: A file cannot be read, or contains no conversation.
        NobodyThere: The model for the summaries does not answer.
    """
    read = [read_sessions(file) for file in wish.files]
    sessions = [one for found, _ in read for one in found]
    notes = [note for _, repairs in read for note in repairs]
    if not sessions:
        why = "".join(f"; {note}" for note in notes[:3])
        raise UserError(f"no conversation in {', '.join(wish.files)}{why}")
    if wish.leave_out != LeftOut():
        sessions, note = without(wish.leave_out, sessions)
        notes = [note, *notes]
    fitted = fitted_sessions()
    listed = _rates(wish)
    measured = tuple(_all(wish, sessions, listed[0] if listed else TokenRates()))
    troubles = dict.fromkeys(why for row in measured for one in row for why in one.troubles)
    report = ReplayReport(
        window=wish.window,
        names=tuple(one.id for one in sessions),
        notes=(*notes, *(f"summaries were extracted by code: {why}" for why in troubles)),
        presets=wish.presets,
        each=measured,
        totals=tuple(total(column) for column in zip(*measured, strict=True)),
        prices=listed[1] if listed else "",
        fitted=tuple(map(fitted.has, sessions)),
    )
    (print_json if wish.json else print_table)(report, each=wish.each)
    if wish.plot is not None:
        path = Path(wish.plot).resolve()
        longest, series = report.series()
        _write(path, drawn(series, wish.window, path.suffix.lower(), title=longest))
    return 0


def without(left_out: LeftOut, sessions: Sequence[Recorded]) -> tuple[list[Recorded], str]:
    """Return the sessions that are not left out, and a sentence about the others.

    Raises:
        UserError: All of the sessions are left out.
    """
    kept = left_out.kept(sessions, fitted_sessions())
    if not kept:
        options = {
            "--leave-out": left_out.fitted,
            "--leave-out-folds": left_out.folds,
            "--leave-out-agents": left_out.agents,
        }
        named = ", ".join(name for name, value in options.items() if value)
        raise UserError(
            f"{named}: all {len(sessions):,} sessions are left out; replay sessions of another "
            "project or agent"
        )
    return kept, f"sessions left out: {len(sessions) - len(kept):,} of {len(sessions):,}"


def _rates(wish: ReplayOptions) -> tuple[TokenRates, str] | None:
    """Return the prices and their source, or None if costs are relative to the input price.

    Raises:
        UserError: The prices of the requested model are not known.
    """
    if not (wish.prices or wish.model):
        return None
    from indwell.cli.replay.model import listed_rates

    listed = listed_rates(wish.prices or wish.model, anywhere=bool(wish.prices))
    if listed is None and wish.prices:
        raise UserError(
            f"--prices: the price of {wish.prices!r} is not known: it is not in your settings, "
            f"at your endpoint or in any list; name another model"
        )
    return listed


def _all(
    wish: ReplayOptions, sessions: Sequence[Recorded], rates: TokenRates
) -> Iterator[tuple[RequestSums, ...]]:
    """Yield the figures of each session under each preset."""
    job = _Job(wish.presets, wish.window, wish.ratio, wish.cache, wish.pause_s, rates)
    if wish.model:
        from indwell.cli.replay.model import model_summaries

        with model_summaries(wish.model) as summarise:
            asked = (measured(job, one, summarise) for one in sessions)
            yield from progress(asked, len(sessions))
        return
    with closing(mapped(partial(measured, job), sessions)) as results:
        yield from progress(results, len(sessions))


def measured(
    job: _Job, session: Recorded, summarise: Summarise | None = None
) -> tuple[RequestSums, ...]:
    """Measure one recording under each preset, and read its texts only once."""
    reader = Reader()
    figures: list[RequestSums] = []
    for name in job.presets:
        began_s = perf_counter()
        one = replayed(
            session,
            name,
            job.window,
            ratio=job.ratio,
            cache=job.cache,
            rates=job.rates,
            pause_s=job.pause_s,
            reader=reader,
            summarise=summarise,
        )
        figures.append(msgspec.structs.replace(one, seconds=perf_counter() - began_s))
    return tuple(figures)


def drawn(
    series: Mapping[str, Sequence[int]], window: int, form: str = ".svg", *, title: str = ""
) -> bytes:
    """Draw the tokens of each request, with the window as a dashed line.

    Args:
        series: The tokens of each request, by preset.
        window: The limit of tokens for a request.
        form: One of ``FORMATS``.
        title: The name of the session; a long name is cut.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    # Treat a session's name as text, not as a formula, and keep text as text in an SVG.
    with rc_context({"text.parse_math": False, "svg.fonttype": "none"}), BytesIO() as picture:
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        axes = figure.subplots()
        for name, tokens in series.items():
            axes.plot(range(1, len(tokens) + 1), tokens, label=name)
        axes.axhline(window, color="0.6", linestyle="--", label=f"window {window:,}")
        axes.set(xlabel="request", ylabel="tokens", title=title[:_TITLE], ylim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.legend()
        figure.savefig(picture, format=form.removeprefix("."), dpi=200)
        return picture.getvalue()


def _write(path: Path, picture: bytes) -> None:
    try:
        write_atomic(path, picture, [path.parent])
    except ToolError as error:
        raise UserError(f"the picture was not written: {error}") from error
