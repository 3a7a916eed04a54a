"""What a program's descriptors are joined to: pipes that are read into bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from indwell.sandbox.capture import Capture


class WriteEnd:
    """The end of a pipe that the child gets; ours is closed once the child has its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = True

    def let_go(self) -> None:
        """Close it, if it is open."""
        if self._is_open:
            self._is_open = False
            os.close(self.number)


@contextlib.asynccontextmanager
async def pipe_into(capture: Capture) -> AsyncIterator[WriteEnd]:
    """A pipe into ``capture``.

    Not asyncio's own: there, waiting for a process also waits for whoever else holds its pipes.
    """
    reading, writing = os.pipe()
    end = WriteEnd(writing)
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


async def feed(stdin: asyncio.StreamWriter | None, data: bytes) -> None:
    """Write standard input; a program may end without reading all of it."""
    if stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    stdin.close()
