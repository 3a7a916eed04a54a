"""What calls and compactions came to, by day, session, turn and model (H37). Pure.

Of a log only its short lines are read: what was said, sent and cut stays undecoded, but for the
compactions, whose numbers stand in their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar, get_args

import msgspec

from indwell.context.request.figures import UsageFigures, of_call, of_compaction
from indwell.sessions.lines import read
from indwell.sessions.records import CompactionRecord, Forked, Record, SessionStarted, Spent

_Key = TypeVar("_Key")

_NEEDED = (CompactionRecord, Forked, SessionStarted, Spent)
_PASSED = tuple(
    f'{{"type":"{kind.__struct_config__.tag}",'.encode()
    for kind in get_args(Record)
    if kind not in _NEEDED
)


class StatisticsKey(NamedTuple):
    """What a sum is about; ``day`` is the user's date, such as ``2026-11-21``."""

    day: str
    model: str
    turn: int


class SessionFigures(msgspec.Struct, frozen=True):
    """What one session took.

    Attributes:
        id: Of the session.
        workspace: The folder it is for; empty if the log does not say.
        model: The one asked last.
        parts: Its sums, the smallest that are told apart.
        notices: What could not be read, a sentence each.
    """

    id: str
    workspace: str = ""
    model: str = ""
    parts: Mapping[StatisticsKey, UsageFigures] = {}
    notices: tuple[str, ...] = ()

    @property
    def total(self) -> UsageFigures:
        """Of all its parts."""
        return sum(self.parts.values(), UsageFigures())


class Statistics(msgspec.Struct, frozen=True):
    """Sums of several sessions, each table in its order: days and sessions newest first.

    Attributes:
        total: Of all.
        days: By the user's date.
        models: By name; most prompt tokens first.
        sessions: Those that have anything to show.
    """

    total: UsageFigures
    days: Mapping[str, UsageFigures]
    models: Mapping[str, UsageFigures]
    sessions: tuple[SessionFigures, ...]


def scanned_figures(
    session: str, pieces: Iterable[bytes], day_of: Callable[[str], str], *, since: str = ""
) -> SessionFigures:
    """Sum up a log that comes in pieces.

    Args:
        session: Its id.
        pieces: Its bytes, cut anywhere.
        day_of: The user's date of a record's time.
        since: The first day that counts; empty: all.
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
                parts.clear()  # copies of what was done, and is counted, elsewhere
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
    """Put the sums of several sessions together."""
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
    """The sums of each turn, in order; 0 is what was done between turns."""
    return dict(sorted(_grouped(session.parts.items(), lambda part: part.turn).items()))


def _grouped(
    parts: Iterable[tuple[StatisticsKey, UsageFigures]], key: Callable[[StatisticsKey], _Key]
) -> dict[_Key, UsageFigures]:
    groups: dict[_Key, UsageFigures] = {}
    for part, figures in parts:
        groups[key(part)] = groups.get(key(part), UsageFigures()) + figures
    return groups
