"""Runs a server under continuous events, one in a hundred of which is a fault (soak test).

    python tests/faults/soak.py 3600

Events are actions of users. Faults are errors of editors, networks and users. The script measures
memory, descriptors and threads throughout. The long form takes an hour (SYS-01); the tests run a
short form.

The limit, 1 MB in ten minutes, depends on the pace of events. The pace is 34 events a second, with
two turns, and a new session in one of ten turns. A person makes about two turns a minute. The
script measures memory just after a session was left, when the server keeps equal amounts. The slope
is the straight line through the second half, when the caches (events of eight sessions, patterns,
the allocator) are full. ``--fast`` has no pace: it finds a leak per event sooner, but no leak over
time.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.mutations import BASIC, body_of, mutated
from support.editing import EDIT, READ, SERVE, SOURCE, USAGE, Home, bash
from support.loopback_endpoint import (
    CUT,
    HANG,
    Answer,
    LoopbackEndpoint,
    Seen,
    chunk,
    refuse,
    say,
    stream,
)
from support.process_facts import Facts
from support.raw_client import RawClient, raw_client
from support.raw_wire import frame

FAULTS = 0.01
ANSWER_WITHIN_S = 60.0
# probability that a turn begins a session, since a session's history is not a leak
NEW_SESSION = 0.1
PER_SECOND = 34.0  # events a second, of which two are turns
SAMPLES = 40
LIMIT_MB = 1.0  # memory may grow so much in ten minutes (SYS-01)


class Soaked(NamedTuple):
    """The events, and the server's memory at regular times."""

    events: Counter[str]
    samples: list[Facts]


class Growth(NamedTuple):
    """The result of a soak over its second half; ``slope_mb`` is for ten minutes."""

    slope_mb: float
    n_fds: int
    n_threads: int


def growth(samples: list[Facts], seconds: float) -> Growth:
    """Return the slope of memory (least squares), and the growth of other resources."""
    half = samples[len(samples) // 2 :]
    apart_s = seconds / len(samples)
    middle = (len(half) - 1) / 2
    mean = sum(one.rss_b for one in half) / len(half)
    rise = sum((at - middle) * (one.rss_b - mean) for at, one in enumerate(half))
    run = sum((at - middle) ** 2 for at in range(len(half)))
    return Growth(
        slope_mb=rise / run / 1e6 / apart_s * 600,
        n_fds=half[-1].n_fds - half[0].n_fds,
        n_threads=half[-1].n_threads - half[0].n_threads,
    )


class Soak:
    """The user, the editor and the endpoint of the soak."""

    def __init__(self, client: RawClient, random: Random) -> None:
        self.client = client
        self.random = random
        self.version = 1
        self.uri = ""
        self.fault: Answer | None = None
        self.events: Counter[str] = Counter()

    def script(self, seen: Seen) -> Answer:
        """Answer a request according to its last message, sometimes with a fault."""
        if self.fault is not None:
            fault, self.fault = self.fault, None
            return fault
        last = seen.body["messages"][-1]
        if last["role"] == "tool":
            return say("That is it. " * 20, usage=USAGE)
        return self.random.choice(
            [
                say("A word. " * 50, usage=USAGE),
                say(calls=[READ], usage=USAGE),
                say(calls=[EDIT], usage=USAGE),
                bash("echo one; echo two"),
                say(calls=[("grep", json.dumps({"pattern": "total"}))], usage=USAGE),
            ]
        )

    async def step(self) -> None:
        """Run one random event."""
        is_fault = self.random.random() < FAULTS
        kinds: list[Callable[[], Awaitable[None]]] = (
            [self.bad_message, self.bad_endpoint, self.cancelled, self.stopped, self.deaf]
            if is_fault
            else [self.typing] * 20 + [self.actions] * 10 + [self.reopened] * 2 + [self.turn] * 2
        )
        chosen = self.random.choice(kinds)
        self.events[chosen.__name__] += 1
        await chosen()
        self.client.forget()

    async def typing(self) -> None:
        self.version += 1
        place = {"line": self.random.randint(0, 3), "character": 0}
        change = {"range": {"start": place, "end": place}, "text": self.random.choice("ab\n")}
        document = {"uri": self.uri, "version": self.version}
        params = {"textDocument": document, "contentChanges": [change]}
        self.client.notify("textDocument/didChange", params)
        await self.client.heard()

    async def actions(self) -> None:
        place = {"line": 0, "character": 0}
        await self.client.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": self.uri},
                "range": {"start": place, "end": place},
                "context": {"diagnostics": []},
            },
        )

    async def reopened(self) -> None:
        if self.uri:
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})
        self.uri, self.version = self.client.open_shop(SOURCE), 1
        await self.client.heard()

    async def turn(self) -> None:
        if self.random.random() < NEW_SESSION:
            await self.client.request("workspace/executeCommand", {"command": "indwell.newSession"})
        answer = await self.client.prompt("go on", timeout_s=ANSWER_WITHIN_S)
        self.events[answer["result"]["ending"] if "result" in answer else "refused"] += 1

    async def bad_message(self) -> None:
        for _ in range(10):
            value = mutated(self.random.choice(BASIC), self.random)
            body = body_of(value, self.random)
            if b"exit" not in body and b"shutdown" not in body:
                self.client.write(frame(body))
        await self.client.heard()
        await self.reopened()

    async def bad_endpoint(self) -> None:
        self.fault = self.random.choice(
            [
                refuse(429, "slow down", headers={"Retry-After": "0"}),
                refuse(400, "no"),
                refuse(500, "oops"),
                stream(chunk({"content": "half"}), CUT, done=False),
                stream(chunk({"content": "half"}), done=False),
                stream(b"data: {no json\n\n"),
            ]
        )
        await self.turn()
        self.fault = None

    async def cancelled(self) -> None:
        self.fault = stream(chunk({"content": "half"}), HANG)
        asked = self.client.ask("indwell/prompt", {"text": "hang"})
        await self.client.wait_until(lambda: "half" in str(self.client.of("indwell/event")))
        self.client.notify("$/cancelRequest", {"id": asked})
        await self.client.answer(asked, timeout_s=ANSWER_WITHIN_S)

    async def stopped(self) -> None:
        self.client.process.send_signal(signal.SIGSTOP)
        asked = self.client.ask("no/such")
        self.client.process.send_signal(signal.SIGCONT)
        await self.client.answer(asked)

    async def deaf(self) -> None:
        self.client.stop_reading()
        ids = [self.client.ask("no/such") for _ in range(2_000)]
        self.client.resume_reading()
        await self.client.answer(ids[-1])


