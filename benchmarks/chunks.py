"""CPU of the model wire: per streamed chunk, and per request, against the SDK and a raw socket.

    python benchmarks/chunks.py

Everything runs in one process run, against a server in another process that only writes bytes; the
figures are CPU time of the client, and their ratios are what counts.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import openai

from indwell.messages import Message, Request
from indwell.providers.client import EndpointClient
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder
from support.requests import assistant, request, user

N_CHUNKS = 10_000
N_REQUESTS = 50
MESSAGE = "word " * 500


def event(content: str) -> bytes:
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}],
    }
    return b"data: " + json.dumps(value).encode() + b"\n\n"


END = event("hello wo").replace(b"null", b'"stop"') + b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def framed(part: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(part), part)


# A text that repeats itself would be cut off.
PIECES = b"".join(framed(event(f"{number:08}")) for number in range(N_CHUNKS - 1))
LONG = HEAD + PIECES + framed(END) + b"0\r\n\r\n"
SHORT = HEAD + framed(END) + b"0\r\n\r\n"


def serve(told: Connection) -> None:
    """Answers each request at once: at length if the body asks for model ``long``."""
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
            client.sendall(LONG if b'"model":"long"' in beginning[:40] else SHORT)

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


async def measure(port: int) -> None:
    url = f"http://127.0.0.1:{port}/v1"
    ours = EndpointClient(base_url=url, dialect=Dialect())
    sdk = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    await measure_chunks(port, ours, sdk)
    for n_bytes in (500_000, 4_000_000):
        await measure_requests(port, ours, sdk, n_bytes)
    await ours.aclose()
    await sdk.close()


async def measure_chunks(port: int, ours: EndpointClient, sdk: openai.AsyncOpenAI) -> None:
    async def our_way() -> None:
        await ours.complete(request(user("go"), model="long"), lambda _: None)

    async def sdk_way() -> None:
        stream = await sdk.chat.completions.create(
            messages=[{"role": "user", "content": "go"}],
            model="long",
            stream=True,
            extra_body={"model": "long"},
        )
        async for chunk in stream:
            _ = chunk.choices[0].delta.content

    async def raw_way() -> None:
        await exchange(port, b'{"model":"long"}', len(LONG))

    print(f"{'a streamed chunk, µs of CPU':32}", end="")
    figures = [await cpu_ms(way, 3) * 1_000 / N_CHUNKS for way in (our_way, raw_way, sdk_way)]
    show(*figures)


async def measure_requests(
    port: int, ours: EndpointClient, sdk: openai.AsyncOpenAI, n_bytes: int
) -> None:
    said = conversation(n_bytes)

    def grown() -> Request:
        said.extend((assistant("ok"), user("go on")))
        return request(*said)

    async def our_way() -> None:
        await ours.complete(grown(), lambda _: None)

    async def sdk_way() -> None:
        async for _ in await sdk.chat.completions.create(
            **json.loads(RequestEncoder().encode(grown(), Dialect()))
        ):
            pass

    async def raw_way() -> None:
        await exchange(port, ready, len(SHORT))

    ready = b'{"model":"short"}' + b" " * (len(said) * len(MESSAGE))
    print(f"{f'a request of {n_bytes / 1e6:g} MB, ms of CPU':32}", end="")
    show(
        await cpu_ms(our_way, N_REQUESTS),
        await cpu_ms(raw_way, N_REQUESTS),
        await cpu_ms(sdk_way, 5),
    )


async def exchange(port: int, content: bytes, n_answer: int) -> None:
    """The floor: a request's bytes written to a socket, and its answer's read, unseen."""
    loop = asyncio.get_running_loop()
    with socket.socket() as raw:
        raw.setblocking(False)  # noqa: FBT003 -- the standard library's signature
        await loop.sock_connect(raw, ("127.0.0.1", port))
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(content)
        await loop.sock_sendall(raw, head)
        await loop.sock_sendall(raw, content)
        while n_answer > 0:
            n_answer -= len(await loop.sock_recv(raw, 65_536))


def show(ours: float, floor: float, sdk: float) -> None:
    print(f"ours {ours:8.2f}   floor {floor:8.2f}   SDK {sdk:8.2f}   {sdk / ours:6.1f} x less")


def main() -> None:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    asyncio.run(measure(here.recv()))
    server.terminate()


if __name__ == "__main__":
    main()
