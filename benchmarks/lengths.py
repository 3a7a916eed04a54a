"""Measures time, delays and memory of compaction, by a conversation's number of messages.

    PYTHONPATH=server python benchmarks/lengths.py [N…] [--json]

The conversation repeats about 1,000 recorded messages, with other identifiers in each repetition.
All requests are made as a session makes them, with the preset ``default`` in a window of 64,000.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from report import percentile, show

from indwell.cli.serve.command import SWITCH_S
from indwell.context.compaction.ladder import next_action
from indwell.context.compaction.presets import DEFAULT
from indwell.context.compaction.step import CompactionFacts
from indwell.context.conversation import Config, Conversation, counted
from indwell.context.history import tokens_of
from indwell.context.pairing import tool_uses
from indwell.messages import Block, Message, Text, ToolResult, ToolUse
from indwell.replay.replayed_conversation import Point, ReplayRules, points
from indwell.sessions.imports import recorded_sessions

BESIDE = Path(__file__).parents[2] / "shared" / "data"
BLOCK = 1_000  # the number of messages that are repeated
LENGTHS = (1_000, 5_000, 20_000)
WINDOW = 64_000
FULL = 0.96  # the share of the window that the messages of the decision about memory fill
RULES = ReplayRules(DEFAULT, WINDOW, ratio=0.0)


def block() -> tuple[Message, ...]:
    """Return recorded sessions, joined to one conversation that ends with a reply."""
    path = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "sessions" / "entire.jsonl.gz"
    messages: list[Message] = []
    with gzip.open(path) as lines:
        for session in recorded_sessions(lines):
            turn = messages[-1].turn if messages else 0
            messages += [
                Message(one.role, one.blocks, one.turn + turn) for one in _whole(session.messages)
            ]
            if len(messages) >= BLOCK:
                return _whole(messages[:BLOCK])
    raise AssertionError


def _whole(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages up to the last reply without calls."""
    n = len(messages) // 2 * 2
    while n and tool_uses(messages[n - 1]):
        n -= 2
    return tuple(messages[:n])


def recording(n: int) -> Iterator[Message]:
    """Yield ``n`` messages: repetitions of the block with other names and turns."""
    once = block()
    turns = once[-1].turn
    for number in range(-(-n // len(once))):
        for message in islice(once, max(0, n - number * len(once))):
            blocks = tuple(_renamed(one, f"_{chr(97 + number)}") for one in message.blocks)
            yield Message(message.role, blocks, message.turn + number * turns)


def _renamed(one: Block, mark: str) -> Block:
    match one:
        case Text() | ToolResult():
            return msgspec.structs.replace(one, text=one.text.replace("_", mark))
        case ToolUse():
            return msgspec.structs.replace(one, arguments=one.arguments.replace("_", mark))
        case _:
            return one


def replayed(messages: tuple[Message, ...]) -> Iterator[tuple[int, Point]]:
    """Yield each request of a recording with the number of messages so far."""
    for number, point in enumerate(points(messages, RULES), 1):
        yield 2 * number, point


def cost(lengths: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """Return the CPU seconds for 1,000 messages, on average and of the newest 1,000 messages."""
    messages = tuple(recording(max(lengths)))
    began = time.process_time()
    at = {0: 0.0}
    for n, _ in replayed(messages):
        at[n] = time.process_time() - began
    return {
        f"{n:,} messages": {
            "s per 1,000": at[n] / n * 1_000,
            "s of newest 1,000": at[n] - at[n - 1_000],
        }
        for n in lengths
    }


async def waits(n: int) -> dict[str, float]:
    """Return the delays of the event loop while a thread makes all requests.

    A delay is the CPU time that the process spent meanwhile, without the time in which the loop
    was ready and the kernel ran other programs. So other load does not count.
    """
    late: list[float] = []

    async def tick() -> None:
        while True:
            began = time.process_time() - _kept_waiting_s()
            await asyncio.sleep(0.001)
            late.append((time.process_time() - _kept_waiting_s() - began) * 1e3)

    messages = tuple(recording(n))
    gc.collect()
    gc.freeze()  # The server freezes the loaded modules, too.
    sys.setswitchinterval(SWITCH_S)
    ticking = asyncio.create_task(tick())
    await asyncio.to_thread(lambda: sum(1 for _ in replayed(messages)))
    ticking.cancel()
    return {"p50 ms": percentile(late, 50), "p99 ms": percentile(late, 99), "most ms": max(late)}


def _kept_waiting_s() -> float:
    """Return the time in which this thread has waited for a processor; 0 where unknown."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def memory(n: int) -> dict[str, float]:
    """Return the memory of a forced decision about ``n`` messages, in multiples of the text.

    The session has no index yet, and the messages fill the window.
    """
    _forced(tuple(recording(100)))  # loads modules and patterns
    gc.collect()
    tracemalloc.start()
    messages = tuple(recording(n))
    text = sum(
        len(getattr(block, "text", "")) + len(getattr(block, "arguments", ""))
        for message in messages
        for block in message.blocks
    )
    gc.collect()
    alone = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    _forced(messages)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"messages alone": alone / text, "while deciding": most / text}


def _forced(messages: tuple[Message, ...]) -> None:
    window = int(tokens_of(messages) / FULL)
    conversation = Conversation(Config("recorded", window, 0), (), messages=messages[:-1])
    next_action(counted(conversation), DEFAULT, CompactionFacts(force=True))


def main() -> None:
    lengths = tuple(int(one) for one in sys.argv[1:] if one.isdecimal()) or LENGTHS
    show("CPU of all requests of a session", cost(lengths), goal="equal at all lengths (≤ 1.3 ×)")
    show(
        "Loop delay meanwhile", {f"{lengths[0]:,}": asyncio.run(waits(lengths[0]))}, goal="≤ 10 ms"
    )
    show(
        "Memory, in multiples of the text",
        {f"{n:,}": memory(n) for n in (2_000, 5_000)},
        goal="≤ 2.5",
    )


if __name__ == "__main__":
    main()
