"""The end of several things: each is closed, whatever became of the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

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
