"""Summary of a session for lists (H61), and sums by day, session, turn and model (H37). Pure.

For the sums, only the short records and the compactions of a log are decoded, not messages and
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar, get_args

import msgspec

from indwell.context.request.cache_health import UsageFigures, of_call, of_compaction
from indwell.messages import Usage
from indwell.sessions.log_lines import BULKY, LogReading, read
from indwell.sessions.records import (
    IMPORTED,
    CompactionRecord,
    Forked,
    Record,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    Titled,
    TurnStartRecord,
)

# The limit in characters for the first user message is about one line of a list.
PREVIEW_CHARACTERS = 120
_Key = TypeVar("_Key")
_NEEDED = (CompactionRecord, Forked, SessionStarted, Spent)
_PASSED = tuple(
    f'{{"type":"{kind.__struct_config__.tag}",'.encode()
    for kind in get_args(Record)
    if kind not in _NEEDED
)


class Overview(msgspec.Struct, frozen=True):
    """The summary of one session.

    Attributes:
        id: Session id.
        workspace: The workspace folder, or empty if the log does not name it.
        at: Start time, ISO 8601 in UTC, or empty if the log has no start time.
        model: The newest model.
        preview: The beginning of the user's first message, on one line.
        title: The user's title, or the name that the first prompt gives.
        turns: Number of turns begun.
        usage: Tokens of all turns.
        cost: The cost in US dollars, or None if a price was unknown.
        notices: A sentence about each unreadable part.
        imported: Whether another tool recorded the session.
    """

    id: str
    workspace: str = ""
    at: str = ""
    model: str = ""
    preview: str = ""
    title: str = ""
    turns: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    notices: tuple[str, ...] = ()
    imported: bool = False


def scanned(session: str, pieces: Iterable[bytes]) -> Overview:
    """Summarise a log from pieces of bytes, without decoding its messages."""
    return overview(session, read(pieces, passing=BULKY))


def preview_of(words: str) -> str:
    """Return the beginning of the user's message, on one line."""
    return " ".join(words.split())[:PREVIEW_CHARACTERS]


def session_name(words: str, title: str) -> str:
    """Return the name that a session gets from its first prompt.

    A code action's text is Indwell's own, so the action's title is the name. In all other sessions,
    the user's text is the name.
    """
    own = preview_of(words)
    return own if own.startswith(title) else title


def overview(session: str, reading: LogReading) -> Overview:
    """Summarise a log; for a damaged log, summarise the readable part."""
    workspace = at = model = preview = name = title = ""
    turns, usage = 0, Usage()
    cost: float | None = 0.0
    imported = False
    for record in reading.records:
        match record:
            case SessionStarted():
                workspace, at, model = record.workspace, record.at, record.model
            case TurnStartRecord():
                turns += 1
                at = at or record.at
                preview = preview or preview_of(record.words)
                name = name or session_name(record.words, record.title)
            case Spent():
                model = record.model if record.is_own else model
                usage += record.usage
                cost = None if cost is None or record.cost is None else cost + record.cost
            case Rewound():
                model = record.model or model
            case Forked():  # The cost of copied turns belongs to the original session.
                model, usage, cost = record.model or model, Usage(), 0.0
            case Titled():
                title = record.title
            case Repaired(what=what):
                imported = imported or what.startswith(IMPORTED)
            case _:
                pass  # The other records are the conversation itself.
    return Overview(
        session,
        workspace,
        at,
        model,
        preview,
        title or name,
        turns,
        usage,
        cost,
        reading.notices,
        imported,
    )


class StatisticsKey(NamedTuple):
    """The key of a sum; ``day`` is a date in the user's time zone, such as ``2026-11-21``."""

    day: str
    model: str
    turn: int


class SessionFigures(msgspec.Struct, frozen=True):
    """The usage of one session.

    Attributes:
        id: Session id.
        workspace: The workspace folder, or empty if the log does not name it.
        model: The newest model.
        parts: The sums by day, model and turn.
        notices: A sentence about each unreadable part.
    """

    id: str
    workspace: str = ""
    model: str = ""
    parts: Mapping[StatisticsKey, UsageFigures] = {}
    notices: tuple[str, ...] = ()

    @property
    def total(self) -> UsageFigures:
        """The sum of all parts."""
        return sum(self.parts.values(), UsageFigures())


class Statistics(msgspec.Struct, frozen=True):
    """The usage of several sessions.

    Attributes:
        total: The sum of all sessions.
        days: The sums by the user's date, newest first.
        models: The sums by model name, most prompt tokens first.
        sessions: The sessions with any usage, newest first.
    """

    total: UsageFigures
    days: Mapping[str, UsageFigures]
    models: Mapping[str, UsageFigures]
    sessions: tuple[SessionFigures, ...]


def scanned_figures(
    session: str, pieces: Iterable[bytes], day_of: Callable[[str], str], *, since: str = ""
) -> SessionFigures:
    """Sum up a log from pieces of bytes.

    Args:
        session: Session id.
        pieces: The log's bytes, split anywhere.
        day_of: Converts a record's time to the user's date.
        since: The first day to include, or empty for all days.
    """
    reading = read(pieces, passing=_PASSED)
    parts: dict[StatisticsKey, UsageFigures] = {}
    workspace = model = ""
    for record in reading.records:
        match record:
            case SessionStarted():
                workspace, model = record.workspace, record.model
                continue
            case Forked():
                parts.clear()  # Copied records belong to the original session.
                continue
            case Spent():
                model = record.model
                figures = of_call(record.usage, record.cost)
            case CompactionRecord():
                figures = of_compaction(record.layer, record.before, record.after)
            case _:
                continue
        day = day_of(record.at)
        if day >= since:
            part = StatisticsKey(day, model, record.turn)
            parts[part] = parts.get(part, UsageFigures()) + figures
    return SessionFigures(session, workspace, model, parts, reading.notices)


def statistics(sessions: Iterable[SessionFigures]) -> Statistics:
    """Combine the sums of several sessions."""
    shown = sorted((one for one in sessions if one.parts), key=lambda one: one.id, reverse=True)
    parts = [item for one in shown for item in one.parts.items()]
    days = _grouped(parts, lambda part: part.day)
    models = _grouped(parts, lambda part: part.model)
    return Statistics(
        total=sum((figures for _, figures in parts), UsageFigures()),
        days=dict(sorted(days.items(), reverse=True)),
        models=dict(sorted(models.items(), key=lambda item: (-item[1].usage.input, item[0]))),
        sessions=tuple(shown),
    )


def by_turn(session: SessionFigures) -> Mapping[int, UsageFigures]:
    """Return the sums of each turn, in order; 0 means work between turns."""
    return dict(sorted(_grouped(session.parts.items(), lambda part: part.turn).items()))


def _grouped(
    parts: Iterable[tuple[StatisticsKey, UsageFigures]], key: Callable[[StatisticsKey], _Key]
) -> dict[_Key, UsageFigures]:
    groups: dict[_Key, UsageFigures] = {}
    for part, figures in parts:
        groups[key(part)] = groups.get(key(part), UsageFigures()) + figures
    return groups
