"""What is taken in a thread, and let go of again by who does not want it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def taken(take: Callable[[], T], let_go: Callable[[T], Awaitable[None]]) -> T:
    """``take()`` in a thread; who is cancelled meanwhile waits for it, and leaves it to others.

    A thread cannot be stopped: a lock that it gets for nobody would be held until the process ends.

    Raises:
        CancelledError: As it came, once all is let go of.
    """
    taking = asyncio.ensure_future(asyncio.to_thread(take))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        await asyncio.wait({taking})
        if taking.exception() is None:
            await let_go(taking.result())
        raise
