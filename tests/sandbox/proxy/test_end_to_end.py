"""SBX-19, SBX-20 through the real sandbox: a command, its walls, the proxy, a server outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from indwell.errors import ToolError
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.spawn import spawn
from indwell.sandbox.strength import strength

sandboxed = pytest.mark.skipif(
    strength().level != "S3", reason=f"no bubblewrap here: {strength().reason}"
)
FETCH = """python3 -c '
import urllib.request
print(urllib.request.urlopen("http://localhost:{port}/x", timeout=20).read().decode())'"""


@asynccontextmanager
async def server() -> AsyncIterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heard
    finally:
        listening.close()


async def ran(tmp_path, command: str, *hosts: str) -> str:
    bounds = Confinement(writable=(str(tmp_path),), hosts=hosts)
    finished = await spawn(command, cwd=tmp_path, timeout_s=60, confinement=bounds)
    return finished.output


@sandboxed
async def test_a_sandboxed_command_reaches_what_was_named_and_nothing_without(tmp_path) -> None:
    async with server() as (port, heard):
        command = FETCH.format(port=port)
        assert "hello" in await ran(tmp_path, command, f"localhost:{port}")
        assert heard[0].startswith(b"GET /x HTTP/1.1\r\nHost: localhost:")
        past_rules = f"NO_PROXY= no_proxy= {command}"
        assert "Refused by the sandbox" in await ran(tmp_path, past_rules, "other.example")
        bounds = Confinement(writable=(str(tmp_path),), hosts=("other.example",))
        finished = await spawn(past_rules, cwd=tmp_path, timeout_s=60, confinement=bounds)
        assert finished.notes == (f"the sandbox allowed no connection to localhost:{port}",)
        assert "refused" in (await ran(tmp_path, command)).lower()
        assert len(heard) == 1


@sandboxed
async def test_sbx_20_without_a_host_there_is_no_proxy_and_no_network(tmp_path) -> None:
    said = await ran(tmp_path, "env | grep -ic _proxy=; cat /proc/net/dev | grep -c :")
    assert said.split() == ["0", "1"]  # the loopback of its own


@sandboxed
async def test_with_a_way_the_walls_stay_as_they_are(tmp_path) -> None:
    """The starter leaves nothing behind: no process, no descriptor, no other environment."""
    show = "ls -l /proc/self/fd | grep -c socket; ps -e | grep -c python"
    show += "; grep SigIgn /proc/self/status"
    with_way, without = [await ran(tmp_path, show, *hosts) for hosts in (("a.example",), ())]
    assert with_way == without
    said = await ran(tmp_path, "echo x > /etc/indwell-test; ls /etc/indwell-test", "*")
    assert "Read-only file system" in said


async def test_a_machine_that_cannot_confine_says_so_instead_of_running(tmp_path) -> None:
    if strength().level in {"S3", "S3m"}:
        pytest.skip("it can")
    with pytest.raises(ToolError):
        await ran(tmp_path, "true", "a.example")
