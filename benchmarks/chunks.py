"""Compares the CPU time of each API per chunk and request with the SDK and a raw socket.

    python benchmarks/chunks.py [chat | responses | messages]

Without a name all three are measured. The SDK has no client for the messages API, which is compared
with the raw socket only. All clients run in one process; another process writes the bytes. The
figures are CPU times of the client. Only their ratios matter.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import openai

from indwell.messages import Anchors, Message, Request
from indwell.providers.client import EndpointClient
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.providers.wires.encoder import LAYOUTS, RequestEncoder
from support.requests import assistant, request, user
from support.wire_streams import WIRES, end_events, event

N_CHUNKS = 10_000
N_REQUESTS = 50
MESSAGE = "word " * 500


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chat_event(content: str) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**head, "choices": [choice]})


def responses_event(content: str) -> bytes:
    place = {"item_id": "msg_68d930427844819ebda2", "output_index": 0, "content_index": 0}
    kind = "response.output_text.delta"
    more = {"delta": content, "logprobs": [], "obfuscation": "8LmeBsRtk"}
    return event({"type": kind, "sequence_number": 4, **place, **more}, kind)


def messages_event(content: str) -> bytes:
    delta = {"type": "text_delta", "text": content}
    kind = "content_block_delta"
    return event({"type": kind, "index": 0, "delta": delta}, kind)


EVENTS: Mapping[WireName, Callable[[str], bytes]] = {
    "chat": chat_event,
    "responses": responses_event,
    "messages": messages_event,
}


def framed(part: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(part), part)


def stream(wire: WireName, n_chunks: int) -> bytes:
    """Return the bytes of an answer without repetition, which the client would cut off."""
    parts = [EVENTS[wire](f"{number:08}") for number in range(n_chunks)]
    parts += end_events(wire, usage=(10, 2))
    return HEAD + b"".join(map(framed, parts)) + b"0\r\n\r\n"


LONG = {wire: stream(wire, N_CHUNKS) for wire in WIRES}
SHORT = {wire: stream(wire, 1) for wire in WIRES}
PATHS = {wire: LAYOUTS[wire].PATH for wire in WIRES}


def serve(told: Connection) -> None:
    """Answer each request at once: with a long answer if the body names the model ``long``."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    told.send(server.getsockname()[1])

    def answer(client: socket.socket) -> None:
        while True:
            got = b""
            while b"\r\n\r\n" not in got:
                part = client.recv(1 << 20)
                if not part:
                    return
                got += part
            head, _, body = got.partition(b"\r\n\r\n")
            length = next(
                int(line[15:])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            beginning, n_read = body, len(body)
            while n_read < length:
                part = client.recv(1 << 20)
                beginning, n_read = beginning or part, n_read + len(part)
            path = head.split(b" ", 2)[1].decode()
            wire = next((one for one in WIRES if path.endswith(PATHS[one])), "chat")
            client.sendall((LONG if b'"model":"long"' in beginning[:40] else SHORT)[wire])

    while True:
        client, _ = server.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()


async def cpu_ms(work: Callable[[], Awaitable[object]], n_times: int) -> float:
    await work()
    began = time.process_time()
    for _ in range(n_times):
        await work()
    return (time.process_time() - began) / n_times * 1_000


def conversation(n_bytes: int) -> list[Message]:
    n_messages = n_bytes // len(MESSAGE) | 1
    return [(assistant if n % 2 else user)(f"{n} {MESSAGE}") for n in range(n_messages)]


async def measure(port: int, wires: Sequence[WireName]) -> None:
    url = f"http://127.0.0.1:{port}/v1"
    sdk = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    for wire in wires:
        print(wire)
        ours = EndpointClient(base_url=url, dialect=Dialect(wire=wire))
        await measure_chunks(port, ours, sdk, wire)
        for n_bytes in (500_000, 4_000_000):
            measure_encoding(wire, n_bytes)
            await measure_requests(port, ours, sdk, wire, n_bytes)
        await ours.aclose()
    await sdk.close()


async def measure_chunks(
    port: int, ours: EndpointClient, sdk: openai.AsyncOpenAI, wire: WireName
) -> None:
    async def our_way() -> None:
        reply = await ours.complete(request(user("go"), model="long"), lambda _: None)
        assert len(reply.text) == 8 * N_CHUNKS

    async def sdk_chat() -> None:
        async for chunk in await sdk.chat.completions.create(
            messages=[{"role": "user", "content": "go"}],
            model="long",
            stream=True,
            extra_body={"model": "long"},
        ):
            _ = chunk.choices[0].delta.content

    async def sdk_responses() -> None:
        async for one in await sdk.responses.create(
            input="go", model="long", stream=True, extra_body={"model": "long"}
        ):
            _ = one.type

    async def raw_way() -> None:
        await exchange(port, wire, b'{"model":"long"}', len(LONG[wire]))

    rivals = {"chat": sdk_chat, "responses": sdk_responses}
    print(f"{'  a streamed chunk, µs of CPU':34}", end="")
    ways = [our_way, raw_way, *([rivals[wire]] if wire in rivals else [])]
    show(*[await cpu_ms(way, 3) * 1_000 / N_CHUNKS for way in ways])


async def measure_requests(
    port: int, ours: EndpointClient, sdk: openai.AsyncOpenAI, wire: WireName, n_bytes: int
) -> None:
    said = conversation(n_bytes)

    def grown() -> Request:
        said.extend((assistant("ok"), user("go on")))
        return request(*said)

    async def our_way() -> None:
        await ours.complete(grown(), lambda _: None)

    async def sdk_way() -> None:
        body = json.loads(RequestEncoder().encode(grown(), Dialect(wire=wire)))
        create = sdk.chat.completions.create if wire == "chat" else sdk.responses.create
        async for _ in await create(**body):
            pass

    async def raw_way() -> None:
        await exchange(port, wire, ready, len(SHORT[wire]))

    ready = b'{"model":"short"}' + b" " * (len(said) * len(MESSAGE))
    print(f"{f'  a request of {n_bytes / 1e6:g} MB, ms of CPU':34}", end="")
    show(
        await cpu_ms(our_way, N_REQUESTS),
        await cpu_ms(raw_way, N_REQUESTS),
        *([await cpu_ms(sdk_way, 5)] if wire != "messages" else []),
    )


def measure_encoding(wire: WireName, n_bytes: int) -> None:
    """Measure encoding one more exchange of a conversation, and the whole conversation."""
    said = conversation(n_bytes)
    encoder, dialect = RequestEncoder(), Dialect(wire=wire, cache_marks=wire == "messages")

    def encoding_ms() -> float:
        said.extend((assistant("ok"), user("go on")))
        asked = request(*said, anchors=Anchors(messages=(len(said) - 1,)))
        began = time.process_time()
        encoder.body(asked, dialect)
        return (time.process_time() - began) * 1_000

    whole = encoding_ms()
    more = statistics.median(encoding_ms() for _ in range(N_REQUESTS))
    name = f"  to encode {n_bytes / 1e6:g} MB, ms of CPU"
    print(f"{name:34}one exchange more {more:.3f}   all {whole:.2f}")


async def exchange(port: int, wire: WireName, content: bytes, n_answer: int) -> None:
    """Write a request's bytes to a socket, and read the answer's bytes: the floor."""
    loop = asyncio.get_running_loop()
    with socket.socket() as raw:
        raw.setblocking(False)  # noqa: FBT003 -- the standard library's signature
        await loop.sock_connect(raw, ("127.0.0.1", port))
        head = f"POST {PATHS[wire]} HTTP/1.1\r\nContent-Length: {len(content)}\r\n\r\n"
        await loop.sock_sendall(raw, head.encode())
        await loop.sock_sendall(raw, content)
        while n_answer > 0:
            n_answer -= len(await loop.sock_recv(raw, 65_536))


def show(ours: float, floor: float, sdk: float | None = None) -> None:
    rival = "" if sdk is None else f"   SDK {sdk:8.2f}   {sdk / ours:6.1f} x less"
    print(f"ours {ours:8.2f}   floor {floor:8.2f}{rival}")


def main() -> None:
    wires = [wire for wire in WIRES if wire in sys.argv[1:]] or WIRES
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    asyncio.run(measure(here.recv(), wires))
    server.terminate()


if __name__ == "__main__":
    main()
