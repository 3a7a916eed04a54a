"""Tests a model's request for a host, the user's answer, and the connection to that host only."""

from __future__ import annotations

import json

import pytest

from support.bubblewrap import needs_bubblewrap
from support.editing import SERVE, Home, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, say
from support.raw_client import raw_client
from support.web_server import FETCH, WORDS, web_server


def bash(command: str, *hosts: str) -> Answer:
    arguments = {"command": command, **({"network": hosts, "why": "to look"} if hosts else {})}
    return say(calls=[("bash", json.dumps(arguments))])


@needs_bubblewrap
@pytest.mark.parametrize("answer", ["once", "no"])
async def test_sbx_19_a_permitted_host_is_reachable_only_for_that_call(tmp_path, answer) -> None:
    home = Home(tmp_path)
    async with web_server() as (port, heard):
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
    assert (WORDS in with_host) == (answer == "once")
    assert WORDS not in without
    assert len(heard) == (1 if answer == "once" else 0)
