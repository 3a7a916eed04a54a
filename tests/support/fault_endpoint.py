"""Runs an endpoint that can break HTTP in every way: its scripts contain each byte.

    async with FaultEndpoint([broken(HEAD, event, RST)]) as endpoint:
        provider = EndpointClient(base_url=endpoint.base_url)

``LoopbackEndpoint`` plays valid HTTP answers; ``FaultEndpoint`` plays invalid ones. The endpoint
keeps a connection for the next request if an answer ends properly. ``n_connections`` counts the
connections.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, assert_never

RST: Literal["rst"] = "rst"  # The endpoint resets the connection.
FIN: Literal["fin"] = "fin"  # The endpoint closes the connection in the middle of the answer.
# The endpoint sends nothing more until the client closes the connection.
HANG: Literal["hang"] = "hang"

Step: TypeAlias = bytes | float | Literal["rst", "fin", "hang"]
"""Bytes as they are, seconds to pause, or how it breaks."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Script:
    """The answer to one request; after the steps the endpoint repeats ``forever``."""

    steps: tuple[Step, ...]
    forever: bytes = b""


def broken(*steps: Step, forever: bytes = b"") -> Script:
    """Return a script of any steps."""
    return Script(steps, forever)


def streamed(*events: Mapping[str, Any] | bytes, done: bool = True) -> Script:
    """Return a whole stream with each event in a separate chunk."""
    parts = [event if isinstance(event, bytes) else data(event) for event in events]
    if done:
        parts.append(DONE)
    return Script((HEAD, *(chunked(part) for part in parts), END))


def answer(
    status: int, body: bytes | str, *, kind: str = "application/json", headers: str = ""
) -> Script:
    """Return an answer with a content length; ``headers`` are whole lines."""
    raw = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n"
    return Script(((head + headers + "\r\n").encode() + raw,))


def refusal(status: int, message: str, *, headers: str = "", **fields: object) -> Script:
    """Return an error in OpenAI's format."""
    error = {"error": {"message": message, "type": None, "code": None, **fields}}
    return answer(status, json.dumps(error), headers=headers)


def data(event: Mapping[str, Any]) -> bytes:
    """Return a data event."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def chunked(part: bytes) -> bytes:
    """Return one chunk of HTTP's chunked coding."""
    return b"%x\r\n%s\r\n" % (len(part), part)


def bomb(n_bytes: int) -> bytes:
    """Return a compressed stream that expands to one comment of ``n_bytes``."""
    return gzip.compress(b": " + b"x" * n_bytes + b"\n\n")


class FaultEndpoint:
    """The endpoint; ``bodies`` has the requests' bodies, ``gone`` is set when a client leaves."""

    def __init__(self, script: Sequence[Script], *, tls: ssl.SSLContext | None = None) -> None:
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        self.n_connections = 0
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()
        self.base_url = ""
        self.port = 0
        self._script: Iterator[Script] = iter(script)
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def n_open(self) -> int:
        """Return the number of open connections."""
        return len(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    if head.startswith(
                        b"GET "
                    ):  # a request for a model's properties uses up no scripted reply
                        await self._play(answer(404, "{}"), reader, writer)
                        continue
                    self.heads.append(head)
                    self.bodies.append(await reader.readexactly(_length(head)))
                    self.arrived.set()
                    script = next(self._script, None) or refusal(400, "the script is over")
                    if not await self._play(script, reader, writer):
                        return
        finally:
            writer.close()

    async def _play(
        self, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Play the script; return whether the connection remains usable."""
        sending = asyncio.ensure_future(_send(script, writer))
        leaving = asyncio.ensure_future(_left(reader))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and not sending.cancelled() and not sending.exception():
                return sending.result()
            self.gone.set()
            return False
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)


async def _left(reader: asyncio.StreamReader) -> None:
    """Wait until the client closes, without reading its bytes."""
    while not reader.at_eof():  # noqa: ASYNC110 -- to read would take bytes of the next request
        await asyncio.sleep(0.005)


async def _send(script: Script, writer: asyncio.StreamWriter) -> bool:
    for step in script.steps:
        match step:
            case bytes():
                writer.write(step)
                await writer.drain()
            case float() | int():
                await asyncio.sleep(step)
            case "rst":
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            case "fin":
                return False
            case "hang":
                await asyncio.Event().wait()
            case _:
                assert_never(step)
    while script.forever:
        writer.write(script.forever)
        await writer.drain()
        await asyncio.sleep(0)
    return True


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
