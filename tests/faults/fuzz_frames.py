"""Fuzzes framing and messages.

    python tests/faults/fuzz_frames.py pure 1000000      the pure core: no crash, no slow frame
    python tests/faults/fuzz_frames.py live 20000        a server: every request answered once

Needs ``tests`` on the path. The tests of this folder run a short form of both.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.mutations import body_of, drawn, framed_oddly, mutated, seeds
from indwell.lsp.wire import base_protocol
from indwell.lsp.wire.base_protocol import Framer, Phase, Refuse, Take, verdict
from support.editing import Home
from support.process_facts import cpu_s, facts
from support.raw_client import RawClient, raw_client
from support.raw_wire import frame

SLOW_S = 1.0
PHASES: Sequence[Phase] = ("unopened", "open", "shut")
# without -32603, the code of a bug
CODES = {-32700, -32600, -32601, -32602, -32002, -32800, -32803}
LEAVES_US_OUT = {"exit", "shutdown", "initialize", "indwell/prompt"}
"""Not sent while fuzzing a live server: they end it, or start turns; each has tests of its own."""


class Tally(NamedTuple):
    """The results; ``slowest_s`` is processor time, which does not depend on other load."""

    n_frames: int
    kinds: Counter[str]
    slowest_s: float
    seconds: float


def fuzz_pure(n_frames: int, seed: int) -> Tally:
    """Fuzz framer, envelope and lifecycle in this process.

    Raises:
        AssertionError: A verdict is impossible.
    """
    random, samples = Random(seed), seeds()
    kinds: Counter[str] = Counter()
    framer, slowest, started = Framer(), 0.0, perf_counter()
    for _ in range(n_frames):
        value = drawn(samples, random)
        changed = mutated(value, random) if random.random() < 0.8 else value
        data = framed_oddly(body_of(changed, random), random)
        at = random.randrange(len(data) + 1)
        before = process_time()
        bodies = framer.feed(data[:at]) + framer.feed(data[at:])
        framer.check_stalled()
        for body in bodies:
            kinds[_judged(body, random.choice(PHASES))] += 1
        slowest = max(slowest, process_time() - before)
        if framer.broken:
            kinds["broken"] += 1
        if framer.broken or (framer.awaits_body and random.random() < 0.5):
            # a new framer, since a long content length would include all later frames
            framer = Framer()
    return Tally(n_frames, kinds, slowest, perf_counter() - started)


def _judged(body: bytes, phase: Phase) -> str:
    message = base_protocol.opened(body)
    decided = verdict(phase, message)
    if isinstance(decided, Refuse):
        error = decided.error
        assert error.code in CODES, error
        assert error.id is None or type(error.id) in (int, str), error
        assert error.message, error
        assert "\n" not in error.message, error
        base_protocol.refusal(error.id, error.code, error.message)
    if isinstance(decided, Take) and isinstance(message, base_protocol.RpcRequest):
        try:
            base_protocol.parsed(message.params)
        except ValueError:
            return "Request with bad params"
    return f"{type(message).__name__} {type(decided).__name__}"


async def fuzz_live(client: RawClient, n_messages: int, seed: int, *, batch: int = 200) -> Tally:
    """Fuzz a server over pipes with correct frames and random messages.

    Raises:
        AssertionError: A request did not get exactly one answer, or an answer has an unknown code.
    """
    random, samples = Random(seed), _harmless(seeds())
    kinds: Counter[str] = Counter()
    slowest, started = 0.0, perf_counter()
    for first in range(0, n_messages, batch):
        count = min(batch, n_messages - first)
        ids = [
            _send_one(client, random, samples, f"fuzz-{first + number}") for number in range(count)
        ]
        before = cpu_s(client.pid)
        await client.heard()
        asked = [id_ for id_ in ids if id_]
        await client.wait_until(lambda asked=asked: all(client.answers(one) for one in asked))
        slowest = max(slowest, cpu_s(client.pid) - before)
        for id_ in asked:
            (answer,) = client.answers(id_)
            code = answer["error"]["code"] if "error" in answer else "result"
            assert code == "result" or code in CODES, (answer, client.stderr[-2000:])
            kinds[str(code)] += 1
        kinds["not asked"] += count - len(asked)
        client.forget()
    return Tally(n_messages, kinds, slowest, perf_counter() - started)


def _harmless(samples: list[Any]) -> list[Any]:
    return [one for one in samples if not _ends_it(one)]


def _ends_it(message: Any) -> bool:
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method in LEAVES_US_OUT


def _send_one(client: RawClient, random: Random, samples: list[Any], id_: str) -> str | None:
    """Send one message; return its id if the server must answer that id."""
    sample = drawn(samples, random)
    value = mutated(sample, random) if random.random() < 0.8 else sample
    if _ends_it(value):
        value = sample
    is_request = isinstance(value, dict) and "id" in value and "method" in value
    if is_request:
        value = {**value, "id": id_}
        client.send(value)
        return id_
    body = body_of(value, random)
    if any(word.encode() in body for word in LEAVES_US_OUT):
        body = b"{}"
    client.write(frame(body))
    return None


async def _live(n_messages: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with raw_client(Home(Path(folder))) as client:
            await fuzz_live(client, 2_000, seed + 1)
            before = facts(client.pid)
            print(await fuzz_live(client, n_messages, seed))
            after = facts(client.pid)
            print(f"memory {(after.rss_b - before.rss_b) / 1e6:+.1f} MB; {before} {after}")
            assert await client.say_goodbye() == 0


if __name__ == "__main__":
    wanted, count, *rest = sys.argv[1:]
    chosen = int(rest[0]) if rest else 1
    if wanted == "pure":
        tally = fuzz_pure(int(count), chosen)
        print(tally)
        assert tally.slowest_s < SLOW_S
    else:
        asyncio.run(_live(int(count), chosen))
