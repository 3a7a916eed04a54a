"""How many programs run at once: the others wait in the order they came, and may give up (PRC-12).

Searches have places of their own: they take milliseconds, and must not wait behind test runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary


class Pool:
    """Places for ``size`` programs, in each event loop."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it."""
        loop = asyncio.get_running_loop()
        async with self._places.setdefault(loop, asyncio.Semaphore(self._size)):
            yield


COMMANDS = Pool(8)
"""Commands mostly wait, for tests, for the network; but each may hold a compiler's memory. Eight is
more than a person can follow, and what a laptop stands."""

BACKGROUND = Pool(8)
"""Those that run on beside the work keep no other command waiting."""

PROGRAMS = Pool(8)
"""Searches use all cores by themselves; more at once only takes turns on the same disk."""
