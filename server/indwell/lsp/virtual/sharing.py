"""One making of a text for all who ask for it at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key")
Made = TypeVar("Made")


class _Making(NamedTuple, Generic[Made]):
    begun: asyncio.Event
    task: asyncio.Task[Made]


class Shared(Generic[Key, Made]):
    """Makes things; each is as it is after it was asked for, and at most two makings wait.

    Who asks while one is being made may have changed what it says, so that one gets the next.

    Args:
        make: Makes one; it may fail, and then all who share it are told.
    """

    def __init__(self, make: Callable[[Key], Awaitable[Made]]) -> None:
        self._make = make
        self._last: dict[Key, _Making[Made]] = {}

    async def of(self, key: Key) -> Made:
        """It, as of now."""
        last = self._last.get(key)
        if last is None or last.begun.is_set():
            begun = asyncio.Event()
            before = last.task if last is not None else None
            task = asyncio.create_task(self._made(key, begun, before))
            last = self._last[key] = _Making(begun, task)
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(last.task)  # who gives up does not stop the others

    async def _made(
        self, key: Key, begun: asyncio.Event, before: asyncio.Task[Made] | None
    ) -> Made:
        if before is not None:
            await asyncio.wait({before})
        begun.set()
        return await self._make(key)

    def _forget(self, key: Key, done: asyncio.Task[Made]) -> None:
        last = self._last.get(key)
        if last is not None and last.task is done:
            del self._last[key]
        if not done.cancelled():
            done.exception()  # those who asked were told
