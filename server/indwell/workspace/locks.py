"""One writer at a time for each file, within one process and one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class PathLocks:
    """A lock for each path that somebody holds or waits for; forgotten when nobody does.

    Paths are told apart as they are written: pass resolved ones. A lock is fair, and is not to be
    taken twice by one task.
    """

    def __init__(self) -> None:
        self._locks: dict[Path, asyncio.Lock] = {}
        self._n_users: dict[Path, int] = {}

    @asynccontextmanager
    async def hold(self, path: Path) -> AsyncIterator[None]:
        """Hold the lock of ``path`` within the block; a cancelled wait leaves nothing behind."""
        lock = self._locks.setdefault(path, asyncio.Lock())
        self._n_users[path] = self._n_users.get(path, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._n_users[path] -= 1
            if not self._n_users[path]:
                del self._n_users[path], self._locks[path]

    def __len__(self) -> int:
        """How many paths are held or waited for."""
        return len(self._locks)
