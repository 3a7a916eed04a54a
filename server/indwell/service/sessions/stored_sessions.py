"""The sessions, drafts and unsent prompts of the state folder: list, read, change, delete."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from indwell import edges
from indwell.errors import SessionError, UserError
from indwell.service.chores import Chores
from indwell.service.front_door import FrontDoor
from indwell.sessions.branches import Fork, Rewind
from indwell.sessions.forking import was_handed_on
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import SteeringRecord, Titled, TurnStartRecord
from indwell.sessions.storage import retention
from indwell.sessions.storage.drafts import DraftStore, LeftTask
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.sessions.storage.task_store import TaskStore
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder

if TYPE_CHECKING:
    from indwell.sessions.storage.automatic_deletion import Gone


MB = 1_000_000
SHOWN_DAYS = 30  # Lists show deletions for 30 days.


class Sweeper:
    """Deletes old sessions in a thread; only the next deletion waits for the thread.

    Args:
        environment: The process's variables.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._sweeping: asyncio.Future[object] | None = None

    async def sweep(self, settings: Settings, session: str) -> str:
        """Begin to delete old sessions; return a sentence on unreported deletions."""
        if self._sweeping is not None:
            await asyncio.wait({self._sweeping})
        state = state_folder(self._environment)
        untold = await asyncio.to_thread(_untold, state)
        self._sweeping = asyncio.get_running_loop().run_in_executor(
            None, lambda: sweep_now(state, settings, session)
        )
        return gone_words(untold)


def sweep_now(state: Path, settings: Settings, session: str) -> Gone | None:
    """Delete sessions beyond the limits of the settings; blocks.

    Args:
        state: The state folder.
        settings: The user's settings.
        session: The caller's own session, which is kept.
    """
    from indwell.sessions.storage.automatic_deletion import RetentionLimits, sweep

    limits = RetentionLimits(settings.keep_sessions_days, settings.keep_sessions_mb * MB)
    return sweep(state, limits, now=edges.now(), pending=_pending, ours=session)


def gone_words(gone: Sequence[Gone]) -> str:
    """Return a sentence for the user about the deleted sessions, or no text. Pure."""
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
    """Return the disk space of all sessions, and the limit. Pure."""
    most = settings.keep_sessions_mb
    bound = f"at most {most:,} MB are kept" if most else "there is no limit"
    return f"sessions take {held_b / MB:,.1f} MB; {bound} (`keep_sessions_mb`)"


def recent(gone: Sequence[Gone], now: datetime) -> tuple[Gone, ...]:
    """Return the deletions of the last ``SHOWN_DAYS`` days. Pure."""
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
    """Turn off the cyclic garbage collector, which would block the event loop.

    A collection with a million new objects would take too long. Objects that are created inside
    this context are freed only by reference counts.
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
    """Lists, reads, forks, renames and deletes sessions; stores unsent prompts.

    Every method raises ``SessionError`` if the session does not exist, if another process has it
    open, or if the disk fails.

    Args:
        environment: The process's variables.
        roots: Returns the folders of the workspace.
        is_resident: Whether the process stores waiting prompts and tasks on disk.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        roots: Callable[[], tuple[Path, ...]],
        *,
        is_resident: bool = True,
    ) -> None:
        self._environment = environment
        self._roots = roots
        self._is_resident = is_resident
        self._drafts: dict[Path, DraftStore] = {}

    @property
    def root(self) -> Path:
        """The first folder of the workspace.

        Raises:
            UserError: No folder is open.
        """
        if not self._roots():
            raise UserError("no folder is open; open the folder of the project, and try again")
        return self._roots()[0]

    @property
    def _state(self) -> Path:
        return state_folder(self._environment)

    @property
    def keeps(self) -> bool:
        """Whether waiting prompts and tasks are stored on disk."""
        return self._is_resident and bool(self._roots())

    @property
    def store(self) -> SessionStore:
        """The store of the workspace's sessions."""
        return SessionStore(self._state, self.root)

    @property
    def tasks(self) -> TaskStore:
        """The store of the workspace's tasks."""
        return TaskStore(self._state, self.root)

    async def check_session(self, session: str) -> None:
        """Check that the session exists."""
        await asyncio.to_thread(self.store.check, session)

    async def sessions(
        self, *, limit: int, before: str | None, query: str = ""
    ) -> tuple[tuple[Overview, ...], bool]:
        """Return a page of the workspace's sessions, newest first, and whether more follow."""
        store = self.store
        return await asyncio.to_thread(
            lambda: listed(store, limit=limit, before=before, query=query)
        )

    async def tasks_by_session(self) -> Mapping[str, str]:
        """Return the task that a session works on and its state, such as ``t3 done``, by session.

        The result is empty if the tasks cannot be read; the list of tasks reports that problem.
        """
        try:
            tasks = await asyncio.to_thread(self.tasks.take_over)
        except UserError:
            return {}
        return {one.session: f"{one.id} {one.state}" for one in tasks.tasks if one.session}

    async def session(self, session: str) -> LogReading:
        """Read the log of a session."""
        return await asyncio.to_thread(self.store.open, session)

    async def fork_session(self, session: str, turn: int | None) -> Fork:
        """Create a session from another session's state at the end of a turn."""
        from indwell.sessions.forking import fork_session

        with uncollected():
            return await fork_session(self.store, session, turn, now=edges.now())

    async def rewind_session(self, session: str, turn: int) -> Rewind:
        """Rewind the conversation of a session to the end of a turn."""
        from indwell.sessions.forking import rewind_session

        with uncollected():
            return await rewind_session(self.store, session, turn, now=edges.now())

    async def model_of(self, session: str) -> str:
        """Return the model that last answered in a session."""
        return (await asyncio.to_thread(self.store.overview, session)).model

    async def keep_drafts(self, drafts: Sequence[str]) -> Path:
        """Write unsent prompts to a draft file; return the file's path."""
        now = edges.now()
        return await asyncio.to_thread(lambda: self._draft_store.keep(drafts, now=now))

    async def keep_waiting(self, unsent: Mapping[str, str]) -> None:
        """Store the texts of waiting prompts, by the prompt's id."""
        now = edges.now()
        await asyncio.to_thread(lambda: self._draft_store.keep_waiting(unsent, now=now))

    async def untold_drafts(self) -> tuple[Path, ...]:
        """Return the draft files of earlier processes; each file is returned once."""
        now, store = edges.now(), self._draft_store
        await asyncio.to_thread(lambda: store.take_over(now=now))
        return await asyncio.to_thread(store.untold)

    async def keep_task(self, origin: str) -> None:
        """Store the session whose task the next new session continues, or empty for no task."""
        await asyncio.to_thread(self._keep_task, origin)

    def _keep_task(self, origin: str) -> None:
        task = LeftTask(origin, next(iter(self.store.ids()), "")) if origin else None
        self._draft_store.keep_task(task, now=edges.now())

    async def left_task(self) -> str:
        """Return the session whose task an ended server left, if no session continued the task."""
        return await asyncio.to_thread(self._left_task)

    def _left_task(self) -> str:
        now, drafts = edges.now(), self._draft_store
        task = drafts.take_over_task(now=now)
        if task is None:
            return ""
        if was_handed_on(self.store, *task):
            drafts.keep_task(None, now=now)
            return ""
        return task.origin

    async def rename_session(self, session: str, title: str) -> None:
        """Write a title into the log of a session that is not open."""
        store, now = self.store, edges.now()
        _, log = await asyncio.to_thread(lambda: store.resume(session, now=now))
        try:
            log.append(Titled(title, timestamp(now)))
        finally:
            await log.close()

    async def delete_session(self, session: str) -> None:
        """Delete a session of this workspace."""
        await self.check_session(session)
        await asyncio.to_thread(retention.delete, self._state, session)

    @property
    def _draft_store(self) -> DraftStore:
        """The workspace's draft store; only one store may hold the file of waiting prompts."""
        root = self.root
        if root not in self._drafts:
            self._drafts[root] = DraftStore(self._state, root)
        return self._drafts[root]


