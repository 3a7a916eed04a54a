"""Captures a program's output from pipes: keeps its beginning and end in bounded memory.

On Windows the event loop reads only pipes that were opened for overlapped input. Programs there
write UTF-8 or the code page of their console, so output is decoded line by line.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import sys
from collections.abc import AsyncIterator, Callable
from typing import IO, TypeAlias

_FIRST_B = 1 << 20  # The first bytes are examined closely, and so read in small parts of 3 ms each.
_FIRST_READ_B = 1 << 14
_READ_B = 1 << 16  # The size in bytes is that of a Linux pipe.

OnChunk: TypeAlias = Callable[[bytes], asyncio.Future[None] | None]


class Capture(asyncio.Protocol):
    """The output of one pipe; 10 GB of output need only ``limit_b`` bytes of memory.

    Args:
        limit_b: Bytes to keep: two thirds from the start, the rest from the end.
        on_chunk: A quick function that is called with each part on the event loop. The writer waits
            for the future that the function returns, if any.
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
        self._is_held = False

    @property
    def head(self) -> bytes:
        """The first bytes of the output, or all bytes if nothing was cut."""
        return bytes(self._head) if self.cut_b else bytes(self._head + self._tail)

    @property
    def tail(self) -> bytes:
        """The last bytes of the output, or empty if nothing was cut."""
        return bytes(self._tail[-self._tail_b :]) if self.cut_b else b""

    @property
    def cut_b(self) -> int:
        """The number of bytes that were cut between head and tail."""
        return max(0, self.total_b - self._head_b - self._tail_b)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the open pipe."""
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
        # The tail is trimmed rarely, so that small parts stay cheap.
        if len(self._tail) > 2 * self._tail_b:
            del self._tail[: -self._tail_b or None]

    def let_in(self) -> None:
        """Read the rest of the pipe at once, because the program has ended."""
        self._is_last = True
        self._go_on()

    def _hold_until(self, free: asyncio.Future[None] | None) -> None:
        # A pipe's ``is_reading`` is missing in Python before 3.11.4.
        if free is None or self._is_last or self._is_held:
            return
        self._is_held = True
        self._transport.pause_reading()
        free.add_done_callback(lambda _free: self._go_on())

    def _go_on(self) -> None:
        self._is_held = False
        self._transport.resume_reading()

    def _read_at_most(self, size_b: int) -> None:
        # The attribute is private to CPython; without it, one read takes as much as the pipe
        # contains.
        if hasattr(self._transport, "max_size"):
            self._transport.max_size = size_b

    def connection_lost(self, exc: Exception | None) -> None:
        """Record that the pipe was closed."""
        del exc
        if not self.closed.done():
            self.closed.set_result(None)


class End:
    """The child's end of a pipe; Indwell closes its copy when the child has another copy."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = number >= 0

    def let_go(self) -> None:
        """Close Indwell's copy, if the copy is open."""
        if self._is_open:
            self._is_open = False
            os.close(self.number)


if sys.platform == "win32":
    import msvcrt
    from asyncio import windows_utils

    def _pipe_to_read() -> tuple[windows_utils.PipeHandle, int]:
        """Return a pipe: Indwell's end for the event loop, and the number of the child's end."""
        ours, theirs = windows_utils.pipe(overlapped=(True, False))
        return windows_utils.PipeHandle(ours), msvcrt.open_osfhandle(theirs, os.O_NOINHERIT)

    def _pipe_to_write() -> tuple[int, windows_utils.PipeHandle]:
        theirs, ours = windows_utils.pipe(overlapped=(False, True), duplex=True)
        number = msvcrt.open_osfhandle(theirs, os.O_RDONLY | os.O_NOINHERIT)
        return number, windows_utils.PipeHandle(ours)

else:

    def _pipe_to_read() -> tuple[IO[bytes], int]:
        """Return a pipe: Indwell's end for the event loop, and the number of the child's end."""
        reading, writing = os.pipe()
        return os.fdopen(reading, "rb", buffering=0), writing

    def _pipe_to_write() -> tuple[int, IO[bytes]]:
        reading, writing = os.pipe()
        return reading, os.fdopen(writing, "wb", buffering=0)


@contextlib.asynccontextmanager
async def pipe_into(capture: Capture) -> AsyncIterator[End]:
    """Open a pipe into ``capture``.

    asyncio's own pipes are unsuitable: waiting for a process would also wait for other processes
    that hold the pipes.
    """
    reading, writing = _pipe_to_read()
    end = End(writing)
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.connect_read_pipe(lambda: capture, reading)
        try:
            yield end
        finally:
            transport.close()
    finally:
        end.let_go()


