"""What a program's descriptors are joined to: pipes that are read into bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from indwell.sandbox.capture import Capture


class End:
    """The end of a pipe that the child gets; ours is closed once the child has its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = number >= 0

    def let_go(self) -> None:
        """Close it, if it is open."""
        if self._is_open:
            self._is_open = False
            os.close(self.number)


@contextlib.asynccontextmanager
async def pipe_into(capture: Capture) -> AsyncIterator[End]:
    """A pipe into ``capture``.

    Not asyncio's own: there, waiting for a process also waits for whoever else holds its pipes.
    """
    reading, writing = os.pipe()
    end = End(writing)
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.connect_read_pipe(
            lambda: capture, os.fdopen(reading, "rb", buffering=0)
        )
        try:
            yield end
        finally:
            transport.close()
    finally:
        end.let_go()


class _Feeding(asyncio.BaseProtocol):
    """Knows whether all was read, or nobody reads any more."""

    is_over = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The pipe is closed."""
        del exc
        self.is_over = True


@contextlib.asynccontextmanager
async def pipe_from(data: bytes) -> AsyncIterator[End]:
    """A pipe that ``data`` is read from; a program may end without reading all of it."""
    if not data:
        yield End(asyncio.subprocess.DEVNULL)
        return
    reading, writing = os.pipe()
    end = End(reading)
    loop = asyncio.get_running_loop()
    try:
        transport, feeding = await loop.connect_write_pipe(
            _Feeding, os.fdopen(writing, "wb", buffering=0)
        )
        try:
            transport.write(data)  # held in memory until it is read
            transport.write_eof()
            yield end
        finally:
            if not feeding.is_over:  # what is closed already must not be closed again
                transport.abort()
    finally:
        end.let_go()
