"""What lies in the state folder, for the language server: sessions of a workspace, and drafts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from indwell.sessions import retention, searching
from indwell.sessions.drafts import DraftStore, LeftTask
from indwell.sessions.handed_on import was_handed_on
from indwell.sessions.lines import Reading
from indwell.sessions.overview import Overview
from indwell.sessions.store import SessionStore, timestamp
from indwell.sessions.told import Titled
from indwell.settings.places import state_folder


class StoredSessions:
    """A part of ``EditorBackend``; see ``lsp.backend.Backend``.

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

    async def session(self, root: Path, session: str) -> Reading:
        """All that a session's log says."""
        return await asyncio.to_thread(self._store(root).open, session)

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
