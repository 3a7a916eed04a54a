"""Runs an endpoint of all APIs that answers at once and records the times.

Request ``n`` of a conversation gets a call of ``read_file`` on ``file-n.txt``; the last request
gets a text. ``GET /times`` returns for each request since the last ``GET /reset`` when the request
was whole and when the answer was sent. The times are those of the machine's monotonic clock.

    python benchmarks/instant_endpoint.py [ENDPOINTS SECONDS]

Each of the endpoints has its own port and one conversation, and answers after so many seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from indwell.providers.wires.dialect import WireName
from indwell.providers.wires.encoder import LAYOUTS
from support.wire_streams import WIRES, call_events, end_events, words_event

TURNS = 100


def answer(n: int, wire: WireName) -> bytes:
    """Return the stream of the ``n``-th answer, 1-based."""
    arguments = json.dumps({"path": f"file-{n}.txt"})
    if n > TURNS:
        events = [words_event(wire, "done")]
    else:
        events = call_events(wire, 0, f"call_{n}", "read_file", arguments)
    finish = "tool_calls" if wire == "chat" and n <= TURNS else ""
    return b"".join((*events, *end_events(wire, finish, (1_000 * n, 20))))


class Endpoint:
    """The endpoint, for one conversation at a time."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.times: list[tuple[float, float, float]] = []
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection until it closes."""
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
                    wire = next((one for one in WIRES if path.endswith(LAYOUTS[one].PATH)), "chat")
                    data, kind = answer(len(self.bodies), wire), "text/event-stream"
                    await asyncio.sleep(self.delay_s)
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}"
                writer.write(head.encode() + b"\r\n\r\n" + data)
                await writer.drain()
                if not first.startswith("GET"):
                    self.times.append((begun, received, time.monotonic()))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()  # the client or the benchmark has ended

    def told(self, path: str) -> bytes:
        """Return the answer to a GET request of the benchmark."""
        if path.startswith("/body/"):
            return self.bodies[int(path.removeprefix("/body/"))]
        data = json.dumps(self.times).encode()
        if path == "/reset":
            self.times, self.bodies = [], []
        return data


async def main() -> None:
    """Print the ports in one line, and serve until the standard input ends."""
    number, delay_s = sys.argv[1:] or ("1", "0")
    servers = [
        await asyncio.start_server(Endpoint(float(delay_s)).serve, "127.0.0.1", 0, limit=1 << 24)
        for _ in range(int(number))
    ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
