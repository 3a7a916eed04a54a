"""Connects the SDK to a server with streams that limit messages and record why they broke.

A server that sends too many messages, garbage or an endless message breaks only its own connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextvars import Context
from typing import Any, Protocol, Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from indwell.errors import ToolError
from indwell.mcp.definition import HttpServer
from indwell.mcp.http import LIMIT_B, MOST_VALUES, Auth, Refusal, http_client
from indwell.mcp.server_log import ServerLog
from indwell.sandbox import Finished
from indwell.sandbox.capture import Feed, OnChunk
from indwell.sandbox.program import Pool
from mcp import types

# The limit of messages within a time in seconds; a server that sends more is disconnected.
MOST_MESSAGES, WITHIN_S = 5_000, 10.0
# the limit of entries for one list in a result, because the SDK checks long lists slowly
MOST_ENTRIES = 1_000
# the limit of consecutive lines without a message; banners and warnings are shorter
MOST_GARBAGE = 100
# A server must wait when the first number of lines is unread, until only the second number is.
_MOST_WAITING, _FEW_WAITING = 256, 32
# 64 KB decode within a millisecond; larger messages are decoded in a thread
_SMALL_B = 64 << 10
_FEW_VALUES = 20_000  # the limit of commas for the fast decoder, which blocks other threads
_END_S = 1.0  # the time, in seconds, in which a server should end after its input was closed
_STOP_S = 8.0  # the time limit, in seconds, after which a stopped program must have been killed

_log = logging.getLogger(__name__)


_TURNS = Pool(1)


async def own_turn() -> None:
    """Wait for an iteration of the event loop in which no other connection is at work.

    Many servers that start together would otherwise block the loop in one long iteration.
    """
    async with _TURNS.place():
        await asyncio.sleep(0)


class BreakReason:
    """The reason why a connection broke; only the first reason is kept.

    Attributes:
        wants_login: Whether the server refused a request without a login.
        wants_scope: Whether the server refused a request because the login lacks a scope.
    """

    def __init__(self) -> None:
        self.words = ""
        self.happened = asyncio.Event()
        self.wants_login = False
        self.wants_scope = False

    def set(self, words: str) -> None:
        """Store the reason, if it is the first."""
        self.words = self.words or words
        self.happened.set()


def innermost(error: BaseException) -> BaseException:
    """Return the first single error in nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_session_gone(error: MCPError) -> bool:
    """Return whether the server no longer knows the session, so a new connection is needed."""
    words = error.error.message.lower()
    return "session" in words and "terminated" in words


class StartServer(Protocol):
    """Runs a server's program until it ends; see ``sandbox.spawn.spawn_server``."""

    async def __call__(
        self, *, feed: Feed, on_output: OnChunk, on_errors: OnChunk, stop: asyncio.Event
    ) -> Finished:
        """Run the program until it ends."""
        ...


@contextlib.asynccontextmanager
async def stdio_streams(
    log: ServerLog, start: StartServer, fault: BreakReason
) -> AsyncIterator[TransportStreams]:
    """Start a server's program and yield its streams; stop the program afterwards."""
    feed, stop = Feed(), asyncio.Event()
    lines = _Lines(fault)
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    program = asyncio.create_task(_run(log, start, feed, lines, stop, fault))
    pumps = [
        asyncio.create_task(_read_lines(lines, into, fault, log)),
        asyncio.create_task(_write_lines(out_of, feed)),
        asyncio.create_task(_end_when_broken(lines, fault)),
    ]
    try:
        yield _Admitted(read, fault), write
    finally:
        feed.end()
        await asyncio.wait({program}, timeout=_END_S)
        stop.set()
        await asyncio.wait({program}, timeout=_STOP_S)
        for task in (program, *pumps):
            task.cancel()
        await asyncio.wait({program, *pumps})
        for task in (program, *pumps):
            _heed(task)
        for stream in (into, read, write, out_of):
            stream.close()


async def _run(  # noqa: PLR0917 - the program and its three streams
    log: ServerLog,
    start: StartServer,
    feed: Feed,
    lines: _Lines,
    stop: asyncio.Event,
    fault: BreakReason,
) -> None:
    """Run the program until it ends, and record why it ended."""
    log.begin()
    try:
        ended = await start(feed=feed, on_output=lines.take, on_errors=log.take, stop=stop)
    except ToolError as error:
        fault.set(str(error))
    else:
        log.end()
        log.note(f"the program ended with exit code {ended.exit_code}")
        if not stop.is_set():  # Otherwise Indwell ended the program, for another reason.
            fault.set(f"it ended with exit code {ended.exit_code}{log.last_words}")
    finally:
        lines.end()


async def _read_lines(
    lines: _Lines,
    into: MemoryObjectSendStream[SessionMessage | Exception],
    fault: BreakReason,
    log: ServerLog,
) -> None:
    """Forward the program's messages; lines that are not messages only go to the log."""
    n_garbage = 0
    async with into:
        while (line := await lines.next()) is not None:
            await own_turn()
            message = await _message(line, fault)
            if message is not None:
                n_garbage = 0
                await into.send(SessionMessage(message))
                continue
            n_garbage += 1
            log.stray(line)
            if n_garbage > MOST_GARBAGE:
                fault.set("it writes text to its standard output that is not MCP")
            if fault.happened.is_set():
                return


async def _end_when_broken(lines: _Lines, fault: BreakReason) -> None:
    """End the server's output with the connection, because the SDK waits for an answer."""
    await fault.happened.wait()
    lines.end()


