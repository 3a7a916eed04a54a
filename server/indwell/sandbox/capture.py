"""Captures a program's output from pipes: keeps its beginning and end in bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

_FIRST_B = 1 << 20  # shown and examined closely, so it is read in small pieces (3 ms each)
_FIRST_READ_B = 1 << 14
_READ_B = 1 << 16  # the size of a Linux pipe

OnChunk: TypeAlias = Callable[[bytes], asyncio.Future[None] | None]


class Capture(asyncio.Protocol):
    """The output of one pipe; 10 GB of output need only ``limit_b`` bytes of memory.

    Args:
        limit_b: Bytes to keep: two thirds from the start, the rest from the end.
        on_chunk: Called with each piece on the event loop, so it must be quick. If it returns a
            future, the writer waits for it.
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
        """The first bytes; all of them if nothing was cut."""
        return bytes(self._head) if self.cut_b else bytes(self._head + self._tail)

    @property
    def tail(self) -> bytes:
        """The last bytes; empty if nothing was cut."""
        return bytes(self._tail[-self._tail_b :]) if self.cut_b else b""

    @property
    def cut_b(self) -> int:
        """How many bytes were cut between head and tail."""
        return max(0, self.total_b - self._head_b - self._tail_b)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe is open."""
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport
        self._read_at_most(_FIRST_READ_B)

    def data_received(self, data: bytes) -> None:
        """Keep the new data within the limits."""
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
        if len(self._tail) > 2 * self._tail_b:  # trim rarely, so that small pieces stay cheap
            del self._tail[: -self._tail_b or None]

    def let_in(self) -> None:
        """Read the rest of the pipe at once: the program has ended."""
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
        # CPython's private name; without it, one read takes as much as the pipe holds.
        if hasattr(self._transport, "max_size"):
            self._transport.max_size = size_b

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end was closed, or we closed ours."""
        del exc
        if not self.closed.done():
            self.closed.set_result(None)


class End:
    """The child's end of a pipe; our copy is closed once the child has its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = number >= 0

    def let_go(self) -> None:
        """Close our copy, if it is open."""
        if self._is_open:
            self._is_open = False
            os.close(self.number)


@contextlib.asynccontextmanager
async def pipe_into(capture: Capture) -> AsyncIterator[End]:
    """Open a pipe into ``capture``.

    Not asyncio's own pipes: with them, waiting for a process also waits for anyone who holds them.
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
    """Tells when all data was read, or the reader closed the pipe."""

    is_over = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The pipe is closed."""
        del exc
        self.is_over = True


@contextlib.asynccontextmanager
async def pipe_from(data: bytes) -> AsyncIterator[End]:
    """Open a pipe that supplies ``data``; the program may end without reading all of it."""
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
            transport.write(data)  # kept in memory until it is read
            transport.write_eof()
            yield end
        finally:
            if not feeding.is_over:  # a closed transport must not be closed again
                transport.abort()
    finally:
        end.let_go()
