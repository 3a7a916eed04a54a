"""Runs a chat completions endpoint whose chunks contain their time; prints its address."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress

SLICE_S = 0.005  # seconds between two writes of due chunks


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stamping",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):  # the benchmark ends the server in the middle of the stream
        await stamp(reader, writer)
    writer.close()


async def stamp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    n_chunks, per_second = int(sys.argv[1]), float(sys.argv[2])
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    started, sent = time.monotonic(), 0
    while sent < n_chunks:
        due = min(n_chunks, int((time.monotonic() - started) * per_second) + 1)
        while sent < due:
            writer.write(event({"content": f"{time.monotonic_ns()} "}))
            sent += 1
        await writer.drain()
        await asyncio.sleep(min(SLICE_S, 1 / per_second))
    writer.write(event({}, "stop") + b"data: [DONE]\n\n")
    await writer.drain()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
