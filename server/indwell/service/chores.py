"""Owns background work, and closes several things in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from indwell.errors import IndwellError

_log = logging.getLogger(__name__)


async def close_all(*closings: Callable[[], Awaitable[object]]) -> None:
    """Run all steps in order, even after an error.

    Expected errors, such as a full disk, are logged; a bug is raised at the end.
    """
    async with AsyncExitStack() as closing:
        for one in reversed(closings):
            closing.push_async_callback(partial(_told, one))


async def _told(closing: Callable[[], Awaitable[object]]) -> None:
    try:
        await closing()
    except (IndwellError, OSError) as error:
        _log.error("at the end: %s", error)


class Chores:
    """Owns background tasks, and logs their failures.

    After ``close``, no task begins. A timer may still fire while the event loop waits for threads,
    and a new task would get no thread.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background; after ``close``, new work is dropped."""
        if self._is_closed:
            work.close()
            return
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def close(self) -> None:
        """Start no more tasks."""
        self._is_closed = True

    async def stop(self) -> None:
        """Start no more tasks, cancel the running ones, and wait for them."""
        self.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            _log.error("a chore ended badly", exc_info=bug)
