"""Covers what a command changes while others change files too: a stretch at a time.

The user judges changes while a command runs, and one that outlives its call runs beside the agent's
own steps. Whatever is done by a step that is covered by itself, or takes down itself what it
changes, must not stand in the command's stretch as well, so a stretch ends before such a step, and
the next one begins behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias

Make: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Makes one stretch, or one step."""


@asynccontextmanager
async def apart(steps: Iterable[Make]) -> AsyncIterator[None]:
    """A step that stands in the stretch of no command: each of ``steps`` is begun, as ``aside``."""
    async with AsyncExitStack() as stack:
        for step in tuple(steps):
            await stack.enter_async_context(step())
        yield


class Beside:
    """The stretches of one command, or of all that run in the background: at most one is open."""

    def __init__(self) -> None:
        self._make: Make | None = None
        self._stretch: AbstractAsyncContextManager[None] | None = None
        self._steps = 0  # that are under way, of the agent and its helpers
        self._changing = asyncio.Lock()
        self._opening: set[asyncio.Task[None]] = set()

    async def begin(self, make: Make) -> None:
        """Cover from now on; what is covered already goes on as it is."""
        async with self._changing:
            self._make = self._make or make
            await self._open()

    async def end(self) -> None:
        """Cover no more: what happened until now is taken down."""
        async with self._changing:
            self._make = None
            await self._close()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """A step that is covered by itself, or takes down itself what it changes."""
        self._steps += 1
        try:
            if self._make is not None:
                async with self._changing:
                    await self._close()
            yield
        finally:
            self._steps -= 1
            if self._make is not None:
                opening = asyncio.create_task(self._open_again())
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)
                current = asyncio.current_task()
                if not (current and current.cancelling()):  # who stops the step is not to wait
                    await asyncio.shield(opening)

    async def _open_again(self) -> None:
        async with self._changing:
            await self._open()

    async def _open(self) -> None:
        if self._make is not None and self._stretch is None and not self._steps:
            stretch = self._make()
            await stretch.__aenter__()
            self._stretch = stretch

    async def _close(self) -> None:
        stretch, self._stretch = self._stretch, None
        if stretch is not None:
            await stretch.__aexit__(None, None, None)
