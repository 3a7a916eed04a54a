"""Measures the delay of a model's text to the editor, and keystrokes during a fast stream.

    python benchmarks/stream_to_editor.py [--json]

A loopback endpoint in a separate process writes the time into each chunk. The client reads the
clock when the event with that chunk arrives. Afterwards the endpoint sends 10,000 chunks a second
while the user types.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from lsp_pipe import HERE, NOWHERE, SERVERS, Pipe, opened, serving, typed
from report import show, spread

COMMAND = tuple(word for word in SERVERS["indwell"] if word != "--scripted")
SLOW = (300, 100.0)  # number of chunks, and chunks a second
FLOOD = (40_000, 10_000.0)
URI = "file:///a/typed.py"
TRIPS = 150
PAUSE_S = 0.02  # seconds between two keystrokes; a fast typist needs five times as long


@contextmanager
def streaming(n_chunks: int, per_second: float) -> Iterator[Pipe]:
    """Run a server that is connected to a stamping endpoint."""
    command = [sys.executable, str(HERE / "stamping_endpoint.py"), str(n_chunks), str(per_second)]
    endpoint = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert endpoint.stdout
    try:
        variables = {"OPENAI_BASE_URL": endpoint.stdout.readline().strip(), "INDWELL_MODEL": "m"}
        with serving(COMMAND, **variables) as pipe:
            pipe.initialize()
            pipe.notify("textDocument/didOpen", opened(URI, "line\n" * 200))
            pipe.request("textDocument/codeAction", NOWHERE)
            yield pipe
    finally:
        endpoint.kill()
        endpoint.communicate()


def stamps(message: dict[str, Any]) -> list[int]:
    """Return the times in a text event, in nanoseconds of the system's monotonic clock."""
    params = message.get("params") or {}
    event = params.get("event") or {} if message.get("method") == "indwell/event" else {}
    text = event.get("text", "") if event.get("type") == "text" else ""
    return [int(one) for one in re.findall(r"\d{6,}", text)]


def latency() -> list[float]:
    """Return the milliseconds from the endpoint's write to the client's read, for each chunk."""
    with streaming(*SLOW) as pipe:
        asked = pipe.ask("indwell/prompt", {"text": "stream"})
        taken: list[float] = []
        while (message := pipe.read()).get("id") != asked:
            now = time.monotonic_ns()
            taken += [(now - stamp) / 1e6 for stamp in stamps(message)]
        assert message["result"]["ending"] == "done", message
        assert len(taken) == SLOW[0], len(taken)
        return taken


def keystrokes(pipe: Pipe, first_version: int) -> list[float]:
    """Return the milliseconds of round trips, one each 20 ms."""
    random, taken = Random(3), []
    for version in range(first_version, first_version + TRIPS):
        started = time.perf_counter()
        pipe.notify("textDocument/didChange", typed(URI, version, random.randrange(200)))
        pipe.request("textDocument/codeAction", NOWHERE)
        taken.append((time.perf_counter() - started) * 1e3)
        time.sleep(PAUSE_S)
    return taken


def under_flood() -> tuple[list[float], list[float], int]:
    """Return keystroke times without and during the stream, and the number of events meanwhile."""
    with streaming(*FLOOD) as pipe:
        in_peace = keystrokes(pipe, 2)
        pipe.ask("indwell/prompt", {"text": "stream"})
        while not stamps(pipe.read()):
            pass
        pipe.notifications.clear()
        in_flood = keystrokes(pipe, 2 + TRIPS)
        return in_peace, in_flood, sum(bool(stamps(one)) for _, one in pipe.notifications)


def main() -> None:
    show(
        f"A chunk from the endpoint to the editor, milliseconds, {SLOW[0]} chunks",
        {"indwell": spread(latency())},
        goal="≤ 2 ms",
    )
    in_peace, in_flood, n_events = under_flood()
    show(
        f"A keystroke's round trip, milliseconds; the flood came in {n_events} events",
        {"no stream": spread(in_peace), "10,000 chunks a second": spread(in_flood)},
        goal="at most 20 ms more",
    )


if __name__ == "__main__":
    main()
