"""Sessions and drafts in the state folder: listed, read, changed, and deleted when they are old."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from indwell.agent.core.session import Session
from indwell.service.sessions.inherited_task import take_task
from indwell.sessions.branches import Fork, Rewind
from indwell.sessions.display_records import Titled
from indwell.sessions.forking import was_handed_on
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview
from indwell.sessions.storage import retention, searching
from indwell.sessions.storage.drafts import DraftStore, LeftTask
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder

if TYPE_CHECKING:
    from indwell.sessions.storage.automatic_deletion import Gone


MB = 1_000_000
SHOWN_DAYS = 30  # for which lists say what was deleted


class Sweeper:
    """Deletes old sessions in a thread; nobody waits for it but the next sweep.

    Args:
        environment: The process's variables.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._sweeping: asyncio.Future[object] | None = None

    async def sweep(self, settings: Settings, session: str) -> str:
        """Begin to sweep for a session that just began; gives what the user was not told yet."""
        if self._sweeping is not None:
            await asyncio.wait({self._sweeping})
        state = state_folder(self._environment)
        untold = await asyncio.to_thread(_untold, state)
        self._sweeping = asyncio.get_running_loop().run_in_executor(
            None, lambda: sweep_now(state, settings, session)
        )
        return gone_words(untold)


def sweep_now(state: Path, settings: Settings, session: str) -> Gone | None:
    """Delete what the settings let nobody keep; blocks.

    Args:
        state: The state folder.
        settings: Those of the user.
        session: The caller's own, which stays.
    """
    from indwell.sessions.storage.automatic_deletion import RetentionLimits, sweep

    limits = RetentionLimits(settings.keep_sessions_days, settings.keep_sessions_mb * MB)
    return sweep(state, limits, now=datetime.now(UTC), pending=_pending, ours=session)


def gone_words(gone: Sequence[Gone]) -> str:
    """What was deleted, as a sentence for the user; empty if nothing was. Pure."""
    n_room = sum(one.n_for_room for one in gone)
    n_old = sum(len(one.sessions) for one in gone) - n_room
    n_copies = sum(one.n_copies for one in gone)
    parts = [
        f"{_counted(n_old, 'old session')} (`keep_sessions_days`)" if n_old else "",
        f"{_counted(n_room, 'session')} to make room (`keep_sessions_mb`)" if n_room else "",
        _counted(n_copies, "old copy", "old copies") + " of your files" if n_copies else "",
    ]
    named = " and ".join(filter(None, parts))
    if not named:
        return ""
    freed = sum(one.freed_b for one in gone) / MB
    return f"Indwell deleted {named}: {freed:,.1f} MB, on {gone[-1].at[:10]}"


def size_words(held_b: int, settings: Settings) -> str:
    """How much room sessions take, and how much they may take. Pure."""
    most = settings.keep_sessions_mb
    bound = f"at most {most:,} MB are kept" if most else "there is no limit"
    return f"sessions take {held_b / MB:,.1f} MB; {bound} (`keep_sessions_mb`)"


def recent(gone: Sequence[Gone], now: datetime) -> tuple[Gone, ...]:
    """What was deleted in the last days. Pure."""
    return tuple(one for one in gone if (now - datetime.fromisoformat(one.at)).days < SHOWN_DAYS)


def _untold(state: Path) -> Sequence[Gone]:
    from indwell.sessions.storage.automatic_deletion import take_untold

    return take_untold(state)


def _pending(folder: Path) -> Collection[str] | None:
    from indwell.review.store import pending_sessions
    from indwell.sessions.storage.store import REVIEW_FOLDER

    return pending_sessions(folder / REVIEW_FOLDER)


def _counted(n: int, one: str, many: str = "") -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many or one + 's'}"


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for garbage: among a million new records it would hold the loop up.

    Now and later: what was read stays out of it, and goes when nothing refers to it any more.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


