"""What one new turn of a long conversation costs: to fit, assemble and encode it; and its memory.

    PYTHONPATH=server python benchmarks/context.py [--json]

The messages before it were sent by the turn before, so only what is new may cost anything.
"""

from __future__ import annotations

import gc
import time
import tracemalloc

import msgspec
from report import percentile, show

from indwell.context import conversation as talk
from indwell.context.assemble import assemble
from indwell.context.compaction.engine import next_action
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.presets import DEFAULT
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.pairing import tool_uses
from indwell.messages import Reply, ToolCall, ToolSpec
from indwell.providers.dialect import Dialect
from indwell.providers.request_bytes import RequestEncoder

LENGTHS = (10_000, 100_000, 1_000_000)
WIDE = 2_200_000
"""A window in which a million tokens are under half: no rung looks at them."""
MIDDLE = 1_650_000
"""One in which they are 61 %: compaction is permitted, if it pays."""
FULL = 1_050_000
"""One in which they are 96 %: it must run."""
TURNS = 40
MARKS = Dialect(cache_marks=True, cache_key=True)
TOOLS = tuple(
    ToolSpec(f"tool_{n}", "It does a thing. " * 20, '{"type":"object","properties":{}}')
    for n in range(12)
)


def grown(tokens: int, window: int) -> Conversation:
    """A conversation of about so many tokens: prompts, calls, results of 40 to 400 lines."""
    now = Conversation(
        Config("m", window, 20_000, "key"), (system_block("You are an agent. " * 300),), TOOLS
    )
    turn = 0
    while talk.estimated_tokens(now) < tokens:
        turn += 1
        now = turned(now, turn, lines=40 + 9 * (turn * 37 % 40))
    return now


def turned(now: Conversation, turn: int, *, lines: int) -> Conversation:
    """One more turn of one call."""
    now = talk.with_input(now, words=f"Now look at number {turn}.", turn=turn)
    path = f"src/part_{turn % 50}/module_{turn % 90}.py"
    call = ToolCall(f"call_{turn}", "read_file", f'{{"path":"{path}"}}')
    now = talk.with_reply(now, Reply("I read it.", (call,), finish="tool_calls"), turn=turn)
    text = "\n".join(f"{at:6}\tvalue_{turn}_{at} = compute({at}, {turn})" for at in range(lines))
    results = [talk.tool_result(use, text, is_error=False) for use in tool_uses(now.messages[-1])]
    now = talk.with_results(now, results, turn=turn)
    now = talk.with_reply(now, Reply(f"Module {turn} computes {lines} values."), turn=turn)
    return talk.counted(now)


def n_characters(conversation: Conversation) -> int:
    """Of all texts and arguments."""
    return sum(
        len(getattr(block, "text", "")) + len(getattr(block, "arguments", ""))
        for message in conversation.messages
        for block in message.blocks
    )


def turn_times(now: Conversation) -> dict[str, float]:
    """Milliseconds of each part of a new turn, over some turns; the endpoint is no part of it."""
    encoder = RequestEncoder()
    encoder.encode(assemble(talk.with_input(now, words="Go on.", turn=1)), MARKS)
    parts: dict[str, list[float]] = {"fit": [], "assemble": [], "encode": [], "whole": []}
    for number in range(TURNS):
        began = time.perf_counter()
        next_action(now, DEFAULT, Facts(incoming=10))
        fitted = time.perf_counter()
        sending = talk.with_input(now, words=f"Go on with {number}.", turn=number)
        request = assemble(sending)
        assembled = time.perf_counter()
        encoder.encode(request, MARKS)
        encoded = time.perf_counter()
        now = talk.counted(talk.with_reply(sending, Reply("Done."), turn=number))
        now = turned(now, 10_000 + number, lines=60)
        encoder.encode(assemble(talk.with_input(now, words="x", turn=number)), MARKS)
        for name, seconds in (
            ("fit", fitted - began),
            ("assemble", assembled - fitted),
            ("encode", encoded - assembled),
            ("whole", encoded - began),
        ):
            parts[name].append(seconds * 1e3)
    row = {f"{name} ms": percentile(times, 50) for name, times in parts.items()}
    return row | {"p95 ms": percentile(parts["whole"], 95)}


def memory(tokens: int) -> dict[str, float]:
    """Bytes of a conversation and its encoder as multiples of its text; then while encoding."""
    gc.collect()
    tracemalloc.start()
    now = grown(tokens, WIDE)
    text = n_characters(now)
    gc.collect()
    conversation = tracemalloc.get_traced_memory()[0]
    encoder = RequestEncoder()
    sending = talk.with_input(now, words="Go on.", turn=1)
    encoder.encode(assemble(sending), MARKS)
    gc.collect()
    tracemalloc.reset_peak()
    kept = tracemalloc.get_traced_memory()[0]
    body = encoder.encode(assemble(msgspec.structs.replace(sending)), MARKS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "text MB": text / 1e6,
        "conversation": conversation / text,
        "with encoder": kept / text,
        "while encoding": peak / text,
        "body MB": len(body) / 1e6,
    }


def compaction() -> dict[str, float]:
    """The one call in which a full conversation must be cut: the first decision and what it is."""
    now = grown(LENGTHS[-1], FULL)
    began = time.perf_counter()
    action = next_action(now, DEFAULT, Facts(incoming=10))
    seconds = time.perf_counter() - began
    return {"first action ms": seconds * 1e3, "actions": float(action is not None)}


def main() -> None:
    rows = {f"{tokens:,} tokens": turn_times(grown(tokens, WIDE)) for tokens in LENGTHS}
    longest = grown(LENGTHS[-1], WIDE)
    middle = msgspec.structs.replace(longest.config, window=MIDDLE)
    rows["1,000,000 at 61 %"] = turn_times(msgspec.structs.replace(longest, config=middle))
    show("One new turn", rows, goal="≤ 5 ms, not growing with the length")
    show("Compaction of 1,000,000 tokens at 96 % of the window", {"default": compaction()})
    show("Memory, in multiples of the text", {"1,000,000 tokens": memory(LENGTHS[-1])}, goal="≤ 3")


if __name__ == "__main__":
    main()
