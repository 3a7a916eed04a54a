"""``indwell stats``: prints sums of model calls and compactions by day, session and model.

JSON names follow OpenTelemetry's conventions for generative AI (status "development", November
2026). Other names begin with ``indwell.``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from indwell.cli.stored.sessions import print_room, whole_id
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import cost_words
from indwell.cli.terminal.telling import tell
from indwell.context.request.cache_health import UsageFigures, named
from indwell.context.untrusted_text import one_line
from indwell.errors import UnknownSession
from indwell.files.append_log import pieces_of
from indwell.sessions.overview import (
    SessionFigures,
    Statistics,
    by_turn,
    scanned_figures,
    statistics,
)
from indwell.sessions.storage.retention import logs, session_ids
from indwell.sessions.storage.spending import local_day
from indwell.sessions.storage.store import folder_name
from indwell.settings.paths import state_folder

DAYS = 30  # the number of days that are shown by default
_SESSIONS_SHOWN = 20
# the number of shown characters of an id; the time at the beginning distinguishes sessions
_ID_SHOWN = 19
_PLAIN_WIDTH = 160  # the number of columns without a terminal
_UNBOUND_WIDTH = 10_000  # the number of columns for measuring the natural width of a table
# The number of characters of a time up to the minute, with its zone.
_MINUTE = 22

_Json: TypeAlias = dict[str, object]


def stats(*, days: int | None, session: str, all_folders: bool, as_json: bool) -> int:
    """Print the sums; return 0.

    Args:
        days: The number of days up to today; 0 means all days, and None means the default.
        session: The id of a single session, or the unique beginning of the id, or empty for all
            sessions.
        all_folders: Whether to include all folders, not only this folder.
        as_json: Whether to print JSON.

    Raises:
        UserError: The sessions cannot be read.
    """
    span = days if days is not None else 0 if session else DAYS
    found = _read(session, span, all_folders=all_folders or bool(session))
    shown = statistics(found)
    if as_json:
        sys.stdout.write(json_line(as_data(shown, with_turns=bool(session))) + "\n")
        return 0
    for one in found:
        for notice in one.notices:
            tell(f"{one.id}: {one_line(notice)}", file=sys.stderr)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PLAIN_WIDTH)
    _print(console, shown, span, session=session)
    if not session:
        print_room(state_folder(os.environ), is_terminal=console.is_terminal)
    return 0


def _read(session: str, span: int, *, all_folders: bool) -> list[SessionFigures]:
    """Return the sums of each session that may have calls in the last ``span`` days.

    Raises:
        UserError: The state folder cannot be listed, or the session does not exist.
    """
    state = state_folder(os.environ)
    folder = None if all_folders else folder_name(Path.cwd().resolve())
    now = datetime.now(UTC)
    since, since_s = "", 0.0
    if span > 0:
        first = now - timedelta(days=min(span, 36_500) - 1)
        # Start one day earlier, because a log's time of change ignores the user's time zone.
        since, since_s = local_day(first), (first - timedelta(days=1)).timestamp()
    wanted = whole_id(session, session_ids(state)) if session else ""
    paths = logs(state, folder=folder, used_after_s=since_s)
    if wanted:
        paths = tuple(one for one in paths if one[0] == wanted)
        if not paths and wanted not in session_ids(state):
            raise UnknownSession(
                f"there is no session {session!r}; `indwell sessions --all` lists them"
            )
    return [_figures(name, log, since) for name, log in paths]


def _figures(session: str, log: Path, since: str) -> SessionFigures:
    try:
        return scanned_figures(session, pieces_of(log), day_of, since=since)
    except FileNotFoundError:
        return SessionFigures(session)  # the session is just being created or deleted
    except OSError as error:
        return SessionFigures(session, notices=(f"its log cannot be read ({error.strerror})",))


def day_of(at: str) -> str:
    """Return the local date of a record's time, or the first ten characters of an invalid time."""
    return _day(f"{at[:16]}{at[-6:]}") if len(at) > _MINUTE else _day(at)


