"""Connects to a server's streams on Windows, by overlapped pipes instead of descriptors."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

STDIN, STDOUT, STDERR = 0, 1, 2
LIMIT_B = 1 << 16


class OverlappedLog:
    """A server's stderr; a ``Log`` of ``raw_client``.

    Attributes:
        data: The output so far.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self._tell: Callable[[], None] = lambda: None

    def listen(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` after each new output."""
        self._tell = tell

    def add(self, data: bytes) -> None:
        """Append new output."""
        self.data += data
        self._tell()

    def read(self) -> None:
        """Do nothing; the transport calls ``add``."""

    def close(self) -> None:
        """Do nothing; the process's transport closes the pipe."""


class Overlapped(SubprocessStreamProtocol):
    """The test's ends of a server's stdin and stdout; implements ``Ends`` of ``raw_wire``."""

    def __init__(self) -> None:
        super().__init__(LIMIT_B, asyncio.get_running_loop())
        self.log = OverlappedLog()
        self.is_open = True
        self._early = bytearray()
        self._is_closed = False
        self._received: Callable[[bytes], bool] | None = None
        self._sent: Callable[[], None] = lambda: None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._server = transport

    @property
    def is_sent(self) -> bool:
        return not self._pipe(STDIN).get_write_buffer_size()

    def listen(self, received: Callable[[bytes], bool], sent: Callable[[], None]) -> None:
        self._received, self._sent = received, sent
        self._pipe(STDIN).set_write_buffer_limits(0)
        if self._early:
            received(bytes(self._early))

    def write(self, data: bytes) -> None:
        self._pipe(STDIN).write(data)

    def pause(self) -> None:
        self._pipe(STDOUT).pause_reading()

    def resume(self) -> None:
        self._pipe(STDOUT).resume_reading()

    def read_some(self, n_bytes: int) -> None:
        raise NotImplementedError("an overlapped pipe is read by the event loop alone")

    def close_write(self) -> None:
        self.is_open = False
        self._pipe(STDIN).close()

    def close_read(self) -> None:
        self._is_closed = True
        self._pipe(STDOUT).close()

    def pipe_data_received(self, fd: int, data: Any) -> None:
        data = bytes(data)  # The Proactor reuses this buffer.
        if fd == STDERR:
            self.log.add(data)
        elif self._received is None:
            self._early += data
        elif not self._received(data):
            self.pause()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, exc)
        if fd == STDOUT and self._received is not None and not self._is_closed:
            self._received(b"")
        if fd == STDIN:
            self._sent()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._sent()

    def _pipe(self, fd: int) -> Any:
        return self._server.get_pipe_transport(fd)


async def start_overlapped(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[Overlapped, Process]:
    """Start a process in ``folder``; return the process and the test's ends of its streams."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        Overlapped,
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(environment),
        cwd=folder,
    )
    return protocol, Process(transport, protocol, loop)
