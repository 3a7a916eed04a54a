"""Starts a web server outside the sandbox, and names the command that a program inside uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

WORDS = "words-9x7"
"""What it answers, whatever is asked."""

FETCH = """python3 -c '
import urllib.request
print(urllib.request.urlopen("http://localhost:{port}/x", timeout=20).read().decode())'"""


@asynccontextmanager
async def web_server() -> AsyncIterator[tuple[int, list[bytes]]]:
    """Yield the server's port, and the list of request headers that it receives."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        length = len(WORDS)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{WORDS}".encode())
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heard
    finally:
        listening.close()
