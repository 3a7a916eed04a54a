"""One line of a list of sessions: when, which model, the first words, turns, cost (H61). Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from indwell.messages import Usage
from indwell.sessions.lines import BULKY, LogReading, read
from indwell.sessions.records import (
    IMPORTED,
    Forked,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    TurnStartRecord,
)
from indwell.sessions.told import Titled

PREVIEW_CHARACTERS = 120  # of the first user message; about one line of a list


class Overview(msgspec.Struct, frozen=True):
    """One session as a line of a list.

    Attributes:
        id: Of the session.
        workspace: The folder it is for; empty if the log does not say.
        at: When it began, ISO 8601 in UTC; empty if the log does not say.
        model: The one asked last.
        preview: The first words of the user, on one line.
        title: The user's title for it; ``preview`` if it was given none.
        turns: Turns begun.
        usage: Tokens of all of them.
        cost: US dollars; None if one price was not known.
        notices: What could not be read, a sentence each.
        imported: Was it recorded by another tool?
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
    """Sum a log up that comes in pieces, without reading what was said in it."""
    return overview(session, read(pieces, passing=BULKY))


def preview_of(words: str) -> str:
    """The beginning of the user's words, on one line."""
    return " ".join(words.split())[:PREVIEW_CHARACTERS]


def overview(session: str, reading: LogReading) -> Overview:
    """Sum a log up; a broken one gives what could be read of it."""
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
                model = model if record.agent else record.model
                usage += record.usage
                cost = None if cost is None or record.cost is None else cost + record.cost
            case Rewound():
                model = record.model or model
            case Forked():  # what was copied was paid for elsewhere
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
