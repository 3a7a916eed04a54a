"""Tests NET-08: a whole turn connects to the endpoint only (no telemetry, no update check).

A listener in the server's own process records the address of each connection. The hook of
``conftest.py`` checks connections in all other tests.
"""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from support.editing import EDIT, READ, USAGE, Home, bash, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.raw_client import launched, raw_client

LISTEN = """
import sys
def listen(event, arguments):
    if event in {"socket.connect", "socket.sendto", "urllib.Request"}:
        sys.stderr.write(f"CONNECT {arguments[-1]!r}\\n")
    if event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        sys.stderr.write(f"LOOKUP {arguments[0]!r}\\n")
sys.addaudithook(listen)
"""


async def test_net_08_a_turn_with_all_tools_connects_to_the_endpoint_only(tmp_path) -> None:
    home = Home(tmp_path)
    grep = ("grep", json.dumps({"pattern": "total"}))
    script = [
        say("I look.", calls=[READ, grep], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        bash("ls"),
        say("Done.", usage=USAGE),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, OPENAI_API_KEY="sk-canary-1")
        async with raw_client(home, command=launched(LISTEN), environment=environment) as client:
            client.open_shop()
            client.replies["workspace/applyEdit"] = lambda _params: {"applied": False}
            answer = await client.prompt()
            assert answer["result"]["ending"] == "done"
            assert await client.say_goodbye() == 0
            told = client.stderr
        assert len(results(endpoint.seen[-1])) == 4
    where = urlsplit(endpoint.base_url)
    connected = set(re.findall(r"CONNECT (.*)", told))
    assert connected == {repr((where.hostname, where.port))}
    assert set(re.findall(r"LOOKUP (.*)", told)) <= {repr(where.hostname)}