async def _write_lines(out_of: MemoryObjectReceiveStream[SessionMessage], feed: Feed) -> None:
    async with out_of:
        async for item in out_of:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await feed.write(text.encode() + b"\n")


@contextlib.asynccontextmanager
async def http_streams(
    server: HttpServer, auth: Auth | None, fault: BreakReason
) -> AsyncIterator[TransportStreams]:
    """Yield the streams to a server at an address."""

    def note_refusal(why: Refusal) -> None:
        if not server.logs_in_alone:
            fault.wants_scope |= why == "scope"
            fault.wants_login |= why == "login"

    async with (
        http_client(server, auth, note_refusal) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LIMIT_B) as (
            read,
            write,
        ),
    ):
        yield _Admitted(read, fault), write


def _heed(task: asyncio.Task[None]) -> None:
    """Log an unexpected error of a task that served a connection."""
    if task.cancelled():
        return
    error = task.exception()
    if error is not None and not isinstance(error, OSError | anyio.BrokenResourceError):
        _log.error("a connection to an MCP server failed", exc_info=error)


class _Admitted:
    """A read stream that stops floods of messages and removes the schemas of tools' results.

    The SDK would check each result against its schema, and a server's schema can make the check
    very slow.
    """

    def __init__(self, inner: ReadStream[SessionMessage | Exception], fault: BreakReason) -> None:
        self._inner = inner
        self._fault = fault
        self._n_messages, self._since = 0, time.monotonic()

    @property
    def last_context(self) -> Context | None:
        """The context of the last message's sender, which the SDK reads."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, after checking the limit of messages."""
        item = await self._inner.receive()
        now = time.monotonic()
        if now - self._since > WITHIN_S:
            self._n_messages, self._since = 0, now
        self._n_messages += 1
        if self._n_messages > MOST_MESSAGES:
            self._fault.set(f"it sent over {MOST_MESSAGES:,} messages within {WITHIN_S:.0f} s")
            raise anyio.EndOfStream
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            _drop_output_schemas(item.message.result)
            _cut_lists(item.message.result)
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> _Admitted:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *how: object) -> None:
        await self.aclose()


def _drop_output_schemas(result: dict[str, Any]) -> None:
    tools = result.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)


def _cut_lists(result: dict[str, Any]) -> None:
    """Shorten each list in a result to ``MOST_ENTRIES``; for a tool call, add a note."""
    for name, found in result.items():
        if isinstance(found, list) and (n_more := len(found) - MOST_ENTRIES) > 0:
            del found[MOST_ENTRIES:]
            if name == "content":
                words = f"[{n_more:,} more pieces of this result were left out]"
                found.append({"type": "text", "text": words})


async def _message(line: bytes, fault: BreakReason) -> types.JSONRPCMessage | None:
    """Decode a line; return None if the line is not a message."""
    if line.count(b",") > MOST_VALUES:
        fault.set(f"it sent a message with over {MOST_VALUES:,} values")
        return None
    decode = types.jsonrpc_message_adapter.validate_json
    try:
        if len(line) < _SMALL_B:
            return decode(line, by_name=False)
        if line.count(b",") < _FEW_VALUES:
            return await asyncio.to_thread(decode, line, by_name=False)
        read = await asyncio.to_thread(_decoded_beside, line)
        return types.jsonrpc_message_adapter.validate_python(read, by_name=False)
    except (ValueError, RecursionError):
        _log.debug("an MCP server wrote a line that is no message")
        return None


def _decoded_beside(line: bytes) -> object:
    """Decode JSON in pure Python, so that the event loop can run meanwhile.

    Decoders in C and Rust block all threads until the end of a message.

    Raises:
        ValueError: The message is not JSON, or has a string that cannot be encoded as UTF-8.
    """
    decoder: Any = json.JSONDecoder()
    decoder.parse_string = _checked_string
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(line.decode())


def _checked_string(text: str, begin: int, strict: bool) -> tuple[str, int]:  # noqa: FBT001 - as json calls it
    found, end = json.decoder.py_scanstring(text, begin, strict)  # type: ignore[attr-defined]
    if not found.isascii():
        found.encode()
    return found, end


class _Lines:
    """Splits a server's output into lines, and makes the server wait while many are unread."""

    def __init__(self, fault: BreakReason) -> None:
        self._fault = fault
        self._rest = bytearray()
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._free: asyncio.Future[None] | None = None
        self._is_over = False

    def take(self, data: bytes) -> asyncio.Future[None] | None:
        """Add bytes; if the server must wait, return a future that ends the wait."""
        if self._fault.happened.is_set():
            return None  # The server is broken, so further output is discarded.
        first, newline, more = data.partition(b"\n")
        self._rest += first
        if newline:
            self._waiting.append(bytes(self._rest))
            *whole, rest = more.split(b"\n")
            self._waiting.extend(whole)
            self._rest = bytearray(rest)
            self._news.set()
        if len(self._rest) > LIMIT_B:
            self._rest.clear()
            self._fault.set(f"it sent a message of over {LIMIT_B >> 20} MB")
            self.end()
        if len(self._waiting) > _MOST_WAITING and self._free is None:
            self._free = asyncio.get_running_loop().create_future()
        return self._free

    def end(self) -> None:
        """Note that the output has ended."""
        self._is_over = True
        self._news.set()

    async def next(self) -> bytes | None:
        """Return the next line that is not blank, or None at the end of the output."""
        while True:
            while self._waiting:
                line = self._waiting.popleft()
                if len(self._waiting) < _FEW_WAITING and self._free is not None:
                    self._free.set_result(None)
                    self._free = None
                if line.strip():
                    return line
            if self._is_over:
                return None
            self._news.clear()
            await self._news.wait()
