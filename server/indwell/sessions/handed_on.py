"""Has a session taken the task of another one along? Told by the logs of those that came later."""

from __future__ import annotations

from indwell.errors import SessionError
from indwell.sessions.records import TurnStarted
from indwell.sessions.store import SessionStore
from indwell.sessions.told import Inherited


def was_handed_on(store: SessionStore, origin: str, since: str) -> bool:
    """Has a session begun a turn with the task of ``origin``, begun after ``since``? Blocks.

    One that was killed before its first turn has not: nobody would go on with it.
    """
    try:
        later = [one for one in store.ids() if one > since]
    except SessionError:
        return False
    return any(_has_taken(store, one, origin) for one in later)


def _has_taken(store: SessionStore, session: str, origin: str) -> bool:
    try:
        records = store.scan(session).records
    except SessionError:
        return False
    takes = any(isinstance(one, Inherited) and one.session == origin for one in records)
    return takes and any(isinstance(one, TurnStarted) for one in records)
