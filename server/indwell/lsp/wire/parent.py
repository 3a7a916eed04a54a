"""Ends the server when the process that started it is gone (LSP-14)."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_log = logging.getLogger(__name__)

POLL_S = 2.0  # where the system does not tell by itself


@asynccontextmanager
async def watched(process_id: int | None) -> AsyncIterator[asyncio.Event]:
    """While this runs, the event says that the process has ended.

    A process that cannot be seen, as from inside a container, is not watched: the end of stdin
    has to do.
    """
    gone = asyncio.Event()
    if process_id is None or process_id <= 1 or sys.platform == "win32":
        yield gone
        return
    if not hasattr(os, "pidfd_open"):
        poll = asyncio.create_task(_poll(process_id, gone))
        try:
            yield gone
        finally:
            poll.cancel()
        return
    try:
        fd = os.pidfd_open(process_id)
    except (OSError, OverflowError) as error:
        _log.warning("the editor's process %s is not watched: %s", process_id, error)
        yield gone
        return
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(fd)
        gone.set()

    loop.add_reader(fd, ended)
    try:
        yield gone
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def _poll(process_id: int, gone: asyncio.Event) -> None:
    while True:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            gone.set()
            return
        except OverflowError:
            return  # no process has such a number
        except PermissionError:
            pass  # it is somebody else's, so it is alive
        await asyncio.sleep(POLL_S)