@lru_cache(maxsize=4_096)
def _day(at: str) -> str:
    try:
        return local_day(datetime.fromisoformat(at))
    except ValueError:
        return at[:10]


def as_data(shown: Statistics, *, with_turns: bool) -> _Json:
    """Return the sums as JSON; the turns are included only for a single session."""
    data: _Json = {
        "total": named(shown.total),
        "days": [{"day": day, **named(figures)} for day, figures in shown.days.items()],
        "models": [
            {"gen_ai.request.model": model, **named(figures)}
            for model, figures in shown.models.items()
        ],
        "sessions": [
            {
                "gen_ai.conversation.id": one.id,
                "gen_ai.request.model": one.model,
                "indwell.workspace": one.workspace,
                **named(one.total),
            }
            for one in shown.sessions
        ],
    }
    if with_turns:
        data["turns"] = [
            {"gen_ai.conversation.id": one.id, "indwell.turn": turn, **named(figures)}
            for one in shown.sessions
            for turn, figures in by_turn(one).items()
        ]
    return data


def _print(console: Console, shown: Statistics, span: int, *, session: str) -> None:
    if not shown.sessions:
        days = "day" if span == 1 else f"{span} days"
        when = f" in the last {days}" if span > 0 else ""
        if session:
            tell(
                f"no model calls in session {session}{when}; an imported session has none until "
                f"you resume it"
            )
            return
        tell(f"no model calls{when}; `--all` counts other folders', `--days 0` older ones")
        return
    console.print(_table("day", shown.days, shown.total))
    console.print()
    if shown.total.estimated:
        some = f"{shown.total.estimated:,} of {shown.total.requests:,} calls"
        tell(f"{some} reported no tokens; Indwell estimated theirs", file=sys.stderr)
    if session:
        for one in shown.sessions:
            turns = {str(turn): figures for turn, figures in by_turn(one).items()}
            console.print(Text(f"session {one.id}, {one_line(one.model)}"), soft_wrap=True)
            console.print(_table("turn", turns, None))
        return
    newest = shown.sessions[:_SESSIONS_SHOWN]
    rows = {one.id[:_ID_SHOWN]: one.total for one in newest}
    models = [one_line(one.model) for one in newest]
    table = _table("session", rows, None, models)
    wide = console.options.update(width=_UNBOUND_WIDTH)
    if console.measure(table, options=wide).maximum > console.width:
        # Leave out the model column first, because no other table has the other figures.
        table = _table("session", rows, None)
        table.collapse_padding = True
    console.print(table)
    n_older = len(shown.sessions) - _SESSIONS_SHOWN
    if n_older > 0:
        tell(f"the sums include {n_older} older sessions; `--json` lists them", file=sys.stderr)


def _table(
    title: str,
    rows: Mapping[str, UsageFigures],
    total: UsageFigures | None,
    models: Sequence[str] = (),
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    if models:
        table.add_column("model", overflow="fold")
    for name in ("calls", "tokens in", "cached", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=name != "cost")
    table.add_column("compactions")
    table.add_column("tokens saved", justify="right")
    for at, (name, figures) in enumerate(rows.items()):
        cells = (name, *models[at : at + 1], *_cells(figures))
        table.add_row(*map(Text, cells))
    if total is not None and len(rows) > 1:
        table.add_row(*(Text(cell, style="bold") for cell in ("total", *_cells(total))))
    return table


def _cells(figures: UsageFigures) -> tuple[str, ...]:
    rate = figures.hit_rate
    return (
        f"{figures.requests:,}",
        f"{figures.usage.input:,}",
        "" if rate is None else f"{rate:.0%}",
        f"{figures.usage.output:,}",
        cost_cell(figures),
        ", ".join(f"{layer} {one.count}" for layer, one in sorted(figures.compactions.items())),
        f"{figures.saved:,}" if figures.compactions else "",
    )


def cost_cell(figures: UsageFigures) -> str:
    """Return the cost; a sign says if calls of unknown price are not included."""
    if figures.unpriced and figures.known_cost:
        return f"over ${figures.known_cost:.4f} ({figures.unpriced:,} unknown)"
    return cost_words(figures.cost).removeprefix("cost ")
