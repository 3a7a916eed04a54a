from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import pytest

from indwell.lsp.wire.tcp import WrongAddress, address_of, check_token
from support.raw_wire import PATIENCE_S

TOKEN = "0123456789abcdef-made-up"  # noqa: S105 - made up


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:80", ("127.0.0.1", 80)),
        ("[::1]:9000", ("::1", 9000)),
        ("127.9.9.9:1", ("127.9.9.9", 1)),
    ],
)
def test_an_address_of_this_machine_is_accepted(text, address) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    "text", ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.org:80", "127.0.0.1", ":80", "a:b"]
)
def test_an_address_of_another_machine_is_refused(text) -> None:
    with pytest.raises(WrongAddress):
        address_of(text)


def test_a_short_token_is_refused() -> None:
    with pytest.raises(WrongAddress, match="at least 16"):
        check_token("secret")
    assert check_token(TOKEN) == TOKEN


class Served:
    """A listening server and its address."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, token: str) -> None:
        self.process = process
        self.port = port
        self.token = token


@pytest.fixture
async def served(tmp_path, request):
    # On Windows, a program needs many variables to start.
    names = os.environ if sys.platform == "win32" else ("PATH", "PYTHONPATH")
    environment = {
        **{name: os.environ[name] for name in names if name in os.environ},
        "HOME": str(tmp_path),
        "INDWELL_STATE": str(tmp_path / "state"),
        **getattr(request, "param", {}),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "indwell", "serve", "--tcp", "127.0.0.1:0", "--scripted"),
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    said = (await asyncio.wait_for(process.stderr.readline(), PATIENCE_S)).decode()
    found = re.search(r"listening on 127\.0\.0\.1:(\d+), token (\S+)", said)
    assert found, said
    yield Served(process, int(found[1]), found[2])
    if process.returncode is None:
        process.kill()
    await process.wait()


def frame(message: dict) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def hello(token: object) -> bytes:
    options = {"initializationOptions": {"token": token}} if token is not None else {}
    params = {"processId": None, "capabilities": {}, **options}
    return frame({"id": 1, "method": "initialize", "params": params})


async def heard(reader: asyncio.StreamReader) -> dict:
    length = int((await asyncio.wait_for(reader.readline(), PATIENCE_S)).partition(b":")[2])
    await reader.readline()
    return json.loads(await reader.readexactly(length))


async def said_to(port: int, data: bytes):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    return reader, writer


async def test_the_token_opens_the_connection_and_the_port_closes_afterwards(served) -> None:
    reader, writer = await said_to(served.port, hello(served.token))
    assert (await heard(reader))["result"]["serverInfo"]["name"] == "indwell"
    writer.write(frame({"id": 2, "method": "shutdown"}))
    assert await heard(reader) == {"jsonrpc": "2.0", "id": 2, "result": None}
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(frame({"method": "exit"}))
    assert await asyncio.wait_for(served.process.wait(), PATIENCE_S) == 0
    writer.close()


@pytest.mark.parametrize("served", [{"INDWELL_TOKEN": TOKEN}], indirect=True)
async def test_a_wrong_token_ends_the_connection_and_the_right_one_still_works(served) -> None:
    assert served.token == "of"  # noqa: S105 - "token of INDWELL_TOKEN": it is not repeated
    for wrong in (None, "", TOKEN[:-1], TOKEN + "x", 7, ["x"], "ü"):
        reader, writer = await said_to(served.port, hello(wrong))
        answer = await heard(reader)
        assert (answer["id"], answer["error"]["code"]) == (1, -32600)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()
    reader, writer = await said_to(served.port, hello(TOKEN))
    assert "result" in await heard(reader)
    writer.close()
    # the client disconnected without shutdown
    assert await asyncio.wait_for(served.process.wait(), PATIENCE_S) == 1


async def test_a_web_page_gets_no_answer_and_does_not_block_the_editor(served) -> None:
    silent = await asyncio.open_connection("127.0.0.1", served.port)
    request = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}"
    reader, page = await said_to(served.port, request)
    assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
    reader, writer = await said_to(served.port, hello(served.token))
    assert "result" in await heard(reader)
    for one in (silent[1], page, writer):
        one.close()
