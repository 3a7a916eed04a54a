"""The documented streams of each API (``wire_streams.toml``), read by the real client."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import indwell.errors
from indwell.context.conversation import Config, Conversation, with_reply
from indwell.errors import RateLimited, ServerFault
from indwell.messages import Reply, ToolCall, Usage
from indwell.providers.wires.dialect import Dialect, WireName
from support.asking import ask, connected, failure
from support.chat_bodies import chat_body
from support.fault_endpoint import END, HEAD, Script, answer, broken, chunked
from support.requests import READ, request, user

STREAMS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "wire_streams.toml").read_text(encoding="utf-8")
)["stream"]
MODEL = "claude-opus-4-6"
ASKED = request(user("hello"), tools=(READ,), model=MODEL)


EMPTY = Conversation(system=(), tools=(READ,), config=Config(MODEL, 100_000, 8_000))


def script_of(stream: dict[str, Any]) -> Script:
    lines = [line for line in stream["events"].splitlines() if line]
    named = stream["wire"] != "chat"
    heads = [f"event: {json.loads(line)['type']}\n" if named else "" for line in lines]
    events = [f"{head}data: {line}\n\n" for head, line in zip(heads, lines, strict=True)]
    done = [] if named else ["data: [DONE]\n\n"]
    return broken(HEAD, *(chunked(one.encode()) for one in (*events, *done)), END)


@pytest.mark.parametrize(
    "stream",
    [pytest.param(one, id=one["name"]) for one in STREAMS if "error" not in one],
)
async def test_each_documented_stream_gives_the_expected_reply(stream: dict[str, Any]) -> None:
    dialect = Dialect(wire=stream["wire"])
    async with connected(script_of(stream), dialect=dialect) as (provider, endpoint):
        reply = await provider.complete(ASKED, lambda _: None)
    usage = dict(stream["usage"])
    if usage.get("thinking") == "any":
        usage["thinking"] = reply.usage.thinking
        assert usage["thinking"] > 0
    assert msgspec.structs.replace(
        reply, reasoning=(), problem=reply.problem.replace(endpoint.base_url, "ADDRESS")
    ) == Reply(
        text=stream.get("text", ""),
        thinking=stream.get("thinking", ""),
        calls=tuple(ToolCall(*call) for call in stream.get("calls", ())),
        finish=stream.get("finish", "stop"),
        usage=Usage(**usage),
        problem=stream.get("problem", ""),
    )
    if "places" in stream:
        assert [one.place for one in reply.reasoning] == stream["places"]
    assert sent_back(reply, dialect) == [
        json.loads(one, strict=False) for one in stream.get("back", ())
    ]


def sent_back(reply: Reply, dialect: Dialect) -> list[dict[str, Any]]:
    """Return the reasoning in the request that follows the reply."""
    talk = with_reply(EMPTY, reply, turn=1)
    body = chat_body(msgspec.structs.replace(ASKED, messages=talk.messages), dialect)
    if dialect.wire == "responses":
        items = body["input"]
    else:
        items = [part for one in body["messages"] for part in one["content"] or ()]
    kinds = ("reasoning", "thinking", "redacted_thinking")
    return [one for one in items if isinstance(one, dict) and one.get("type") in kinds]


@pytest.mark.parametrize(
    "stream", [pytest.param(one, id=one["name"]) for one in STREAMS if "error" in one]
)
async def test_each_documented_provider_error_raises_the_matching_error(
    stream: dict[str, Any],
) -> None:
    async with connected(script_of(stream), dialect=Dialect(wire=stream["wire"])) as (provider, _):
        error = await failure(provider)
    assert type(error) is getattr(indwell.errors, stream["error"])
    assert stream["says"] in str(error)
    if isinstance(error, RateLimited):
        assert error.retry_after_s == stream["retry_after_s"]


STOPS = {
    "end_turn": ("stop", ""),
    "stop_sequence": ("stop", ""),
    "max_tokens": ("length", ""),
    "model_context_window_exceeded": ("length", ""),
    "refusal": ("filtered", ""),
    "pause_turn": ("endless", "the endpoint paused it for tools of its own"),
}


@pytest.mark.parametrize("reason", STOPS)
async def test_each_stop_reason_of_the_messages_api_has_its_meaning(reason: str) -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    stream = {"wire": "messages", "events": "\n".join(map(json.dumps, events))}
    reply, _ = await ask(script_of(stream), dialect=Dialect(wire="messages"))
    assert (reply.text, reply.finish, reply.problem) == ("x", *STOPS[reason])


OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
LIMITED = (
    '{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your '
    "organization's rate limit of 30,000 input tokens per minute.\"}}"
)


async def test_the_messages_api_may_refuse_with_a_retry_time_or_because_of_overload() -> None:
    script = (
        answer(529, OVERLOADED),
        answer(529, OVERLOADED, headers="retry-after: 7\r\n"),
        answer(429, LIMITED, headers="retry-after: 24\r\nanthropic-ratelimit-x: 1\r\n"),
    )
    async with connected(*script, dialect=Dialect(wire="messages")) as (provider, _):
        busy, wait, limited = [await failure(provider) for _ in script]
    assert (type(busy), type(wait), type(limited)) == (ServerFault, RateLimited, RateLimited)
    assert [one.retry_after_s for one in (wait, limited)] == [7, 24]  # type: ignore[attr-defined]
    assert "30,000 input tokens per minute" in str(limited)


SEALS: dict[WireName, str] = {
    "responses": "The encrypted content gAAA...DQ== could not be verified.",
    "messages": "messages.1.content.0: Invalid `signature` in `thinking` block",
}


@pytest.mark.parametrize("wire", SEALS)
async def test_unreadable_encrypted_reasoning_is_left_out_and_the_model_continues_thinking(
    wire: WireName,
) -> None:
    """The session continues at another deployment, as in openai/codex#8145."""
    stream = next(one for one in STREAMS if one["wire"] == wire and one.get("back"))
    refused = json.dumps({"error": {"message": SEALS[wire], "type": "invalid_request_error"}})
    script = (script_of(stream), answer(400, refused), script_of(stream))
    async with connected(*script, dialect=Dialect(wire=wire)) as (provider, endpoint):
        reply = await provider.complete(ASKED, lambda _: None)
        talk = with_reply(EMPTY, reply, turn=1)
        again = msgspec.structs.replace(ASKED, messages=(*ASKED.messages, *talk.messages))
        await provider.complete(again, lambda _: None)
        first, second = map(json.loads, endpoint.bodies[1:])
    seal = json.loads(stream["back"][0], strict=False)
    seal = seal.get("encrypted_content") or seal["signature"]
    assert seal in json.dumps(first)
    assert seal not in json.dumps(second)
    asks = {"responses": "include", "messages": "thinking"}[wire]
    assert second[asks] == first[asks]
