"""Continues from an earlier turn: in the same session (rewind) or in a new session (fork, H62).

This module only changes conversations; ``review.verdicts`` rewinds files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.context.task_state import MOST_BYTES
from indwell.errors import SessionError, ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.private import write_private
from indwell.sessions.branches import (
    Fork,
    Rewind,
    changed_after,
    last_begun,
    last_ended,
    lived,
    model_of,
    turn_ends,
    up_to,
)
from indwell.sessions.records import (
    Forked,
    Inherited,
    PlanSet,
    Record,
    Rewound,
    SessionStarted,
    TurnStartRecord,
)
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.sessions.storage.writer import LogWriter


async def fork_session(
    store: SessionStore, origin: str, turn: int | None, *, now: datetime
) -> Fork:
    """Create a session with the conversation of ``origin`` up to the end of ``turn``.

    Args:
        store: The workspace's session store.
        origin: The session to copy; the session may be open in an editor, and stays unchanged.
        turn: The last turn to copy; None means the newest finished turn.
        now: The current time, with its time zone.

    Raises:
        SessionError: There is no such session or turn, or nothing can be written.
    """
    # The call is shielded, so that the log is always closed.
    return await asyncio.shield(_fork(store, origin, turn, now))


async def rewind_session(store: SessionStore, session: str, turn: int, *, now: datetime) -> Rewind:
    """Rewind a session's conversation to the end of ``turn``, by appending a record to its log.

    ``turn`` may be any turn in the log, including one that an earlier rewind abandoned.

    Raises:
        SessionError: No such session or turn exists, or the session is open or not writable.
    """
    return await asyncio.shield(_rewind(store, session, turn, now))


def spill_owners(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the other sessions whose spilled texts a fork uses, or empty if this is no fork."""
    owners = (owner for one in records if isinstance(one, Forked) for owner in one.spills)
    return tuple(dict.fromkeys(owners))


def check_whole(session: str, records: Sequence[Record]) -> None:
    """Check that a session is not an incomplete fork.

    Raises:
        SessionError: The process was killed while it copied the records.
    """
    forks = [one for one in records if isinstance(one, Forked)]
    if not forks or forks[-1].whole:
        return
    # The copied records end with the turn of ``forks[-1]``. If a later turn exists, the copy was
    # complete, and only the final ``Forked`` record was lost.
    if not any(isinstance(one, TurnStartRecord) and one.turn > forks[-1].turn for one in records):
        raise SessionError(
            f"session {session!r} is a fork of {forks[-1].session!r} that was never finished; "
            "delete it and fork again"
        )


def _copied(branch: Sequence[Record], origins: Forked, plans: PlanCopies) -> Iterator[Record]:
    """Yield the records of a fork's log, including the token counts of the endpoint."""
    yield origins
    for record in branch:
        if isinstance(record, PlanSet):
            yield plans.of(record)
        elif not isinstance(record, SessionStarted | Rewound | Forked):
            yield record
    yield Forked(
        origins.session, origins.turn, origins.model, origins.at, origins.spills, whole=True
    )


def _write(log: LogWriter, records: Iterator[Record]) -> None:
    for record in records:
        log.append(record)


async def _fork(store: SessionStore, origin: str, turn: int | None, now: datetime) -> Fork:
    reading = await asyncio.to_thread(store.open, origin)
    plan = await asyncio.to_thread(_planned, origin, reading.records, turn)
    session, log = await asyncio.to_thread(
        lambda: store.create(model=plan.model, now=now, readers_of=plan.owners)
    )
    origins = Forked(origin, plan.turn, plan.model, timestamp(now), plan.owners, whole=False)
    try:
        plans = PlanCopies(store.spill(session))
        await asyncio.to_thread(_write, log, _copied(plan.branch, origins, plans))
    finally:
        await log.close()
    return Fork(session, origin, plan.turn, (*reading.notices, *plan.notices))


async def _rewind(store: SessionStore, session: str, turn: int, now: datetime) -> Rewind:
    reading, log = await asyncio.to_thread(lambda: store.resume(session, now=now))
    records = reading.records
    try:
        kept = await asyncio.to_thread(up_to, records, turn)
        ends = await asyncio.to_thread(turn_ends, records)
        if ends[turn] < len(records) - 1:
            log.append(Rewound(turn, model_of(kept), timestamp(now)))
    finally:
        await log.close()
    draft = await asyncio.to_thread(_first_words, records, turn)
    changed = await asyncio.to_thread(changed_after, records, turn)
    return Rewind(turn, draft, reading.notices, changed)


class _ForkPlan(NamedTuple):
    """The contents of a new fork: the records of ``branch``, with long texts of ``owners``."""

    turn: int
    branch: Sequence[Record]
    owners: tuple[str, ...]
    model: str
    notices: tuple[str, ...]


def _planned(origin: str, records: Sequence[Record], turn: int | None) -> _ForkPlan:
    """Choose the records to copy, and write the notice about an unfinished turn. Blocks."""
    check_whole(origin, records)
    goal = last_ended(records) if turn is None else turn
    branch = up_to(records, goal)
    owners = tuple(dict.fromkeys((*spill_owners(branch), origin)))
    begun = last_begun(records)
    notice = f"turn {begun} has not ended and is left out; name it to include its part so far"
    is_left_out = turn is None and begun > goal
    return _ForkPlan(goal, branch, owners, model_of(branch), (notice,) if is_left_out else ())


def _first_words(records: Sequence[Record], turn: int) -> str:
    """Return the user's message of the first turn after ``turn``, or an empty text if missing."""
    later = (
        one.words for one in lived(records) if isinstance(one, TurnStartRecord) and one.turn > turn
    )
    return next(later, "")


_NAME = "plan.md"  # The plan document's file name has this ending, after a number.


class PlanCopies:
    """Copies the plan documents that records name, each once; the copying blocks.

    Args:
        folder: The fork's spill folder, still empty.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies: dict[str, str] = {}

    def of(self, record: PlanSet) -> PlanSet:
        """Return the record with the path of the fork's own copy, or without a path.

        The log also has the plan's text, so a failed copy does not fail the fork.
        """
        if not record.path:
            return record
        if record.path not in self._copies:
            self._copies[record.path] = self._copied(record)
        return msgspec.structs.replace(record, path=self._copies[record.path])

    def _copied(self, record: PlanSet) -> str:
        path = Path(record.path)
        data = f"{record.text}\n".encode("utf-8", "replace")
        # If the document is missing or unreadable, the text from the log is used.
        with suppress(ToolError, OSError):
            # In any other case, the log was written on another operating system.
            if path.is_absolute():
                data = read_bytes(path, [path.parent], MOST_BYTES)
        copy = self._folder / f"{len(self._copies) + 1:04d}-{_NAME}"
        try:
            return str(write_private(copy, data))
        except OSError:
            return ""


def was_handed_on(store: SessionStore, origin: str, since: str) -> bool:
    """Return whether a session newer than ``since`` inherited the task of ``origin``. Blocks.

    A session that was killed before its first turn does not count, because no user would continue
    that session.
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
    return takes and any(isinstance(one, TurnStartRecord) for one in records)
