"""NET-01, NET-02, SEC-04: who can talk to the server, and what the server reveals."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from support.editing import Home
from support.raw_client import raw_client

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
LISTENING = "0A"


def listening(pid: int) -> list[str]:
    """Return a process's listening addresses in the kernel's hexadecimal form, with ports."""
    links = (one.readlink() for one in Path(f"/proc/{pid}/fd").iterdir())
    sockets = {found[1] for one in links if (found := re.match(r"socket:\[(\d+)\]", str(one)))}
    lines = [
        line.split()
        for name in ("tcp", "tcp6", "udp", "udp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    return [line[1] for line in lines if line[9] in sockets and line[3] in {LISTENING, "07"}]


class Door(NamedTuple):
    """A server that waits for an editor at a port."""

    pid: int
    port: int
    token: str


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Door]:
    environment = {
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        "HOME": str(folder),
        "INDWELL_STATE": str(folder / "state"),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "indwell", "serve", "--tcp", "127.0.0.1:0", "--scripted"),
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert process.stderr is not None
    said = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
    found = re.search(r"listening on 127\.0\.0\.1:(\d+), token (\S+)", said)
    assert found, said
    try:
        yield Door(process.pid, int(found[1]), found[2])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


@linux
async def test_net_01_a_server_on_stdio_opens_no_port(tmp_path) -> None:
    async with raw_client(Home(tmp_path)) as client:
        await client.prompt()
        assert listening(client.pid) == []


@linux
async def test_net_01_a_server_with_a_port_listens_only_locally_with_a_long_token(
    tmp_path,
) -> None:
    async with serving(tmp_path) as one:
        assert listening(one.pid) == [f"0100007F:{one.port:04X}"]
        assert len(one.token) >= 43  # 32 random bytes give 43 characters


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
GUESSES = [None, {"token": ""}, {"token": "guess"}, {"token": True}, {"token": [""]}]


def hello(guess: object) -> bytes:
    params = {"processId": None, "capabilities": {}, "initializationOptions": guess}
    body = json.dumps({**HELLO, "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def from_a_page(guess: object) -> list[bytes]:
    """Return requests that a web page can make a browser send, even with LSP bodies."""
    length, _, body = hello(guess).partition(b"\r\n\r\n")
    framed = hello(guess)
    post = b"POST / HTTP/1.1\r\nHost: %s\r\nOrigin: https://attacker.example\r\n"
    return [
        post % b"127.0.0.1" + length + b"\r\n\r\n" + body,
        post % b"rebound.attacker.example" + length + b"\r\n\r\n" + body,
        post % b"127.0.0.1" + b"Content-Type: text/plain\r\nContent-Length: "
        + str(len(framed)).encode() + b"\r\n\r\n" + framed,
        (b"OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://attacker.example\r\n"
        b"Access-Control-Request-Method: POST\r\n\r\n"),
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Origin: https://attacker.example\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + framed,
        framed,
    ]  # fmt: skip


async def test_net_02_no_request_of_a_web_page_reaches_a_handler(tmp_path) -> None:
    async with serving(tmp_path) as one:
        for sent in (attempt for guess in GUESSES for attempt in from_a_page(guess)):
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(sent)
            answer = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            assert b'"result"' not in answer
            assert b"serverInfo" not in answer
            assert b"Access-Control" not in answer
            assert not answer.startswith(b"HTTP/")
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
        writer.write(hello({"token": one.token}))  # no request kept the editor out
        assert b"Content-Length" in await asyncio.wait_for(reader.readline(), 60)
        await reader.readline()
        assert b"serverInfo" in await asyncio.wait_for(reader.read(65_536), 60)
        writer.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("indwell/prompt", {"text": 7}),
        ("indwell/prompt", {"session": "../../etc", "text": "x"}),
        ("workspace/executeCommand", {"command": "indwell.fix", "arguments": [{"uri": 1}]}),
        ("textDocument/codeAction", {"textDocument": {"uri": "file:///nowhere"}}),
        ("indwell/nothing", {}),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_sec_04_an_error_has_no_traceback_and_no_path_of_the_server(
    shared, method, params
) -> None:
    answer = await shared.request(method, params)
    said = json.dumps(answer.get("error", {}))
    for telling in ("Traceback", 'File \\"', "site-packages", "/server/indwell", ".py"):
        assert telling not in said
