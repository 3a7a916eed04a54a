"""Around a message, oddities are accepted, and a broken stream ends the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from support.editing import Home
from support.platforms import posix_only
from support.raw_client import RawClient, raw_client
from support.raw_wire import LEAVES_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = b'{"jsonrpc":"2.0","id":"odd","method":"no/such"}'
N = b"%d" % len(BODY)

READABLE = {
    "as everybody writes it": b"Content-Length: " + N + b"\r\n\r\n" + BODY,
    "lower case": b"content-length: " + N + b"\r\n\r\n" + BODY,
    "upper case": b"CONTENT-LENGTH: " + N + b"\r\n\r\n" + BODY,
    "no blank": b"Content-Length:" + N + b"\r\n\r\n" + BODY,
    "many blanks": b"Content-Length:   \t " + N + b" \t\r\n\r\n" + BODY,
    "a type behind": b"Content-Length: "
    + N
    + b"\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"
    + BODY,
    "a type in front": b"Content-Type: application/vscode-jsonrpc; charset=utf8\r\ncontent-length: "
    + N
    + b"\r\n\r\n"
    + BODY,
    "a header of somebody's own": b"X-Trace: a:b:c\r\nContent-Length: " + N + b"\r\n\r\n" + BODY,
    "LF only": b"Content-Length: " + N + b"\n\n" + BODY,
    "leading zeros": b"Content-Length: 000" + N + b"\r\n\r\n" + BODY,
    "almost 8 KB of headers": b"X: "
    + b"y" * 8_000
    + b"\r\nContent-Length: "
    + N
    + b"\r\n\r\n"
    + BODY,
}

BROKEN = {
    "no number": b"Content-Length: abc\r\n\r\n{}",
    "no length": b"Content-Type: x\r\n\r\n{}",
    "no header at all": b"\r\n\r\n{}",
    "an empty length": b"Content-Length: \r\n\r\n{}",
    "negative": b"Content-Length: -5\r\n\r\n{}",
    "signed": b"Content-Length: +5\r\n\r\n{}",
    "a fraction": b"Content-Length: 2.0\r\n\r\n{}",
    "hexadecimal": b"Content-Length: 0x2\r\n\r\n{}",
    "an underscore": b"Content-Length: 1_0\r\n\r\n{}",
    "digits of another script": "Content-Length: ٢\r\n\r\n{}".encode(),
    "two that agree": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two that differ": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "10 GB": b"Content-Length: 10000000000\r\n\r\n",
    "just over the cap": b"Content-Length: %d\r\n\r\n" % (256 * 1024 * 1024 + 1),
    "a number of 7,000 digits": b"Content-Length: " + b"9" * 7_000 + b"\r\n\r\n",
    "a header without end": b"Content-Length: 2\r\nX: " + b"y" * 20_000,
    "no line end ever": b"x" * 20_000,
    "the length was too short": b"Content-Length: %d\r\n\r\n" % (len(BODY) - 9)
    + BODY
    + b"\r\n\r\n",
    "a line without a colon": b"Content-Length 2\r\n\r\n{}",
    "a shell's greeting": b"Welcome to bash!\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
async def test_lsp_04_frames_of_other_writers_are_read(shared, data) -> None:
    before = len(shared.answers("odd"))
    shared.write(data)
    await shared.heard()
    assert len(shared.answers("odd")) == before + 1


async def test_a_frame_may_arrive_byte_by_byte(shared) -> None:
    before = len(shared.answers("odd"))
    for byte in READABLE["a type behind"]:
        shared.write(bytes([byte]))
        await asyncio.sleep(0)
    await shared.wait_until(lambda: len(shared.answers("odd")) == before + 1)


async def test_many_frames_may_arrive_at_once(shared) -> None:
    before = len(shared.answers("odd"))
    shared.write(READABLE["as everybody writes it"] * 500)
    await shared.wait_until(lambda: len(shared.answers("odd")) == before + 500)


LIVE = (
    "no number",
    "no length",
    "negative",
    "two that differ",
    "10 GB",
    "a header without end",
    "the length was too short",
)
"""Those that a real server is shown; ``test_framer`` shows all to the framer."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def victims(tmp_path_factory) -> AsyncIterator[dict[str, RawClient]]:
    """Yield one server for each fault; all start before the first fault is sent."""
    async with AsyncExitStack() as stack:
        clients = [
            stack.enter_async_context(raw_client(Home(tmp_path_factory.mktemp("victim"))))
            for _ in LIVE
        ]
        started = await asyncio.gather(*clients)
        await asyncio.gather(*(one.heard() for one in started))
        yield dict(zip(LIVE, started, strict=True))


@pytest.mark.parametrize("name", LIVE)
async def test_lsp_03_and_06_a_broken_stream_ends_the_server(victims, name) -> None:
    client = victims[name]
    n_lines = len(client.stderr.splitlines())
    client.write(BROKEN[name])
    code = await client.ended(timeout_s=LEAVES_S)
    lines = client.stderr.splitlines()[n_lines:]
    assert (code, len(lines)) == (1, 1), client.stderr


TOO_LONG = {
    "and silence behind it": b"",
    "and the next message behind it": READABLE["as everybody writes it"] * 2,
}


@pytest.mark.parametrize("behind", TOO_LONG.values(), ids=TOO_LONG)
async def test_lsp_03_a_length_that_is_too_long_ends_the_server(tmp_path, behind) -> None:
    async with raw_client(Home(tmp_path)) as client:
        await client.heard()
        client.write(b"Content-Length: %d\r\n\r\n" % (len(BODY) + 12) + BODY + behind)
        assert await client.ended(timeout_s=LEAVES_S) == 1
        assert len(client.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["no number", "no line end ever"])
async def test_lsp_03_a_broken_stream_before_initialize_ends_the_server(tmp_path, name) -> None:
    async with raw_client(Home(tmp_path), hello=False) as client:
        client.write(BROKEN[name])
        assert await client.ended() == 1
        assert len(client.stderr.splitlines()) == 1, client.stderr


@posix_only("kernel")
async def test_a_body_below_the_size_limit_is_accepted_and_its_memory_released(shared) -> None:
    """A message of 32 MB is answered, and its memory is released."""
    before = shared.facts.rss_b
    params = {"x": "y" * (32 << 20)}
    answer = await shared.request("no/such", params)
    assert answer["error"]["code"] == -32601
    await shared.heard()
    assert shared.facts.rss_b - before < 40 << 20
