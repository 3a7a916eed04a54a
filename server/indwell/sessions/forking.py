"""Goes on from an earlier turn: in the same session (rewind) or in a new one (fork, H62).

Only the conversation goes back; files are taken back by ``review.verdicts``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.context.plan import MOST_BYTES
from indwell.errors import SessionError, ToolError
from indwell.files import read_bytes, write_private
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
    Record,
    Rewound,
    SessionStarted,
    TurnStartRecord,
)
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.sessions.storage.writer import LogWriter
from indwell.sessions.told import Inherited, PlanSet


async def fork_session(
    store: SessionStore, origin: str, turn: int | None, *, now: datetime
) -> Fork:
    """Make a new session of ``origin`` as it was at the end of ``turn``; ``origin`` stays as it is.

    Args:
        store: Of its workspace.
        origin: May be open in an editor.
        turn: None for the last one that has ended.
        now: With its time zone.

    Raises:
        SessionError: There is no such session or turn, or nothing can be written.
    """
    return await asyncio.shield(_fork(store, origin, turn, now))  # a log that is taken is closed


async def rewind_session(store: SessionStore, session: str, turn: int, *, now: datetime) -> Rewind:
    """Let the conversation of a session go on from the end of ``turn``; its log only grows.

    Any turn of the log will do, also one that an earlier rewind left behind.

    Raises:
        SessionError: There is no such session or turn, it is open, or it cannot be written.
    """
    return await asyncio.shield(_rewind(store, session, turn, now))


def spill_owners(records: Sequence[Record]) -> tuple[str, ...]:
    """The other sessions whose spilled texts a conversation names; none but in a fork."""
    owners = (owner for one in records if isinstance(one, Forked) for owner in one.spills)
    return tuple(dict.fromkeys(owners))


def check_whole(session: str, records: Sequence[Record]) -> None:
    """Return if a session is no fork, or a whole one.

    Raises:
        SessionError: The process was killed while it copied.
    """
    forks = [one for one in records if isinstance(one, Forked)]
    if not forks or forks[-1].whole:
        return
    # Copies end with that turn: one that came later says that only a line was lost since.
    if not any(isinstance(one, TurnStartRecord) and one.turn > forks[-1].turn for one in records):
        raise SessionError(
            f"session {session!r} is a fork of {forks[-1].session!r} that was never finished; "
            "delete it and fork again"
        )


def _copied(branch: Sequence[Record], origins: Forked, plans: PlanCopies) -> Iterator[Record]:
    """What makes the new log tell the same conversation, and what the endpoint counted for it."""
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
    """What a fork is made of: the records of ``branch``, which names texts of ``owners``."""

    turn: int
    branch: Sequence[Record]
    owners: tuple[str, ...]
    model: str
    notices: tuple[str, ...]


def _planned(origin: str, records: Sequence[Record], turn: int | None) -> _ForkPlan:
    """What is to be copied, and said of a turn that is left out; takes a while."""
    check_whole(origin, records)
    goal = last_ended(records) if turn is None else turn
    branch = up_to(records, goal)
    owners = tuple(dict.fromkeys((*spill_owners(branch), origin)))
    begun = last_begun(records)
    notice = (
        f"turn {begun} has not ended and is left out; name it to take what there is of it along"
    )
    is_left_out = turn is None and begun > goal
    return _ForkPlan(goal, branch, owners, model_of(branch), (notice,) if is_left_out else ())


def _first_words(records: Sequence[Record], turn: int) -> str:
    """What the user said in the first turn behind ``turn``; empty if there is none."""
    later = (
        one.words for one in lived(records) if isinstance(one, TurnStartRecord) and one.turn > turn
    )
    return next(later, "")


_NAME = "plan.md"  # behind a number


class PlanCopies:
    """Copies the documents that records name, each once. Blocks.

    Args:
        folder: Of the fork's long texts; it has none yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies: dict[str, str] = {}

    def of(self, record: PlanSet) -> PlanSet:
        """The record with the fork's own document; with none if the disk does not take it.

        The log has the text all the same, so a fork does not fail by this.
        """
        if not record.path:
            return record
        if record.path not in self._copies:
            self._copies[record.path] = self._copied(record)
        return msgspec.structs.replace(record, path=self._copies[record.path])

    def _copied(self, record: PlanSet) -> str:
        path = Path(record.path)
        data = f"{record.text}\n".encode("utf-8", "replace")
        with suppress(ToolError, OSError):  # gone, or no plan any more: as it is known
            data = read_bytes(path, [path.parent], MOST_BYTES)
        copy = self._folder / f"{len(self._copies) + 1:04d}-{_NAME}"
        try:
            return str(write_private(copy, data))
        except OSError:
            return ""


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
    return takes and any(isinstance(one, TurnStartRecord) for one in records)
