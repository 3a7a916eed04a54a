"""Sends signals at random moments of a turn; the session must be whole and no process remain.

python tests/faults/signals.py 200
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.sessions.records import TurnEndRecord
from indwell.sessions.storage.store import SessionStore
from support.editing import EDIT, READ, SERVE, USAGE, Home, bash, running
from support.loopback_endpoint import LoopbackEndpoint, say
from support.raw_client import raw_client

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
AT_MOST_S = 20.0  # seconds; the promise is 2 s on a quiet machine
AT_ONCE = 3


async def storm(folder: Path, n_rounds: int, seed: int) -> None:
    """Run ``n_rounds`` servers, and end each after a random number of events of a turn.

    Raises:
        AssertionError: A server did not end in time, left a process, or left an incomplete log.
    """
    random = Random(seed)
    rounds = [(random.choice(ENDING), random.randint(1, 25)) for _ in range(n_rounds)]
    for first in range(0, n_rounds, AT_ONCE):
        together = enumerate(rounds[first : first + AT_ONCE], first)
        await asyncio.gather(*(_round(folder, n, seed, *one) for n, one in together))


async def _round(folder: Path, n: int, seed: int, number: signal.Signals, n_events: int) -> None:
    place = folder / f"round-{n}"
    place.mkdir()
    await _one(Home(place), number, n_events, f"1000.{seed}{n:06}")


async def _one(home: Home, number: signal.Signals, n_events: int, marker: str) -> None:
    script = [
        say("I look at it. " * 3, calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        bash(f"echo one; echo two; sleep {marker}"),
    ]
    async with (
        LoopbackEndpoint(script) as endpoint,
        raw_client(home, command=SERVE, environment=home.environment(endpoint.base_url)) as client,
    ):
        client.ask("indwell/prompt", {"text": "go"})
        await client.wait_until(
            lambda: len(client.of("indwell/event")) >= n_events or running(marker) != []
        )
        os.kill(client.pid, number)
        await client.ended(timeout_s=AT_MOST_S)
        if number != signal.SIGKILL:
            assert running(marker) == [], (number, n_events)
        for left in running(marker):
            assert number == signal.SIGKILL, left
    # the server could not write an end; the log is read as far as possible
    if number == signal.SIGKILL:
        store = SessionStore(home.state, home.workspace)
        assert [len(store.open(one).records) > 0 for one in store.ids()] == [True]
    else:
        (log,) = home.logs()  # the log is readable, and every call has a result
        assert isinstance(log[-1], TurnEndRecord), (number, n_events, log[-1])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(
            storm(Path(name), int(sys.argv[1]), seed=int(sys.argv[2]) if sys.argv[2:] else 1)
        )
    print("every session was whole")
