"""``indwell acp``: serves an ACP client over two file descriptors, one JSON message per line."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from acp.agent.router import build_agent_router
from acp.connection import Connection
from acp.interfaces import Agent
from acp.meta import AGENT_METHODS

from acp import schema
from indwell.acp.agent import AcpAgent
from indwell.acp.client import AcpClient
from indwell.acp.sessions import SessionMaker

LINE_B = 50_000_000  # the limit of bytes for one message, such as a prompt with pictures
READ_B = 256 * 1024  # the limit of bytes for one read
# the time limit, in seconds, for the last messages to a client that has closed its side
LEAVE_S = 2.0


async def serve_client(new_maker: Callable[[], SessionMaker], read_fd: int, write_fd: int) -> int:
    """Serve one client until it closes its side; return the exit code.

    Args:
        new_maker: Returns a new composition root for each session.
        read_fd: The file descriptor for the client's messages.
        write_fd: The file descriptor for messages to the client.
    """
    client = AcpClient()
    agent = AcpAgent(client, new_maker)
    # The router calls methods by name, and answers a call of a missing method with an error.
    served: Agent = agent  # type: ignore[assignment]
    router = build_agent_router(served, use_unstable_protocol=True)
    router.route_request(
        AGENT_METHODS["session_delete"], schema.DeleteSessionRequest, agent, "delete_session"
    )
    connection = Connection(router, LineTransport(read_fd, write_fd), listening=False)
    client.connect(connection)
    try:
        await connection.main_loop()
    finally:
        await agent.close()
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(LEAVE_S):
                await connection.close()
    return 0


class LineTransport:
    """Sends and receives messages as lines of JSON; implements the SDK's ``Transport``.

    Two threads read and write, because pipes on Windows always block. A message that is no JSON
    object gets an error, and the connection goes on.

    Args:
        read_fd: The file descriptor for the client's messages.
        write_fd: The file descriptor for messages to the client.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=LINE_B)
        self._unsent: queue.SimpleQueue[tuple[dict[str, Any], asyncio.Future[None]]]
        self._unsent = queue.SimpleQueue()
        for work, fd in ((self._read, read_fd), (self._write, write_fd)):
            threading.Thread(target=work, args=(fd,), daemon=True).start()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message, and wait until the message is in the client's pipe.

        Raises:
            ConnectionError: The client has gone.
        """
        written: asyncio.Future[None] = self._loop.create_future()
        self._unsent.put((message, written))
        await written

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None when the client has closed its side."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:  # the line is longer than the limit
                return None
            if not line:
                return None
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                await self._refuse(-32700, "the message is not JSON")
                continue
            if isinstance(message, dict):
                return message
            await self._refuse(-32600, "the message is not an object")

    async def close(self) -> None:
        """Stop reading messages."""
        self._reader.feed_eof()

    async def _refuse(self, code: int, words: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}})

    def _read(self, fd: int) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            while data := _read_some(fd):
                self._loop.call_soon_threadsafe(self._reader.feed_data, data)
            self._loop.call_soon_threadsafe(self._reader.feed_eof)

    def _write(self, fd: int) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            while True:
                message, written = self._unsent.get()
                error = _write_all(fd, _encoded(message))
                self._loop.call_soon_threadsafe(_settle, written, error)
                if error is not None:  # After a failed write, nothing more is written.
                    self._loop.call_soon_threadsafe(self._reader.feed_eof)


def _read_some(fd: int) -> bytes:
    try:
        return os.read(fd, READ_B)
    except OSError:
        return b""


def _encoded(message: dict[str, Any]) -> bytes:
    """Return a message as a line of ASCII, because some clients end lines also at U+2028."""
    with suppress(UnicodeEncodeError):  # half of a surrogate pair, which JSON can escape
        data = msgspec.json.encode(message)
        if data.isascii():
            return data + b"\n"
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _write_all(fd: int, data: bytes) -> ConnectionError | None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        return ConnectionError(f"the client has gone ({error.strerror})")
    return None


def _settle(written: asyncio.Future[None], error: ConnectionError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
