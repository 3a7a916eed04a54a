"""Measures a new turn of a long conversation: fitting, assembling, encoding, and memory.

    PYTHONPATH=server python benchmarks/context.py [chat | responses | messages] [--json]

The previous turn has sent all earlier messages, and therefore only the new messages may take time.
This is also true above the ladder's first threshold if no compaction is worthwhile.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping

import msgspec
from report import percentile, show

from indwell.cli.serve.command import SWITCH_S
from indwell.context import conversation as talk
from indwell.context.compaction.ladder import next_action, take
from indwell.context.compaction.presets import DEFAULT
from indwell.context.compaction.step import (
    CompactionFacts,
    CompactionStep,
    NothingPays,
    nothing_pays,
    refusal,
)
from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    estimated_tokens,
    system_block,
)
from indwell.context.pairing import tool_uses
from indwell.context.request.assemble import assemble
from indwell.messages import Reply, ToolCall, ToolSpec
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import LAYOUTS, RequestEncoder

LENGTHS = (10_000, 100_000, 1_000_000)
DECIDED = (100_000, 300_000, 1_000_000)
WIDE = 2.2
"""A window of so many times the tokens: no rung looks at them."""
REPLY = 20_000  # tokens of the window that the reply may take
LOW, MIDDLE = 0.52, 0.61  # two shares of the budget above the first threshold of the ladder
FULL = 1_050_000
"""A window in which a million tokens are 96 %: it must run."""
TURNS = 40
WIRE = next((wire for wire in LAYOUTS if wire in sys.argv[1:]), "chat")
MARKS = Dialect(wire=WIRE, cache_marks=WIRE != "responses", cache_key=True)
FACTS = CompactionFacts(incoming=10)
TOOLS = tuple(
    ToolSpec(f"tool_{n}", "It does a thing. " * 20, '{"type":"object","properties":{}}')
    for n in range(12)
)


def begun(window: int) -> Conversation:
    """Return an empty conversation."""
    system = (system_block("You are an agent. " * 300),)
    return Conversation(Config("m", window, REPLY, "key"), system, TOOLS)


def grown(tokens: int, window: int) -> Conversation:
    """Return a conversation of about ``tokens``: prompts, calls, results of 40 to 400 lines."""
    return filled(begun(window), tokens, lambda now, turn: turned(now, turn, lines=n_lines(turn)))


def filled(
    now: Conversation, tokens: int, more: Callable[[Conversation, int], Conversation]
) -> Conversation:
    """Add turns to the conversation until it has ``tokens``."""
    turn = 0
    while estimated_tokens(now) < tokens:
        turn += 1
        now = more(now, turn)
    return now


def n_lines(turn: int) -> int:
    """Return a number of lines from 40 to 391."""
    return 40 + 9 * (turn * 37 % 40)


def turned(now: Conversation, turn: int, *, lines: int) -> Conversation:
    """Add a turn with one call."""
    now = talk.with_input(now, words=f"Now look at number {turn}.", turn=turn)
    now = called(now, turn, turn=turn, lines=lines)
    now = talk.with_reply(now, Reply(f"Module {turn} computes {lines} values."), turn=turn)
    return counted(now)


def called(now: Conversation, number: int, *, turn: int, lines: int) -> Conversation:
    """Add a call with its result."""
    path = f"src/part_{number % 50}/module_{number % 90}.py"
    call = ToolCall(f"call_{number}", "read_file", f'{{"path":"{path}"}}')
    now = talk.with_reply(now, Reply("I read it.", (call,), finish="tool_calls"), turn=turn)
    text = "\n".join(f"{at:6}\tvalue_{number}_{at} = compute({at}, {turn})" for at in range(lines))
    results = [talk.tool_result(use, text, is_error=False) for use in tool_uses(now.messages[-1])]
    return counted(talk.with_results(now, results, turn=turn))


def talked(now: Conversation, turn: int) -> Conversation:
    """Add a turn without calls."""
    now = talk.with_input(now, words=f"Think of number {turn}. " * 150, turn=turn)
    return counted(talk.with_reply(now, Reply("I thought. " * 100), turn=turn))


def one_turn(tokens: int, window: int) -> Conversation:
    """Return a conversation of a single turn with very many calls."""
    now = talk.with_input(begun(window), words="Look at everything.", turn=1)
    now = filled(now, tokens, lambda now, at: called(now, at, turn=1, lines=n_lines(at)))
    return talk.with_reply(now, Reply("I looked."), turn=1)


def compacted(now: Conversation) -> Conversation:
    """Apply all steps of the ladder, also steps that are not worthwhile."""
    forced = msgspec.structs.replace(FACTS, force=True)
    action = next_action(now, DEFAULT, forced)
    return take(now, action) if isinstance(action, CompactionStep) else now


def n_characters(conversation: Conversation) -> int:
    """Return the number of characters of all texts and arguments."""
    return sum(
        len(getattr(block, "text", "")) + len(getattr(block, "arguments", ""))
        for message in conversation.messages
        for block in message.blocks
    )


def at_share(conversation: Conversation, share: float) -> Conversation:
    """Give the conversation a window of which it fills this share."""
    window = int(estimated_tokens(conversation) / share) + REPLY
    config = msgspec.structs.replace(conversation.config, window=window)
    return msgspec.structs.replace(conversation, config=config)


class Fitter:
    """Fits as ``agent.compaction.fit`` does, and counts the reads and cuts of texts."""

    def __init__(self) -> None:
        self.n_looks = self.n_cuts = 0
        self._refusal: NothingPays | None = None

    def fit(self, now: Conversation) -> Conversation:
        """Apply all worthwhile steps."""
        while not nothing_pays(now, DEFAULT, FACTS, self._refusal):
            self.n_looks += 1
            action = next_action(now, DEFAULT, FACTS)
            if not isinstance(action, CompactionStep):
                self._refusal = refusal(now, DEFAULT, FACTS)
                break
            now = take(now, action)
            self.n_cuts += 1
        return now


def turn_times(now: Conversation) -> dict[str, float]:
    """Return the milliseconds of each part of a new turn, without the endpoint, over some turns."""
    encoder, fitter = RequestEncoder(), Fitter()
    encoder.body(assemble(talk.with_input(now, words="Go on.", turn=1)), MARKS)
    parts: dict[str, list[float]] = {"fit": [], "assemble": [], "encode": [], "whole": []}
    for number in range(TURNS):
        began = time.perf_counter()
        now = fitter.fit(now)
        fitted = time.perf_counter()
        sending = talk.with_input(now, words=f"Go on with {number}.", turn=number)
        request = assemble(sending)
        assembled = time.perf_counter()
        encoder.body(request, MARKS)
        encoded = time.perf_counter()
        now = counted(talk.with_reply(sending, Reply("Done."), turn=number))
        now = turned(now, 10_000 + number, lines=60)
        encoder.body(assemble(talk.with_input(now, words="x", turn=number)), MARKS)
        for name, seconds in (
            ("fit", fitted - began),
            ("assemble", assembled - fitted),
            ("encode", encoded - assembled),
            ("whole", encoded - began),
        ):
            parts[name].append(seconds * 1e3)
    row = {f"{name} ms": percentile(times, 50) for name, times in parts.items()}
    row |= {"p95 ms": percentile(parts["whole"], 95), "largest ms": max(parts["whole"])}
    return row | {"looks": float(fitter.n_looks), "cuts": float(fitter.n_cuts)}


def decisions() -> Mapping[str, Mapping[str, float]]:
    """Measure new turns above the threshold, at several sizes and in different conversations."""
    rows: dict[str, Mapping[str, float]] = {}
    for tokens in DECIDED:
        long = grown(tokens, int(WIDE * tokens) + REPLY)
        for share in (LOW, MIDDLE):
            rows[f"{tokens:,} at {share:.0%}"] = turn_times(at_share(long, share))
        cut = compacted(at_share(long, MIDDLE))
        rows[f"{tokens:,} after a compaction"] = turn_times(at_share(cut, LOW))
        rows[f"{tokens:,} one long turn"] = turn_times(
            at_share(one_turn(tokens, int(WIDE * tokens) + REPLY), LOW)
        )
        words = filled(begun(int(WIDE * tokens) + REPLY), tokens, talked)
        rows[f"{tokens:,} words only"] = turn_times(at_share(words, MIDDLE))
    return rows


def memory(tokens: int) -> dict[str, float]:
    """Return the memory of a conversation in multiples of its text, also when sent and cut.

    A cut that has no index of a session frees its index at its end.
    """
    gc.collect()
    tracemalloc.start()
    now = grown(tokens, int(WIDE * tokens))
    text = n_characters(now)
    gc.collect()
    conversation = tracemalloc.get_traced_memory()[0]
    encoder = RequestEncoder()
    sending = talk.with_input(now, words="Go on.", turn=1)
    encoder.body(assemble(sending), MARKS)
    gc.collect()
    tracemalloc.reset_peak()
    kept = tracemalloc.get_traced_memory()[0]
    n_sent = asyncio.run(_sent(encoder, sending))
    sent = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    full = at_share(sending, 0.96)
    cut = compacted(full)
    cutting = tracemalloc.get_traced_memory()[1]
    del full, cut
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return {
        "text MB": text / 1e6,
        "conversation": conversation / text,
        "with encoder": kept / text,
        "while sending": sent / text,
        "while cutting": cutting / text,
        "after a cut": after / text,
        "body MB": n_sent / 1e6,
    }


async def _sent(encoder: RequestEncoder, conversation: Conversation) -> int:
    """Encode the conversation, and return the bytes that the network would receive."""
    return sum([len(piece) async for piece in encoder.body(assemble(conversation), MARKS)])


async def loop_delay(now: Conversation) -> dict[str, float]:
    """Return the delays of the loop's other tasks while compaction runs in a thread."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - began - 0.001) * 1e3)

    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    ticking = asyncio.create_task(tick())
    encoder = RequestEncoder()
    await asyncio.sleep(0.01)
    for number in range(10):
        cut = await asyncio.to_thread(compacted, now)
        request = assemble(talk.with_input(cut, words=f"Go on with {number}.", turn=number))
        body = await asyncio.to_thread(encoder.body, request, MARKS)
        async for piece in body:
            assert piece
            await asyncio.sleep(0)
    ticking.cancel()
    sys.setswitchinterval(before)
    return {"p50 ms": percentile(late, 50), "p99 ms": percentile(late, 99), "most ms": max(late)}