def listed(
    store: SessionStore, *, limit: int, before: str | None, query: str = ""
) -> tuple[tuple[Overview, ...], bool]:
    """Return a page of sessions, newest first, and whether older ones exist; blocks.

    Args:
        store: The workspace's sessions.
        limit: The size of the page.
        before: Only sessions older than this session.
        query: Words that must all be in the title or in the user's prompts, in any case.

    Raises:
        SessionError: The sessions cannot be listed or read.
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


_log = logging.getLogger(__name__)


class Keeping:
    """Writes the texts of waiting prompts to disk in the background, one write at a time.

    Args:
        keep: Writes texts, by the prompt's id.
        chores: Owns the background work.
    """

    def __init__(
        self, keep: Callable[[Mapping[str, str]], Awaitable[None]], chores: Chores
    ) -> None:
        self._keep = keep
        self._chores = chores
        self._wanted: Mapping[str, str] = {}
        self._kept: Mapping[str, str] = {}
        self._is_busy = False
        self._is_stopped = False
        self._writing = asyncio.Lock()

    def want(self, unsent: Mapping[str, str]) -> None:
        """Write these texts to disk soon, and return at once."""
        self._wanted = unsent
        if not self._is_busy and not self._is_stopped and unsent != self._kept:
            self._is_busy = True
            self._chores.begin(self._work())

    def stop(self) -> None:
        """Stop writing."""
        self._is_stopped = True

    async def clear(self) -> None:
        """Wait for the current write, then delete the stored prompts."""
        self._is_stopped = True
        try:
            async with self._writing:
                await self._keep({})
        except SessionError as error:
            _log.warning("prompts that waited are still kept: %s", error)

    async def _work(self) -> None:
        try:
            while self._wanted != self._kept and not self._is_stopped:
                wanted = self._wanted
                async with self._writing:
                    await self._keep(wanted)
                self._kept = wanted
        except SessionError as error:
            _log.warning("prompts that wait are not kept: %s", error)
        finally:
            self._is_busy = False


class Unsent:
    """The user's prompts that no session's log contains.

    Args:
        stored: Stores the prompts.
        door: Shows the user where the prompts are.
        chores: Owns the background work.
    """

    def __init__(self, stored: StoredSessions, door: FrontDoor, chores: Chores) -> None:
        self._stored = stored
        self._door = door
        self._keeping = Keeping(self._keep, chores)
        self.want = self._keeping.want

    async def tell(self) -> None:
        """Inform the user once about files with unsent prompts from earlier servers."""
        for path in await self._stored.untold_drafts():
            self._door.warn(f"prompts that waited when the editor was closed are in {path}")

    def stop(self) -> None:
        """Stop writing; the stored prompts are kept until ``leave`` turns them into drafts."""
        self._keeping.stop()

    async def leave(self, unsent: tuple[str, ...]) -> None:
        """Write the prompts to a draft when the server ends, and delete the other copy."""
        if unsent and self._stored.keeps:
            try:
                path = await self._stored.keep_drafts(unsent)
                number = "1 prompt" if len(unsent) == 1 else f"{len(unsent)} prompts"
                self._door.warn(f"{number} that waited: kept in {path}")
            except SessionError:
                _log.exception("unsent prompts are lost")
        await self._keeping.clear()

    async def _keep(self, unsent: Mapping[str, str]) -> None:
        if self._stored.keeps:
            await self._stored.keep_waiting(unsent)