class StoredSessions:
    """Lists, reads, branches, renames and deletes sessions; keeps words that were never sent.

    Every method raises ``SessionError`` if there is no such session, if another process has it
    open, or if the disk refuses.

    Args:
        environment: The process's variables.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._drafts: dict[Path, DraftStore] = {}

    async def check_session(self, root: Path, session: str) -> None:
        """Is there such a session?"""
        await asyncio.to_thread(self._store(root).check, session)

    async def sessions(
        self, root: Path, *, limit: int, before: str | None, query: str = ""
    ) -> tuple[tuple[Overview, ...], bool]:
        """Sessions of a workspace, newest first; is there an older one?"""
        store = self._store(root)
        return await asyncio.to_thread(
            lambda: searching.listed(store, limit=limit, before=before, query=query)
        )

    async def session(self, root: Path, session: str) -> LogReading:
        """All that a session's log says."""
        return await asyncio.to_thread(self._store(root).open, session)

    async def fork_session(self, root: Path, session: str, turn: int | None) -> Fork:
        """Make a new session of another one as it was at the end of a turn."""
        from indwell.sessions.forking import fork_session

        with uncollected():
            return await fork_session(self._store(root), session, turn, now=datetime.now(UTC))

    async def rewind_session(self, root: Path, session: str, turn: int) -> Rewind:
        """Let the conversation of a session go on from the end of a turn."""
        from indwell.sessions.forking import rewind_session

        with uncollected():
            return await rewind_session(self._store(root), session, turn, now=datetime.now(UTC))

    async def take_task(self, root: Path, session: Session, origin: str) -> str:
        """Give a new session the task of another one; gives the words that had no answer there."""
        return await take_task(session, self._store(root), origin)

    async def model_of(self, root: Path, session: str) -> str:
        """The model that a session was last answered by."""
        return (await asyncio.to_thread(self._store(root).overview, session)).model

    async def keep_drafts(self, root: Path, drafts: Sequence[str]) -> Path:
        """Keep words that were never sent."""
        now = datetime.now(UTC)
        return await asyncio.to_thread(lambda: self._draft_store(root).keep(drafts, now=now))

    async def keep_waiting(self, root: Path, unsent: Mapping[str, str]) -> None:
        """Keep words that wait for their turn."""
        now = datetime.now(UTC)
        await asyncio.to_thread(lambda: self._draft_store(root).keep_waiting(unsent, now=now))

    async def untold_drafts(self, root: Path) -> tuple[Path, ...]:
        """Drafts of an earlier process; each is given once."""
        now, store = datetime.now(UTC), self._draft_store(root)
        await asyncio.to_thread(lambda: store.take_over(now=now))
        return await asyncio.to_thread(store.untold)

    async def keep_task(self, root: Path, origin: str) -> None:
        """Keep whose task the next new session takes along."""
        await asyncio.to_thread(self._keep_task, root, origin)

    def _keep_task(self, root: Path, origin: str) -> None:
        task = LeftTask(origin, next(iter(self._store(root).ids()), "")) if origin else None
        self._draft_store(root).keep_task(task, now=datetime.now(UTC))

    async def left_task(self, root: Path) -> str:
        """Whose task it was in a server that is gone, if no session has taken it along."""
        return await asyncio.to_thread(self._left_task, root)

    def _left_task(self, root: Path) -> str:
        now, drafts = datetime.now(UTC), self._draft_store(root)
        task = drafts.take_over_task(now=now)
        if task is None:
            return ""
        if was_handed_on(self._store(root), *task):
            drafts.keep_task(None, now=now)
            return ""
        return task.origin

    async def rename_session(self, root: Path, session: str, title: str) -> None:
        """Write a title into the log of a session that nobody has open."""
        store, now = self._store(root), datetime.now(UTC)
        _, log = await asyncio.to_thread(lambda: store.resume(session, now=now))
        try:
            log.append(Titled(title, timestamp(now)))
        finally:
            await log.close()

    async def delete_session(self, root: Path, session: str) -> None:
        """Delete a session of this workspace."""
        await self.check_session(root, session)
        await asyncio.to_thread(retention.delete, state_folder(self._environment), session)

    def _draft_store(self, root: Path) -> DraftStore:
        """One for each workspace: it holds the file of what waits."""
        if root not in self._drafts:
            self._drafts[root] = DraftStore(state_folder(self._environment), root)
        return self._drafts[root]

    def _store(self, root: Path) -> SessionStore:
        return SessionStore(state_folder(self._environment), root)