def compaction() -> dict[str, float]:
    """Measure the call that must cut a full conversation: the first decision, and its parts."""
    now = grown(LENGTHS[-1], FULL)
    began = time.perf_counter()
    action = next_action(now, DEFAULT, FACTS)
    decided = time.perf_counter()
    assert isinstance(action, CompactionStep)
    take(now, action)
    took = time.perf_counter()
    return {"decide ms": (decided - began) * 1e3, "take ms": (took - decided) * 1e3}


def main() -> None:
    # This runs first, since later memory would be in caches of the others.
    show("Memory, in multiples of the text", {"1,000,000 tokens": memory(LENGTHS[-1])}, goal="≤ 3")
    rows = {f"{tokens:,} tokens": turn_times(grown(tokens, 2_200_000)) for tokens in LENGTHS}
    show("One new turn, no rung looks", rows, goal="≤ 5 ms, not growing with the length")
    show("One new turn, above the first threshold", decisions(), goal="≤ 5 ms at p50")
    show("Compaction of 1,000,000 tokens at 96 % of the window", {"default": compaction()})
    delays = asyncio.run(loop_delay(grown(LENGTHS[-1], FULL)))
    show("Loop delay while 1,000,000 tokens are cut in a thread", {"ten times": delays})


if __name__ == "__main__":
    main()
