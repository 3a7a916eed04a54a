"""Runs a chat completions endpoint: a real HTTP/1.1 server on this machine with a script.

    async with LoopbackEndpoint([say("hello"), refuse(429)]) as endpoint:
        provider = EndpointClient(base_url=endpoint.base_url)

``with endpoint_in_thread([...]) as endpoint:`` does the same for a test without an event loop, or
with a client in another process.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, assert_never

# The endpoint sends nothing more until the client closes the connection.
HANG: Literal["hang"] = "hang"
CUT: Literal["cut"] = "cut"  # The endpoint resets the connection.

Part: TypeAlias = bytes | float | asyncio.Event | Literal["hang", "cut"]
"""Bytes to send, seconds to pause, an event to wait for, or how it breaks."""


@dataclass(frozen=True)
class Answer:
    """The answer to one request."""

    parts: tuple[Part, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The decoded JSON body."""
        decoded: dict[str, Any] = json.loads(self.raw)
        return decoded


Script: TypeAlias = Sequence[Answer] | Callable[[Seen], Answer]


class LoopbackEndpoint:
    """The server.

    ``seen`` has the requests. The first request sets ``arrived``; ``gone`` is set when a client
    left before the end of an answer. A script is for chats only, unless ``gets`` or the script's
    own attribute ``gets`` says otherwise: a GET request, such as for the facts of a model, gets a
    404.
    """

    def __init__(self, script: Script, *, gets: bool = False) -> None:
        self.seen: list[Seen] = []
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()
        self.base_url = ""
        self._script = script
        self._gets = gets or getattr(script, "gets", False)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            if not writer.is_closing() or writer.transport.get_write_buffer_size():
                writer.transport.abort()  # Nobody reads the rest of the answer.
        await asyncio.sleep(0)  # A transport closes in the loop's next iteration.
        await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                request = await _read_request(reader)
                if request.method == "GET" and not self._gets:
                    await self._answer(refuse(404, "no such page"), reader, writer)
                    return
                self.seen.append(request)
                self.arrived.set()
                await self._answer(self._next_answer(request), reader, writer)
        finally:
            writer.close()

    def _next_answer(self, request: Seen) -> Answer:
        if callable(self._script):
            return self._script(request)
        if len(self.seen) > len(self._script):
            return refuse(400, f"the script has no answer for request {len(self.seen)}")
        return self._script[len(self.seen) - 1]

    async def _answer(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send the parts as chunks, and stop if the client closes the connection."""
        head = {"Transfer-Encoding": "chunked", "Connection": "close", **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {head[name]}" for name in head)]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        sending = asyncio.ensure_future(_send(answer.parts, writer))
        # The read ends when the client leaves, because the client sends nothing more.
        leaving = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self.gone.set()
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)


@contextmanager
def endpoint_in_thread(script: Script, *, gets: bool = False) -> Iterator[LoopbackEndpoint]:
    """Run the server in a separate thread, for tests without an event loop."""
    ready: list[LoopbackEndpoint] = []
    started = threading.Event()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopped.set))
        async with LoopbackEndpoint(script, gets=gets) as endpoint:
            ready.append(endpoint)
            started.set()
            await stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="loopback endpoint")
    thread.start()
    assert started.wait(10), "the loopback endpoint did not start"
    try:
        yield ready[0]
    finally:
        stop[0]()
        thread.join(10)
        assert not thread.is_alive(), "the loopback endpoint did not stop"


def say(
    text: str = "",
    *,
    calls: Sequence[tuple[str, str]] = (),
    finish: str | None = None,
    usage: Mapping[str, Any] | None = None,
    piece: int = 8,
) -> Answer:
    """Return a streamed reply: ``text`` and ``calls`` (name, arguments) in pieces of ``piece``."""
    deltas: list[dict[str, Any]] = [{"content": part} for part in _pieces(text, piece)]
    for index, (name, arguments) in enumerate(calls):
        first = {"index": index, "id": f"id_{index}", "type": "function"}
        deltas.append({"tool_calls": [{**first, "function": {"name": name, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in _pieces(arguments, piece)
        ]
    chunks = [chunk(delta) for delta in deltas]
    chunks.append(chunk({}, finish=finish or ("tool_calls" if calls else "stop")))
    if usage is not None:
        chunks.append({**chunk({}), "choices": [], "usage": usage})
    return stream(*chunks)


def stream(*events: Mapping[str, Any] | Part, done: bool = True) -> Answer:
    """Return a stream of these chunks and unchanged parts; ``done`` adds ``[DONE]``."""
    parts = tuple(sse(event) if isinstance(event, Mapping) else event for event in events)
    end = (b"data: [DONE]\n\n",) if done else ()
    return Answer((*parts, *end), headers={"Content-Type": "text/event-stream"})


def refuse(
    status: int,
    message: str = "",
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return an error in OpenAI's format."""
    error = {"error": {"message": message, "type": "some_error", "param": None, "code": code}}
    return raw(
        status,
        json.dumps(error),
        headers={"Content-Type": "application/json"} | dict(headers or {}),
    )


def raw(status: int, body: str = "", *, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer with any status, headers and body."""
    return Answer((body.encode(),), status=status, headers=headers or {})


def chunk(delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    """Return one chunk object with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
    }


def sse(event: Mapping[str, Any]) -> bytes:
    """Return a data event."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


async def _read_request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Seen(
        method, path, headers, await reader.readexactly(int(headers.get("content-length", "0")))
    )


async def _send(parts: Sequence[Part], writer: asyncio.StreamWriter) -> None:
    for part in parts:
        match part:
            case bytes():
                if part:
                    writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                await writer.drain()
            case float() | int():
                await asyncio.sleep(part)
            case asyncio.Event():
                await part.wait()
            case "hang":
                await asyncio.Event().wait()
            case "cut":
                writer.transport.abort()
                return
            case _:
                assert_never(part)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
