"""Runs a web server that sends exactly the bytes that a test chooses for each path."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

ENDLESS = b"<endless>"
"""A body that never ends."""


class PageServer:
    """A running server; ``asked`` has the headers of its requests."""

    def __init__(self, port: int, asked: list[str]) -> None:
        self.port = port
        self.asked = asked


def page(body: bytes | str, kind: str = "text/html; charset=utf-8", *heads: str) -> bytes:
    """Return a whole answer with status 200."""
    data = body.encode() if isinstance(body, str) else body
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *heads]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def moved(location: str) -> bytes:
    """Return a redirect."""
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


@asynccontextmanager
async def page_server(
    pages: Mapping[str, bytes], tls: ssl.SSLContext | None = None
) -> AsyncIterator[PageServer]:
    """Serve each path of ``pages`` on this machine."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            asked.append(head)
            answer = pages.get(head.split()[1], b"HTTP/1.1 404 Not Found\r\n\r\n")
            begin, endless, _ = answer.partition(ENDLESS)
            writer.write(begin)
            while endless:
                writer.write(b"<p>more</p>" * 10_000)
                await writer.drain()
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield PageServer(listening.sockets[0].getsockname()[1], asked)
    finally:
        listening.close()
