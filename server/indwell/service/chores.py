"""Work that nobody waits for: owned all the same, and ended with the server at the latest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


class Chores:
    """Owns tasks; what goes wrong in one is logged.

    None begins once they are closed: a timer may still fire while the loop waits for its threads,
    and whatever it began would find no thread any more.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Let ``work`` go on by itself; after the end it is dropped."""
        if self._is_closed:
            work.close()
            return
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def close(self) -> None:
        """Begin nothing from now on."""
        self._is_closed = True

    async def stop(self) -> None:
        """Begin nothing from now on, cancel what is left, and wait for it."""
        self.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            _log.error("a chore ended badly", exc_info=bug)
