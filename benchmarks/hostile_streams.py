"""Measures how long one network read from a hostile endpoint blocks the event loop.

    python benchmarks/hostile_streams.py [chat | responses | messages]

A real provider reads each stream from a real socket; the stream is small or comes in one event. A
heartbeat on the same loop records the most CPU time between two beats. The floor is a plain reply
in the same run. The endpoint runs in the same process, and its writes make the figures slightly too
high.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from indwell.providers.wires.dialect import Dialect, WireName
from support.asking import ASKED, connected
from support.fault_endpoint import DONE, END, HEAD, Script, broken, chunked, streamed
from support.loopback_endpoint import chunk, sse
from support.wire_streams import EMPTY, WIRES, call_events, end_events, event, words_event

OBJECTS = b",".join([b"{}"] * 300_000)
STOP = sse(chunk({"content": "x"}, finish="stop")) + DONE


def packed(body: bytes) -> Script:
    small = gzip.compress(body)
    head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    return broken(f"{head}Content-Length: {len(small)}\r\n\r\n".encode() + small)


def one_event(delta: bytes) -> Script:
    return packed(b'data: {"choices":[{"index":0,"delta":{' + delta + b"}}]}\n\n" + STOP)


def calls(n: int, arguments: str = "{}") -> Mapping[str, object]:
    function = {"name": "read_file", "arguments": arguments}
    return {"tool_calls": [{"index": at, "function": function} for at in range(n)]}


NAMED = b",".join(b'{"index":%d,"function":{"name":"r"}}' % n for n in range(250))
SPLIT = sse(chunk({"tool_calls": [{"index": 0, "function": {"name": "n" * 120}}]}))
BLANK = sse({"choices": [{"delta": {"content": " "}}]})
CASES: Mapping[str, Script] = {
    "a plain reply": streamed(chunk({"content": "x"}, finish="stop")),
    "300,000 call pieces in an event": one_event(b'"tool_calls":[' + NAMED + b"," + OBJECTS + b"]"),
    "29,000 call pieces in an event": one_event(
        b'"tool_calls":[' + NAMED + b"," + OBJECTS[:84_000] + b"0]"
    ),
    "600,000 choices": packed(b'data: {"choices":[' + OBJECTS * 2 + b"]}\n\n" + STOP),
    "300,000 parts of content": one_event(b'"content":[' + OBJECTS + b"]"),
    "9,000 reasoning details": one_event(
        b'"reasoning_details":[' + b",".join([b'{"text":"a"}'] * 9_000) + b"]"
    ),
    "1.9 MB of words in an event": streamed(chunk({"content": "é\n" * 450_000}, finish="stop")),
    "1.9 MB of ASCII in an event": streamed(chunk({"content": "words " * 310_000}, finish="stop")),
    "250 calls": streamed(chunk(calls(250), finish="tool_calls")),
    "a call of 0.9 MB": streamed(chunk(calls(1, json.dumps("x\n" * 300_000)), finish="stop")),
    "31 MB of line ends": packed(b"\n" * 31_000_000 + STOP),
    "31 MB of comments": packed(b": x\n" * 7_700_000 + STOP),
    "31 MB of empty events": packed(b"data:\n\n" * 4_400_000 + STOP),
    "600,000 tiny events": packed(sse({"choices": [{"delta": {"content": "a"}}]}) * 600_000),
    "500,000 tiny thoughts": packed(sse({"choices": [{"delta": {"reasoning": "a"}}]}) * 500_000),
    "a name in 60,000 pieces": packed(SPLIT * 60_000 + STOP),
    "500,000 blank pieces": packed(BLANK * 500_000 + STOP),
    "2 MB of thoughts, no usage": broken(
        HEAD, *[chunked(sse(chunk({"reasoning": "wörd " * 20_000})))] * 19, chunked(STOP)
    ),
}


def of_wire(wire: WireName) -> Mapping[str, Script]:
    """Return the harmful streams in the events of another API than chat completions."""
    end = b"".join(end_events(wire))
    calls = b"".join(b"".join(call_events(wire, n, f"c{n}", "read_file", "{}")) for n in range(250))
    long_call = b"".join(call_events(wire, 0, "a", "write_file", json.dumps("x\n" * 300_000)))
    part = {"type": "output_text" if wire == "responses" else "text", "text": "a"}
    message = {"type": "message", "content": [part] * 900}
    whole = (
        {"object": "response", "status": "completed", "output": [message] * 9}
        if wire == "responses"
        else {**message, "stop_reason": "end_turn"}
    )
    ends = {"responses": {"type": "response.completed", "response": whole}}
    texts = [words_event(wire, one) for one in ("é\n" * 230_000, "words " * 310_000)]
    thought = words_event(wire, "wörd " * 20_000, reasoning=True)
    return {
        "a plain reply": broken(HEAD, chunked(words_event(wire, "x") + end), END),
        "1.9 MB of words in an event": broken(HEAD, chunked(texts[0] + end), END),
        "1.9 MB of ASCII in an event": broken(HEAD, chunked(texts[1] + end), END),
        "250 calls": broken(HEAD, chunked(calls + end), END),
        "a call of 0.9 MB": broken(HEAD, chunked(long_call + end), END),
        "8,100 parts in the last event": broken(HEAD, chunked(event(ends.get(wire, whole))), END),
        "300,000 values in an event": packed(
            b'data: {"type":"message_start","response":[' + OBJECTS + b"]}\n\n" + end
        ),
        "300,000 tiny events": packed(words_event(wire, "a") * 300_000 + end),
        "300,000 tiny thoughts": packed(words_event(wire, "a", reasoning=True) * 300_000 + end),
        "300,000 empty events": packed(EMPTY[wire] * 300_000 + end),
        "2 MB of thoughts, no usage": broken(HEAD, *[chunked(thought)] * 19, chunked(end), END),
    }


async def main() -> None:
    wire = next((one for one in WIRES if one in sys.argv[1:]), "chat")
    for name, script in (CASES if wire == "chat" else of_wire(wire)).items():
        dialect = Dialect(wire=wire, think_tags="blank" in name)
        async with connected(script, dialect=dialect) as (provider, _):
            waits = [0.0]
            beating = asyncio.ensure_future(beat(waits))
            began = time.perf_counter()
            try:
                await provider.complete(ASKED, lambda _: None)
                ended = "read"
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is the result
                ended = str(error).partition("/v1 ")[2]
            took = time.perf_counter() - began
            await asyncio.sleep(0.002)
            beating.cancel()
        print(f"{name:34} longest {max(waits) * 1_000:7.1f} ms of {took * 1_000:7.0f}   {ended}")


async def beat(waits: list[float]) -> None:
    while True:
        began = time.process_time()
        await asyncio.sleep(0.0005)
        waits.append(time.process_time() - began)


if __name__ == "__main__":
    asyncio.run(main())
