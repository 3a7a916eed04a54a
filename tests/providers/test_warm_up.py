"""Preparation of the first request, and both ways to send a request through the SDK."""

from __future__ import annotations

import subprocess
import sys

import pytest

from indwell.errors import ContextOverflow, TooSlow, Unreachable
from indwell.messages import Reply, Usage
from support.asking import ASKED, ask, connected, fail
from support.fault_endpoint import HANG, broken, refusal, streamed
from support.loopback_endpoint import chunk, endpoint_in_thread, say
from support.requests import request, user

SPENT = {"prompt_tokens": 10, "completion_tokens": 2}
SAID = streamed(chunk({"content": "hello"}, finish="stop"), {"choices": [], "usage": SPENT})

FIRST = """
import asyncio, sys
from indwell.providers.client import EndpointClient
from indwell.messages import Message, Meta, Request, Text

provider = EndpointClient(base_url=sys.argv[1], api_key="k")
words = Text("hello", Meta(tier=1, source="user", tokens=1))
request = Request("m", (), (), (Message("user", (words,), 1),), 10)
before = set(sys.modules)
reply = asyncio.run(provider.complete(request, lambda event: None))
print(reply.text, sorted(set(sys.modules) - before))
"""


def test_the_first_request_imports_no_further_module() -> None:
    with endpoint_in_thread([say("hello")]) as endpoint:
        ran = subprocess.run(
            [sys.executable, "-c", FIRST, endpoint.base_url],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert (ran.stdout.strip(), ran.stderr) == ("hello []", "")


async def test_both_ways_through_the_sdk_send_the_same_request() -> None:
    heads, bodies = [], []
    for by_public_call in (False, True):
        async with connected(SAID, by_public_call=by_public_call) as (provider, endpoint):
            reply = await provider.complete(ASKED, lambda _: None)
            assert reply == Reply("hello", usage=Usage(input=10, output=2))
        lines = endpoint.heads[0].decode().lower().split("\r\n")
        host = f"127.0.0.1:{endpoint.port}"
        heads.append({line.replace(host, "HOST") for line in lines if line})
        bodies.append(endpoint.bodies[0])
    assert bodies[0] == bodies[1]
    assert heads[0] == heads[1] == {
        "post /v1/chat/completions http/1.1",
        "host: HOST",
        "accept: application/json",
        "accept-encoding: identity",
        "connection: keep-alive",
        "content-type: application/json",
        f"content-length: {len(bodies[0])}",
        "authorization: bearer sk-very-secret",
        next(line for line in heads[0] if line.startswith("user-agent: asyncopenai/")),
    }  # fmt: skip


async def test_headers_from_environment_variables_are_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: for-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "for-openai")
    for by_public_call in (False, True):
        async with connected(SAID, by_public_call=by_public_call) as (provider, endpoint):
            await provider.complete(ASKED, lambda _: None)
            assert b"for-openai" not in endpoint.heads[0]


async def test_the_public_sdk_call_raises_the_same_errors() -> None:
    long = refusal(400, "too long", code="context_length_exceeded")
    assert type(await fail(long, by_public_call=True)) is ContextOverflow
    gone = await fail(base_url="http://no-such-host.invalid/v1", by_public_call=True)
    assert (type(gone), "no address for the host" in str(gone)) == (Unreachable, True)
    silent = await fail(broken(HANG), by_public_call=True, timeout_s=0.2)
    assert type(silent) is TooSlow


async def test_a_huge_new_message_is_sent_without_errors() -> None:
    reply, _ = await ask(SAID, asked=request(user("x" * 2_000_000)))
    assert reply.text == "hello"
