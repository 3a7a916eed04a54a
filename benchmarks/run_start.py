"""Measures the time from the start of ``indwell run`` to its first request at the endpoint.

    python benchmarks/run_start.py [--json]

For comparison, a program imports the SDK and sends one request to the same endpoint, with and
without garbage collection. Another program sends the request with ``http.client``.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from report import show

ROUNDS = 11
PATIENCE_S = 60.0
NAME = "indwell run"
FLOOR = "bare SDK"
SDK = """
import asyncio, os, openai
async def main():
    client = openai.AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="k")
    words = [{"role": "user", "content": "say ok"}]
    stream = await client.chat.completions.create(model="m", messages=words, stream=True)
    async for _ in stream: pass
asyncio.run(main())
"""
PLAIN = """
import http.client, os
from urllib.parse import urlsplit
url = urlsplit(os.environ["OPENAI_BASE_URL"])
http.client.HTTPConnection(url.hostname, url.port).request("POST", url.path, b"{}")
"""
PROGRAMS: Mapping[str, Sequence[str]] = {
    NAME: ("-m", "indwell", "run", "say ok"),
    FLOOR: ("-c", SDK),
    "bare SDK, no garbage search": ("-c", f"import gc; gc.disable()\n{SDK}"),
    "http.client": ("-c", PLAIN),
}
REPLY = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
MISSING = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def answered(listener: socket.socket) -> float:
    """Answer one connection; return the time of the request's first byte, 0 for other requests."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE_S)
        first = connection.recv(1)
        arrived = perf_counter()
        connection.recv(1 << 16)
        connection.sendall(REPLY if first == b"P" else MISSING)
    return arrived if first == b"P" else 0.0


def once(program: Sequence[str], listener: socket.socket) -> float:
    """Return the milliseconds from the start of the process to the first byte of its request."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        workspace = home / "work"
        workspace.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": name,
            "XDG_CONFIG_HOME": name,
            "INDWELL_STATE": str(home / "state"),
            "INDWELL_TRUSTED": str(workspace),
            "INDWELL_MODEL": "m",
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{listener.getsockname()[1]}/v1",
        }
        started = perf_counter()
        process = subprocess.Popen(
            [sys.executable, *program],
            cwd=workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not (arrived := answered(listener)):
                pass  # the request asked for the model's properties
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.wait()
        return (arrived - started) * 1e3


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        for name in PROGRAMS:
            once(PROGRAMS[name], listener)  # warms the bytecode and the disk's cache
        for _ in range(ROUNDS):
            for name in PROGRAMS:
                taken[name].append(once(PROGRAMS[name], listener))
    floor = statistics.median(taken[FLOOR])
    rows = {
        name: {
            "median": statistics.median(figures),
            "fastest": min(figures),
            "ratio": statistics.median(figures) / floor,
        }
        for name, figures in taken.items()
    }
    show(
        f"From the start to the first request, milliseconds, {ROUNDS} rounds in turns",
        rows,
        goal="indwell run ≤ 450 ms on a quiet machine",
    )


if __name__ == "__main__":
    main()
