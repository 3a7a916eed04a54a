"""Selects the sessions of a workspace for a list: the newest, or those matching a search."""

from __future__ import annotations

from collections.abc import Iterator

from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import SteeringRecord, TurnStartRecord
from indwell.sessions.storage.store import SessionStore


def listed(
    store: SessionStore, *, limit: int, before: str | None, query: str = ""
) -> tuple[tuple[Overview, ...], bool]:
    """Return a page of sessions, newest first, and whether older ones exist; blocks.

    Args:
        store: The workspace's sessions.
        limit: The size of the page.
        before: Only sessions older than this one.
        query: Words that the title or the user's prompts must all contain, ignoring case.

    Raises:
        SessionError: They cannot be listed or read.
    """
    ids = [one for one in store.ids() if before is None or one < before]
    if not query.strip():
        return tuple(store.overview(one) for one in ids[:limit]), len(ids) > limit
    found: list[Overview] = []
    for seen in _matching(store, ids, query.casefold().split()):
        if len(found) == limit:
            return tuple(found), True
        found.append(seen)
    return tuple(found), False


def _matching(store: SessionStore, ids: list[str], words: list[str]) -> Iterator[Overview]:
    for session in ids:
        reading = store.scan(session)
        seen = overview(session, reading)
        said = "\n".join((seen.title, *_said(reading))).casefold()
        if all(word in said for word in words):
            yield seen


def _said(reading: LogReading) -> Iterator[str]:
    for record in reading.records:
        if isinstance(record, TurnStartRecord | SteeringRecord):
            yield record.words
