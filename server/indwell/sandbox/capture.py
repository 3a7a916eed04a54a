"""A program's output through pipes: its beginning and end are kept, in bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

_FIRST_B = 1 << 20  # is shown and looked at closely, so it comes in small pieces (3 ms each)
_FIRST_READ_B = 1 << 14
_READ_B = 1 << 16  # a pipe of Linux holds as much

OnChunk: TypeAlias = Callable[[bytes], asyncio.Future[None] | None]


class Capture(asyncio.Protocol):
    """One pipe: 10 GB through it cost ``limit_b`` bytes.

    Args:
        limit_b: Bytes to keep: the first two thirds from the start, the rest from the end.
        on_chunk: Hears every byte as it arrives, on the event loop; must be quick. While what it
            returns is not done, the writer waits.
    """

    def __init__(self, limit_b: int, on_chunk: OnChunk | None = None) -> None:
        self.total_b = 0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head_b = limit_b * 2 // 3
        self._tail_b = limit_b - self._head_b
        self._head = bytearray()
        self._tail = bytearray()
        self._on_chunk = on_chunk
        self._is_last = False

    @property
    def head(self) -> bytes:
        """The first bytes; all of them if nothing was left out."""
        return bytes(self._head) if self.cut_b else bytes(self._head + self._tail)

    @property
    def tail(self) -> bytes:
        """The last bytes; empty if nothing was left out."""
        return bytes(self._tail[-self._tail_b :]) if self.cut_b else b""

    @property
    def cut_b(self) -> int:
        """Bytes left out between head and tail."""
        return max(0, self.total_b - self._head_b - self._tail_b)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe is open."""
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport
        self._read_at_most(_FIRST_READ_B)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self.total_b < _FIRST_B <= self.total_b + len(data):
            self._read_at_most(_READ_B)
        self.total_b += len(data)
        if self._on_chunk is not None:
            self._hold_until(self._on_chunk(data))
        room = self._head_b - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._tail_b :] if self._tail_b else b""
        if len(self._tail) > 2 * self._tail_b:  # cut rarely, so that small pieces stay cheap
            del self._tail[: -self._tail_b or None]

    def let_in(self) -> None:
        """What is in the pipe is the last, so it comes in at once."""
        self._is_last = True
        self._go_on()

    def _hold_until(self, free: asyncio.Future[None] | None) -> None:
        if free is None or self._is_last or not self._transport.is_reading():
            return
        self._transport.pause_reading()
        free.add_done_callback(lambda _free: self._go_on())

    def _go_on(self) -> None:
        self._transport.resume_reading()

    def _read_at_most(self, size_b: int) -> None:
        # The name that CPython gives it; where it has none, reads are as large as the pipe.
        if hasattr(self._transport, "max_size"):
            self._transport.max_size = size_b

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is closed, or we stopped listening."""
        del exc
        if not self.closed.done():
            self.closed.set_result(None)


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
