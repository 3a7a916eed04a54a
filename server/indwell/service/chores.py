"""Background work with an owner, and closing several things in order."""

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
    """Run them in order. What a full disk refuses, say, is told in the log; a bug travels last."""
    async with AsyncExitStack() as closing:
        for one in reversed(closings):
            closing.push_async_callback(partial(_told, one))


async def _told(closing: Callable[[], Awaitable[object]]) -> None:
    try:
        await closing()
    except (IndwellError, OSError) as error:
        _log.error("at the end: %s", error)


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
