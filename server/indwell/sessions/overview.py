"""Summary of a session for lists: time, model, first words, turns, cost (H61). Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from indwell.messages import Usage
from indwell.sessions.display_records import Titled
from indwell.sessions.log_lines import BULKY, LogReading, read
from indwell.sessions.records import (
    IMPORTED,
    Forked,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    TurnStartRecord,
)

PREVIEW_CHARACTERS = 120  # of the first user message; about one line of a list


class Overview(msgspec.Struct, frozen=True):
    """The summary of one session.

    Attributes:
        id: Session id.
        workspace: The workspace folder; empty if the log does not name it.
        at: Start time, ISO 8601 in UTC; empty if the log does not give it.
        model: The newest model.
        preview: The first words of the user, on one line.
        title: The user's title; ``preview`` if there is none.
        turns: Number of turns begun.
        usage: Tokens of all turns.
        cost: US dollars; None if a price was unknown.
        notices: What could not be read, a sentence each.
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


def overview(session: str, reading: LogReading) -> Overview:
    """Summarise a log; of a damaged log, what could be read."""
    workspace = at = model = preview = title = ""
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
            case Spent():
                model = record.model if record.is_own else model
                usage += record.usage
                cost = None if cost is None or record.cost is None else cost + record.cost
            case Rewound():
                model = record.model or model
            case Forked():  # the cost of the copied turns counts in the original session
                model, usage, cost = record.model or model, Usage(), 0.0
            case Titled():
                title = record.title
            case Repaired(what=what):
                imported = imported or what.startswith(IMPORTED)
            case _:
                pass  # the other records are the conversation itself
    return Overview(
        session,
        workspace,
        at,
        model,
        preview,
        title or preview,
        turns,
        usage,
        cost,
        reading.notices,
        imported,
    )
