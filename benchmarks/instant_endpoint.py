"""An endpoint that answers at once, in a process of its own, and writes down when.

Request ``n`` of a conversation is answered with a call of ``read_file`` on ``file-n.txt``, the last
one with words. ``GET /times`` gives, for each request since the last ``GET /reset``, when it was
whole and when its answer was sent, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

TURNS = 100


def answer(n: int) -> bytes:
    """The stream of the ``n``-th answer, 1-based."""
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    if n > TURNS:
        deltas = [{"role": "assistant", "content": "done"}]
    else:
        call = {"index": 0, "id": f"call_{n}", "type": "function"}
        arguments = json.dumps({"path": f"file-{n}.txt"})
        deltas = [
            {"tool_calls": [{**call, "function": {"name": "read_file", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]},
        ]
    finish = "stop" if n > TURNS else "tool_calls"
    chunks = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 1000 * n, "completion_tokens": 20, "total_tokens": 1000 * n + 20}
    chunks.append({**base, "choices": [], "usage": usage})
    events = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks)
    return events + b"data: [DONE]\n\n"


class Endpoint:
    """The server; one conversation at a time."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float, float]] = []
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection, as long as it lasts."""
        writer.transport.get_extra_info("socket").setsockopt(6, 1, 1)  # TCP_NODELAY
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                begun = time.monotonic()
                first, *lines = head.decode("latin-1").split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                received = time.monotonic()
                path = first.split(" ")[1]
                if first.startswith("GET"):
                    data, kind = self.told(path), "application/json"
                else:
                    self.bodies.append(body)
                    data, kind = answer(len(self.bodies)), "text/event-stream"
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}"
                writer.write(head.encode() + b"\r\n\r\n" + data)
                await writer.drain()
                if not first.startswith("GET"):
                    self.times.append((begun, received, time.monotonic()))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()  # the client or the benchmark is done

    def told(self, path: str) -> bytes:
        """What the benchmark asks for."""
        if path.startswith("/body/"):
            return self.bodies[int(path.removeprefix("/body/"))]
        data = json.dumps(self.times).encode()
        if path == "/reset":
            self.times, self.bodies = [], []
        return data


async def main() -> None:
    """Serve until the standard input ends."""
    server = await asyncio.start_server(Endpoint().serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
