"""From the model's request for a host, over the user's answer, to the host; and no other way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from indwell.sandbox.strength import strength
from support.editing import SERVE, Home, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, say
from support.raw_client import raw_client

sandboxed = pytest.mark.skipif(
    strength().level != "S3", reason=f"no bubblewrap here: {strength().reason}"
)
FETCH = """python3 -c '
import urllib.request
print(urllib.request.urlopen("http://localhost:{port}/x", timeout=20).read().decode())'"""


@asynccontextmanager
async def web() -> AsyncIterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nwords-9x7")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heard
    finally:
        listening.close()


def bash(command: str, *hosts: str) -> Answer:
    arguments = {"command": command, **({"network": hosts, "why": "to look"} if hosts else {})}
    return say(calls=[("bash", json.dumps(arguments))])


@sandboxed
@pytest.mark.parametrize("answer", ["once", "no"])
async def test_sbx_19_a_host_is_reached_if_the_user_says_so_and_for_that_call_alone(
    tmp_path, answer
) -> None:
    home = Home(tmp_path)
    async with web() as (port, heard):
        command = FETCH.format(port=port)
        script = [bash(command, f"localhost:{port}"), bash(command), say("Well.")]
        async with LoopbackEndpoint(script) as endpoint:
            environment = home.environment(endpoint.base_url)
            async with raw_client(home, command=SERVE, environment=environment) as client:
                asked = []

                def permit(params):
                    asked.append(params)
                    return {
                        "answer": answer if f"localhost:{port}" in str(params["more"]) else "once"
                    }

                client.replies["indwell/permission"] = permit
                await client.prompt()
                await client.say_goodbye()
            with_host, without = results(endpoint.seen[2])
    assert f"with network to localhost:{port}" in asked[0]["more"]
    assert ("words-9x7" in with_host) == (answer == "once")
    assert "words-9x7" not in without
    assert len(heard) == (1 if answer == "once" else 0)