async def soak(
    folder: Path, seconds: float, seed: int, *, per_second: float = 0.0, at_least: int = 0
) -> Soaked:
    """Run events at full speed or ``per_second``, and measure the server throughout.

    The run takes longer than ``seconds`` if ``at_least`` events need more time.

    Raises:
        AssertionError, TimeoutError: The server left a request unanswered, or ended.
    """
    home, samples = Home(folder), []
    home.configure("window = 200_000\n")
    random = Random(seed)
    users: list[Soak] = []

    def answer(seen: Seen) -> Answer:
        return users[0].script(seen)

    async with (
        LoopbackEndpoint(answer) as endpoint,
        raw_client(home, command=SERVE, environment=home.environment(endpoint.base_url)) as client,
    ):
        client.replies["workspace/applyEdit"] = lambda _params: {"applied": False}
        users.append(Soak(client, random))
        await users[0].reopened()
        for _ in range(10):
            await users[0].turn()  # loads all large modules
        endpoint.seen.clear()
        started = monotonic()
        for number in range(1, SAMPLES + 1):
            share = number / SAMPLES
            while (passed := monotonic() - started) < seconds * share or (
                users[0].events.total() < at_least * share
            ):
                await users[0].step()
                endpoint.seen.clear()
                if per_second:
                    due = passed + 1 / per_second - (monotonic() - started)
                    await asyncio.sleep(max(0.0, due))
            await client.request("workspace/executeCommand", {"command": "indwell.newSession"})
            samples.append(client.facts)
        assert await client.say_goodbye() == 0
    return Soaked(users[0].events, samples)


def main() -> None:
    seconds, fast = float(sys.argv[1]), "--fast" in sys.argv
    seed = int(sys.argv[2]) if sys.argv[2:] and not sys.argv[2].startswith("-") else 1
    with tempfile.TemporaryDirectory() as name:
        soaked = asyncio.run(
            soak(Path(name), seconds, seed, per_second=0.0 if fast else PER_SECOND)
        )
    print(dict(soaked.events))
    for one in soaked.samples:
        print(f"{one.rss_b / 1e6:7.1f} MB  {one.n_fds} descriptors  {one.n_threads} threads")
    grown = growth(soaked.samples, seconds)
    print(f"{grown.slope_mb:+.2f} MB in ten minutes over the second half; the limit is {LIMIT_MB}")
    print(f"{grown.n_fds:+} descriptors, {grown.n_threads:+} threads")
    sys.exit(grown.slope_mb >= LIMIT_MB or grown.n_fds > 1)


if __name__ == "__main__":
    main()
