"""The review ledger of a workspace: the agent's changes, and the user's verdicts.

All sessions share one ledger, stored in a log that several processes append to (``store``). Callers
pass the current text of each file to ``sync``; hunks are computed from that text and the records.
Two processes that see the same files therefore see the same hunks. A restarted server computes the
same hunks, too.

A command's changes are found by comparing the folder before and after it. The comparison cannot
tell the changes of two commands apart, so commands of different sessions never run at once.
Commands of one session may run at once, because all changes are credited to that session.

Methods without ``async`` run on the event loop, in time proportional to the change. Disk access
runs in threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from indwell import edges
from indwell.review.hunk import Actor, Hunk, Opaque, Order, Rejection, Verdict
from indwell.review.ledger_queries import Looking, Pending
from indwell.review.record_builder import CommandChange, Plan, Planner, judgement, moving, telling
from indwell.review.store import LedgerReading, ReviewStore

WAITS = (
    "waiting for a command of another conversation in this folder to end; stop this turn, or that "
    "command, if you do not want to wait"
)


class CommandHold:
    """A session's lock for running commands; ``release`` unlocks it.

    Args:
        order: The order of the workspace.
        session: The session that holds the lock.
        lasts: Whether the lock is for background commands.
    """

    def __init__(self, order: CommandOrder, session: str, *, lasts: bool) -> None:
        self.session = session
        self.lasts = lasts
        self._order: CommandOrder | None = order

    def release(self) -> None:
        """Release the lock; a second call has no effect."""
        order, self._order = self._order, None
        if order is not None:
            order.released(self)


class CommandOrder:
    """The sessions that run commands in a workspace, and the queue of waiting sessions.

    Use this object on the event loop only.
    """

    def __init__(self) -> None:
        self._holds: set[CommandHold] = set()
        self._waiting: deque[tuple[CommandHold, asyncio.Future[None]]] = deque()

    async def acquire(
        self, session: str, waits: Callable[[], None], *, lasts: bool = False
    ) -> CommandHold:
        """Wait until no other session runs a command.

        The order is first come, first served: a session that runs a command may begin another
        command only while no other session waits. A session with a background command may always
        begin another, because other sessions must wait for the background command's end. A running
        command may become a background command at once, because the session already holds the lock.

        Args:
            session: The session's id.
            waits: Called if the caller has to wait.
            lasts: Whether the lock is for background commands.
        """
        hold = CommandHold(self, session, lasts=lasts)
        if self._may_join(session, lasts=lasts):
            self._holds.add(hold)
            return hold
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((hold, ready))
        try:
            waits()
            await ready
        except BaseException:
            if hold in self._holds:  # The lock was granted at the moment of the cancellation.
                hold.release()
            else:
                self._waiting.remove((hold, ready))
                self._grant()
            raise
        return hold

    def released(self, hold: CommandHold) -> None:
        """Let the next session begin after a release."""
        self._holds.discard(hold)
        self._grant()

    def _may_join(self, session: str, *, lasts: bool) -> bool:
        if any(one.session != session for one in self._holds):
            return False
        has_right = bool(self._holds) and (lasts or any(one.lasts for one in self._holds))
        return has_right or not self._waiting

    def _grant(self) -> None:
        """Grant the lock to the first waiting session, for all of its waiting commands."""
        while self._waiting:
            hold, ready = self._waiting[0]
            if any(one.session != hold.session for one in self._holds):
                return
            self._waiting.popleft()
            self._holds.add(hold)
            if not ready.done():
                ready.set_result(None)


class ReviewLedger(Looking):
    """The review ledger of a workspace; use ``open`` to create one."""

    def __init__(
        self, store: ReviewStore, reading: LedgerReading, roots: Sequence[Path], planner: Planner
    ) -> None:
        super().__init__(reading, roots)
        self._store = store
        self._planner = planner
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._n_notices = 0
        self._tasks: set[asyncio.Task[None]] = set()
        # A verdict enters these contexts, so that its writes do not count as changes of a running
        # command.
        self.beside: set[Callable[[], AbstractAsyncContextManager[None]]] = set()
        self.command_order = CommandOrder()

    @classmethod
    async def open(
        cls,
        folder: Path,
        roots: Sequence[Path],
        *,
        hide: Callable[[str], str] = str,
        now: datetime | None = None,
    ) -> ReviewLedger:
        """Open the ledger of a workspace; ``take_notices`` then reports a damaged log.

        Args:
            folder: See ``review_folder`` in ``sessions.storage.store``; need not exist.
            roots: Changes outside these folders are hidden; if empty, all changes are shown.
            hide: Returns a text without secrets; a text with secrets is not written to disk.
            now: Returns the current time; tests pass another clock.
        """
        store = ReviewStore(folder)
        reading = await asyncio.to_thread(store.opened, now or edges.now())
        return cls(store, reading, roots, Planner(hide))

    @property
    def folder(self) -> Path:
        """The ledger's folder. Other modules may store related files in this folder."""
        return self._store.folder

    async def close(self) -> None:
        """Wait for writes in progress."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def begin(
        self, actor: Actor, tool_use_id: str, path: Path, before: str | None, proposed: str
    ) -> Pending:
        """Record durably that an agent's edit of a file begins.

        Waits for another edit of the same file. ``sync`` has no effect on the hunks until
        ``finish`` or ``withdraw``.
        """
        name = str(path)
        await self._underway.free(name)
        pending = Pending(edges.random_hex("change", 8), path, before, proposed)
        self._underway.begin(name)
        try:
            change = CommandChange(path, before, proposed)
            plan = self._planner.began(pending.id, actor, tool_use_id, change)
            await self._append(plan, {name: before})
        except BaseException:
            self._end_one(name)
            raise
        return pending

    async def finish(self, pending: Pending, after: str, *, accepted: bool) -> None:
        """Record the text after an edit; differences from the proposal are edits by others."""
        name = str(pending.path)
        plan = self._planner.finished(name, pending.id, after, is_accepted=accepted)
        await self._end(pending, plan, after)

    async def withdraw(self, pending: Pending, *, may_come: bool) -> None:
        """Record that an edit was not applied.

        Args:
            pending: From ``begin``.
            may_come: Whether the editor may still apply the edit, because the editor has not
                answered. If the text later equals the proposal, the edit counts as applied.
        """
        name = str(pending.path)
        plan = self._planner.withdrawn(name, pending.id, may_come=may_come)
        await self._end(pending, plan, pending.before)

    async def made(
        self,
        actor: Actor,
        tool_use_id: str,
        path: Path,
        before: str | None,
        after: str | None,
        *,
        accepted: bool,
        opaque: Opaque | None = None,
    ) -> None:
        """Record that a command run by the agent changed a file; a text of None means no file."""
        change = CommandChange(path, before, after, opaque)
        await self.made_all(actor, tool_use_id, [change], accepted=accepted)

    async def made_all(
        self, actor: Actor, tool_use_id: str, changes: Sequence[CommandChange], *, accepted: bool
    ) -> None:
        """Record all files that a command changed, in one append."""
        plan = self._planner.made(actor, tool_use_id, changes, is_accepted=accepted)
        texts = {str(one.path): one.after for one in changes if one.opaque is None}
        await self._append(plan, texts)

    def sync(self, path: Path, text: str | None) -> bool:
        """Set a file's current text (None for a deleted file); return whether the hunks changed."""
        name = str(path)
        if name not in self._reading.state.files:
            return False
        if name in self._underway:
            self._views.meanwhile(name, text)
            return False
        # The hunks must be read before the serials.
        before, saw = self.hunks(path), self._views.seen(name)
        self._views.put(name, text)
        self._notice(name, saw)
        has_changed = self.hunks(path) != before
        if has_changed:
            self._tell()
        return has_changed

    async def synced(self, path: Path, text: str | None) -> bool:
        """Do the same as ``sync``, but compare large texts in a thread."""
        name = str(path)
        state = self._reading.state
        if name in state.files and name not in self._underway:
            view = await asyncio.to_thread(state.seen, name, text)
            self._views.prepare(name, text, state.files[name], view)
        return self.sync(path, text)

    async def moved(self, old: Path, new: Path) -> None:
        """Record that the user renamed or moved a file or folder."""
        for path in self.beneath(old):
            await self._underway.free(str(path))
            if not self.is_busy(path):
                self._views.forget(str(path))
                self._views.forget(str(new / path.relative_to(old)))
                await self._append(moving(path, new / path.relative_to(old)), {})

    async def refresh(self) -> bool:
        """Read records of other processes; return whether pending hunks changed."""
        before = self._all()
        async with self._lock:
            reading = await asyncio.to_thread(self._store.read_on, self._reading)
            self._reading = reading
        has_changed = self._all() != before
        if has_changed:
            self._tell()
        return has_changed

    async def accept(
        self, hunk_ids: Collection[str], *, only: Collection[Actor] = ()
    ) -> tuple[Hunk, ...]:
        """Accept hunks and return them; unknown and already judged ids are ignored.

        Args:
            hunk_ids: Ids of pending hunks.
            only: The actors whose changes are accepted, or empty for all actors.
        """
        wanted = set(hunk_ids)
        for path in {one.path for name in wanted if (one := self.find(name)) is not None}:
            await self._underway.free(str(path))
        chosen = [one for path in self.known() for one in self.hunks(path) if one.id in wanted]
        if only:
            chosen = [one for one in chosen if not set(only).isdisjoint(one.actors)]
        if not chosen:
            return ()
        plans = []
        for path in dict.fromkeys(one.path for one in chosen):
            ids = tuple(one.id for one in chosen if one.path == path)
            order = Order(ids=ids, only=tuple(only))
            of = self._reading.state.files.get(str(path))
            plans.append(judgement(str(path), self.text(path), order, of, is_accepted=True))
        await self._append(self._planner.judged(plans), {})
        return tuple(chosen)

    async def rejected(self, rejection: Rejection, text_now: str | None) -> None:
        """Record that a planned rejection was carried out; the file's text is now ``text_now``."""
        if not rejection.hunks:
            return
        name = str(rejection.path)
        ids = tuple(one.id for one in rejection.hunks)
        order = rejection.order
        if not order.session:
            order = msgspec.structs.replace(order, ids=ids)
        plan = judgement(name, rejection.before, order, rejection.of, is_accepted=False)
        texts = {} if rejection.opaque is not None else {name: text_now}
        await self._append(self._planner.judged([plan]), texts)

    async def unjudged(self, path: Path, verdict: str, text_now: str | None) -> None:
        """Record that a verdict on a file was undone; the file's text is now ``text_now``."""
        name = str(path)
        await self._append(self._planner.unjudged(name, verdict, text_now), {name: text_now})

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` when pending hunks change; return a function to unsubscribe."""
        self._listeners.append(listener)

        def forget() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return forget

    async def told(self, session: str, verdicts: Iterable[Verdict]) -> None:
        """Record that a session's model has received these verdicts."""
        ids = tuple(one.id for one in verdicts if (one.id, session) not in self._told)
        if ids:
            self._told |= {(one, session) for one in ids}
            await self._append(telling(session, ids), {})

    def take_notices(self) -> tuple[str, ...]:
        """Return new problems with the log for the user; each problem is returned once."""
        new = self._reading.notices[self._n_notices :]
        self._n_notices = len(self._reading.notices)
        return new

    async def _append(self, plan: Plan, texts: Mapping[str, str | None]) -> None:
        """Append records, then set the current texts of the files."""
        before = self._all()
        async with self._lock:
            reading = await asyncio.to_thread(self._store.append, self._reading, plan)
            self._reading = reading
        for name, text in texts.items():
            self._views.put(name, text)
        if self._all() != before:
            self._tell()

    async def _end(self, pending: Pending, plan: Plan, text: str | None) -> None:
        name = str(pending.path)
        try:
            await self._append(plan, {})
        finally:
            self._views.put(name, self._views.after(name, (pending.before, pending.proposed, text)))
            self._end_one(name)

    def _end_one(self, name: str) -> None:
        self._underway.end(name)
        self._tell()

    def _notice(self, name: str, saw: frozenset[int]) -> None:
        """Record an undo or a late edit of changes that this process ``saw`` in the file's text."""
        view, state = self._weave(name), self._reading.state
        if view is None or not state.is_again(name, view):
            return
        # A change that is missing on disk may be unsaved in another editor, so it is not an undo.
        if state.files[name].weave.unjudged - view.unjudged <= saw:
            self._soon(self._planner.noticed(name, view.reads, state.files[name]))

    def _soon(self, plan: Plan) -> None:
        task = asyncio.get_running_loop().create_task(self._append(plan, {}))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()