class Feed(asyncio.BaseProtocol):
    """The standard input of a program that receives more input while it runs."""

    def __init__(self) -> None:
        self._is_over = False
        # The event is cleared before the pipe is open, so that writers wait.
        self._free = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the open pipe."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._free.set()

    def pause_writing(self) -> None:
        """Let writers wait, because the program reads more slowly than they write."""
        self._free.clear()

    def resume_writing(self) -> None:
        """Let writers continue, because the program has read most of the data."""
        self._free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record that the pipe is closed."""
        del exc
        self._is_over = True
        self._free.set()

    async def write(self, data: bytes) -> None:
        """Write after the pipe has opened, and wait until the program has read most of the data.

        Raises:
            BrokenPipeError: The program no longer reads.
        """
        await self._free.wait()
        if self._is_over or self._transport is None:
            raise BrokenPipeError(errno.EPIPE, "the program reads no more")
        self._transport.write(data)
        await self._free.wait()

    def end(self) -> None:
        """Close the pipe after the program has read everything."""
        if self._transport is not None and not self._is_over:
            self._transport.write_eof()

    def abort(self) -> None:
        """Close the pipe at once."""
        if self._transport is not None and not self._is_over:
            self._transport.abort()


@contextlib.asynccontextmanager
async def pipe_from(source: bytes | Feed) -> AsyncIterator[End]:
    """Open a pipe for ``source``; the program may end before it has read everything."""
    if not source:
        yield End(asyncio.subprocess.DEVNULL)
        return
    reading, writing = _pipe_to_write()
    end = End(reading)
    loop = asyncio.get_running_loop()
    feed = source if isinstance(source, Feed) else Feed()
    try:
        transport, _ = await loop.connect_write_pipe(lambda: feed, writing)
        try:
            if isinstance(source, bytes):
                transport.write(source)  # The data stays in memory until the program reads it.
                transport.write_eof()
            yield end
        finally:
            feed.abort()
    finally:
        end.let_go()


_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MOST_HELD_B = 3  # An incomplete UTF-8 character has at most 3 bytes.


class ConsoleDecoder(codecs.IncrementalDecoder):
    """Decodes the output of Windows programs: as UTF-16 after a BOM, or line by line.

    A line of valid UTF-8 is decoded as UTF-8, any other line by the code page, because one command
    may run programs with different encodings. Bytes that are invalid in both become replacement
    characters.

    Args:
        code_page: A codec's name, such as ``oem``.
    """

    def __init__(self, code_page: str) -> None:
        super().__init__("replace")
        self._code_page = code_page
        self._held = b""
        self._wide: codecs.IncrementalDecoder | None = None
        self._is_first = True

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override] # noqa: FBT001, FBT002 - as codecs have it
        """Decode the next bytes; an incomplete character waits for the remaining bytes."""
        data, self._held = self._held + bytes(data), b""
        if self._is_first and len(data) < len(_BOMS[0]) and not final:
            self._held = data
            return ""
        if self._is_first and data.startswith(_BOMS):
            self._wide = codecs.getincrementaldecoder("utf-16")("replace")
        self._is_first = False
        if self._wide is not None:
            return self._wide.decode(data, final)
        *lines, rest = data.split(b"\n")
        return "".join([*(f"{self._text(one)}\n" for one in lines), self._last(rest, final)])

    def _last(self, data: bytes, final: bool) -> str:  # noqa: FBT001 - as above
        """Decode a line that has not ended."""
        if not final:
            for n_held in range(1, min(_MOST_HELD_B, len(data)) + 1):
                if _is_cut(data[-n_held:]):
                    data, self._held = data[:-n_held], data[-n_held:]
                    break
        return self._text(data)

    def _text(self, line: bytes) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError:
            return line.decode(self._code_page, "replace")


def _is_cut(data: bytes) -> bool:
    """Return whether these bytes are the beginning of one UTF-8 character."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start == 0 and error.reason == "unexpected end of data"
    return False


if sys.platform == "win32":

    def output_decoder() -> codecs.IncrementalDecoder:
        """Return a decoder for the output of programs, whose console has the system's code page."""
        return ConsoleDecoder("oem")

else:

    def output_decoder() -> codecs.IncrementalDecoder:
        """Return a decoder for a program's output: UTF-8, with invalid bytes replaced."""
        return codecs.getincrementaldecoder("utf-8")("replace")


def output_text(data: bytes) -> str:
    """Decode a program's whole output."""
    return output_decoder().decode(data, final=True)
