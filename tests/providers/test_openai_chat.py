from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.errors import (
    BadReply,
    ContextOverflow,
    NotAuthorised,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFault,
    SettingsError,
    ToolsUnsupported,
    TooSlow,
    Unreachable,
)
from indwell.messages import Anchors, Reply, Request, ToolCall, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta
from indwell.providers.client import EndpointClient
from indwell.providers.wires.dialect import Dialect
from support.asking import of_the_answer
from support.loopback_endpoint import (
    CUT,
    HANG,
    Answer,
    LoopbackEndpoint,
    Script,
    chunk,
    raw,
    refuse,
    say,
    sse,
    stream,
)
from support.requests import READ, request, user

ASKED = request(user("hello"), tools=(READ,))
SPENT = {"prompt_tokens": 10, "completion_tokens": 2}
USED = Usage(input=10, output=2)
KEY = "sk-very-secret"
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@asynccontextmanager
async def connected(
    script: Script, **settings: Any
) -> AsyncIterator[tuple[EndpointClient, LoopbackEndpoint]]:
    async with LoopbackEndpoint(script) as endpoint:
        settings = {"base_url": endpoint.base_url, "api_key": KEY, "now": lambda: NOON} | settings
        provider = EndpointClient(**settings)
        try:
            yield provider, endpoint
        finally:
            await provider.aclose()


async def ask(
    *script: Answer, asked: Request = ASKED, **settings: Any
) -> tuple[Reply, list[StreamEvent]]:
    told: list[StreamEvent] = []
    async with connected(script, **settings) as (provider, _):
        return await provider.complete(asked, of_the_answer(told.append)), told


async def fail(
    *script: Answer, asked: Request = ASKED, **settings: Any
) -> tuple[ProviderError, str]:
    """Return the error, and the message with ADDRESS for the endpoint's address."""
    async with connected(script, **settings) as (provider, endpoint):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(asked, lambda _: None)
        return caught.value, str(caught.value).replace(endpoint.base_url, "ADDRESS")


def estimated(words: str) -> Usage:
    asked = request_tokens(request(user("hello")))
    return Usage(input=asked, output=estimate_tokens(words), reported=False)


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


async def test_a_streamed_reply_is_reported_as_deltas_and_returned_complete() -> None:
    pieces = say("Hello there", calls=[("read_file", '{"path":"a"}')], usage=SPENT, piece=6)
    at_once = Answer(
        (b"".join(part for part in pieces.parts if isinstance(part, bytes)),),
        headers=pieces.headers,
    )
    assert await ask(at_once) == (
        Reply(
            "Hello there",
            (ToolCall("id_0", "read_file", '{"path":"a"}'),),
            finish="tool_calls",
            usage=USED,
        ),
        [TextDelta("Hello there"), CallStarted("read_file")],
    )


async def test_a_delta_is_reported_before_the_next_delta_is_sent() -> None:
    told = asyncio.Event()
    waiting = stream(chunk({"content": "a"}), told, chunk({"content": "b"}, finish="stop"))
    async with connected([waiting]) as (provider, _):
        reply = await provider.complete(ASKED, of_the_answer(lambda _: told.set()))
    assert reply.text == "ab"


async def test_the_endpoint_gets_the_body_and_the_key() -> None:
    marked = request(
        user("hello"), system=("s",), tools=(READ,), anchors=Anchors(tools=True, system=True)
    )
    async with connected([say("a")], dialect=Dialect(cache_marks=True)) as (provider, endpoint):
        await provider.complete(marked, lambda _: None)
    (seen,) = endpoint.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["messages"] == [
        {
            "role": "system",
            "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "user", "content": "hello"},
    ]
    assert seen.body["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert set(seen.body) == {
        "model",
        "messages",
        "tools",
        "max_tokens",
        "stream",
        "stream_options",
    }
    assert (seen.body["model"], seen.body["stream"], seen.body["max_tokens"]) == (
        "small",
        True,
        100,
    )


async def test_equal_requests_give_equal_bytes() -> None:
    async with connected([say("a"), say("a")]) as (provider, endpoint):
        await provider.complete(ASKED, lambda _: None)
        await provider.complete(ASKED, lambda _: None)
    first, second = endpoint.seen
    assert first.raw == second.raw


async def test_openai_environment_variables_do_not_reach_other_endpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "for-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with connected([say("a")], api_key=None) as (provider, endpoint):
        await provider.complete(ASKED, lambda _: None)
    assert "for-openai" not in str(endpoint.seen[0].headers)
    assert endpoint.seen[0].headers["authorization"] == "Bearer none"


async def test_without_an_address_the_client_uses_openai_and_ignores_environment_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    provider = EndpointClient(api_key=KEY)
    assert str(provider._client.base_url) == "https://api.openai.com/v1/"
    await provider.aclose()


async def test_usage_is_estimated_when_none_is_reported() -> None:
    reply, _ = await ask(say("Hello"), asked=request(user("hello")))
    assert reply == Reply("Hello", usage=estimated("Hello"))


@pytest.mark.parametrize("words", ["Unknown field: stream_options", "include_usage not permitted"])
async def test_after_a_refused_usage_option_requests_omit_the_option(words: str) -> None:
    async with connected([refuse(400, words), say("a"), say("b")]) as (provider, endpoint):
        replies = [await provider.complete(ASKED, lambda _: None) for _ in range(2)]
    assert [reply.text for reply in replies] == ["a", "b"]
    assert ["stream_options" in seen.body for seen in endpoint.seen] == [True, False, False]


async def test_the_usage_option_is_omitted_only_after_a_400_and_only_once() -> None:
    async with connected([refuse(422, "stream_options")]) as (provider, endpoint):
        with pytest.raises(RequestRejected):
            await provider.complete(ASKED, lambda _: None)
    assert len(endpoint.seen) == 1
    async with connected([refuse(400, "stream_options")] * 3) as (provider, endpoint):
        with pytest.raises(RequestRejected):
            await provider.complete(ASKED, lambda _: None)
    assert len(endpoint.seen) == 2


@pytest.mark.parametrize(
    ("done", "finish"), [(True, None), (False, "stop")], ids=["[DONE]", "finish reason"]
)
async def test_one_end_signal_is_enough_to_complete_a_streamed_reply(
    *, done: bool, finish: str | None
) -> None:
    answer = stream(chunk({"content": "a"}, finish=finish), done=done)
    assert (await ask(answer))[0].finish == "stop"


async def test_the_end_marker_inside_text_does_not_end_the_stream() -> None:
    reply, _ = await ask(stream(chunk({"content": "\ndata: [DONE]\n"}), done=False))
    assert reply.finish == "incomplete"


async def test_the_end_marker_may_arrive_in_chunks() -> None:
    answer = stream(chunk({"content": "a"}), b"da", b"ta: [DO", b"NE]\n\n", done=False)
    assert (await ask(answer))[0].finish == "stop"


async def cut_after(*chunks: Mapping[str, Any], end: tuple[Any, ...] = (CUT,)) -> tuple[Reply, str]:
    """Return the reply over a connection that breaks after the first event, and the address."""
    heard = asyncio.Event()
    async with connected([stream(*chunks, heard, *end, done=False)]) as (provider, endpoint):
        reply = await provider.complete(
            request(user("hello")), of_the_answer(lambda _: heard.set())
        )
    return reply, endpoint.base_url


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ((), "ADDRESS ended the reply too early"),
        ((CUT,), "the connection to ADDRESS was lost in the middle of the reply"),
    ],
    ids=["silently", "by a reset"],
)
async def test_a_reply_that_breaks_off_keeps_its_text(end: tuple[Any, ...], problem: str) -> None:
    reply, address = await cut_after(chunk({"content": "half"}), end=end)
    assert reply == Reply(
        "half",
        finish="incomplete",
        usage=estimated("half"),
        problem=problem.replace("ADDRESS", address),
    )


async def test_a_call_that_breaks_off_is_dropped() -> None:
    begun = {"index": 0, "id": "a", "function": {"name": "read_file", "arguments": '{"pa'}}
    reply, _ = await cut_after(chunk({"tool_calls": [begun]}))
    assert (reply.finish, reply.calls, reply.text) == ("incomplete", (), "")


async def test_a_connection_cut_after_the_final_chunk_loses_no_text() -> None:
    reply, _ = await cut_after(chunk({"content": "whole"}, finish="stop"))
    assert (reply.text, reply.finish) == ("whole", "stop")


@pytest.mark.parametrize(
    "answer",
    [
        stream(CUT, done=False),
        stream(chunk({"role": "assistant", "content": ""}), done=False),
        stream(chunk({"reasoning": "hm"}), done=False),
    ],
    ids=["nothing", "an empty start", "only reasoning"],
)
async def test_a_connection_that_breaks_before_any_word_is_unreachable(answer: Answer) -> None:
    error, _ = await fail(answer)
    assert isinstance(error, Unreachable)


async def test_an_error_inside_the_stream_is_reported_with_the_received_text() -> None:
    broken: Mapping[str, Any] = {"error": {"code": 502, "message": "upstream gone"}}
    async with connected([stream(chunk({"content": "half"}), broken)]) as (provider, endpoint):
        reply = await provider.complete(ASKED, lambda _: None)
    sentence = f"{endpoint.base_url} failed with status 502: upstream gone"
    assert (reply.text, reply.finish, reply.problem) == ("half", "incomplete", sentence)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "upstream gone"}, ServerFault),
        ({"type": "rate_limit_error", "message": "slow down"}, RateLimited),
        ({"type": "insufficient_quota", "message": "no more"}, OutOfCredit),
        ({"message": "prompt is too long"}, ContextOverflow),
        ("all is lost", ServerFault),
    ],
)
async def test_an_error_at_the_start_of_a_stream_raises_the_matching_error(
    error: Any, kind: type[ProviderError]
) -> None:
    raised, _ = await fail(stream({"error": error}))
    assert type(raised) is kind


async def test_a_finish_reason_of_error_is_a_broken_reply() -> None:
    reply, _ = await ask(stream(chunk({"content": "half"}), chunk({}, finish="error")))
    assert (reply.finish, reply.problem.startswith("the model behind")) == ("incomplete", True)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (stream(), "ADDRESS answered with nothing; try again"),
        (stream(done=False), "ADDRESS answered with nothing; try again"),
        (stream(b"data: [1]\n\n"), "ADDRESS sent an event that is not an object"),
        (
            stream(b"data: {not json\n\n"),
            "ADDRESS sent data that is not a reply (JSONDecodeError)",
        ),
        (
            stream(b"data: \xff\n\n"),
            "ADDRESS sent data that is not a reply (UnicodeDecodeError)",
        ),
        (
            raw(200, "<html>hi</html>", headers={"Content-Type": "text/html; charset=utf-8"}),
            (
                "ADDRESS answered with text/html instead of a stream; check OPENAI_BASE_URL,"
                " it often ends in /v1 or a network that wants you to log in: <html>hi</html>"
            ),
        ),
        (
            raw(200, '{"error": "no such route"}', headers={"Content-Type": "application/json"}),
            (
                "ADDRESS answered with application/json instead of a stream; check OPENAI_BASE_URL,"
                ' it often ends in /v1: {"error": "no such route"}'
            ),
        ),
        (raw(200, "hello"), "ADDRESS answered with nothing; try again"),
    ],
)
async def test_an_answer_that_is_not_a_reply_is_reported_as_invalid(
    answer: Answer, sentence: str
) -> None:
    error, said = await fail(answer)
    assert (type(error), said) == (BadReply, sentence)


async def test_garbage_after_text_does_not_remove_the_text() -> None:
    reply, _ = await ask(stream(chunk({"content": "half"}), b"data: {not json\n\n"))
    assert (reply.text, reply.finish) == ("half", "incomplete")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuse(401, "Incorrect API key provided"), NotAuthorised),
        (refuse(402, "no money"), OutOfCredit),
        (refuse(403, "not here"), NotAuthorised),
        (refuse(404, "no model", code="model_not_found"), RequestRejected),
        (refuse(400, "too long", code="context_length_exceeded"), ContextOverflow),
        (refuse(400, "small does not support tools"), ToolsUnsupported),
        (refuse(429, "quota", code="insufficient_quota"), OutOfCredit),
        (refuse(500, "oops"), ServerFault),
        (raw(502, "<html>bad gateway</html>", headers={"Content-Type": "text/html"}), ServerFault),
        (raw(400, '{"detail": "bad field"}'), RequestRejected),
        (Answer((b"{", CUT), status=500), Unreachable),
    ],
)
async def test_each_refused_request_raises_the_matching_error(
    answer: Answer, kind: type[ProviderError]
) -> None:
    error, _ = await fail(answer)
    assert type(error) is kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Sat, 21 Nov 2026 12:02:00 GMT"}, 120.0),
        ({}, None),
    ],
)
async def test_a_rate_limit_error_has_the_wait_time(
    header: dict[str, str], seconds: float | None
) -> None:
    error, _ = await fail(refuse(429, "slow down", headers=header))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "a"}}', ": a"),
        ('{"error": "b"}', ": b"),
        ('{"object": "error", "message": "c"}', ": c"),
        ('{"detail": [{"loc": ["body", "model"]}]}', ": [{'loc': ['body', 'model']}]"),
        ("plain d", ": plain d"),
    ],
)
async def test_the_endpoints_error_message_is_found_in_any_field(body: str, words: str) -> None:
    _, said = await fail(raw(400, body))
    assert said == f"ADDRESS refused the request with status 400{words}"


@pytest.mark.parametrize(
    "answer",
    [
        refuse(400, f"bad header: Bearer {KEY}"),
        refuse(401, f"no such key {KEY}"),
        raw(200, f"your key {KEY}", headers={"Content-Type": "text/html"}),
        stream({"error": {"message": f"key {KEY}"}}),
    ],
)
async def test_no_error_shows_the_key(answer: Answer) -> None:
    error, _ = await fail(answer)
    assert KEY not in str(error)


async def test_a_redirect_is_not_followed_but_reported() -> None:
    async with LoopbackEndpoint([say("stolen")]) as other:
        target = f"{other.base_url}/{KEY}/chat/completions"
        error, said = await fail(raw(307, headers={"Location": f"{target}?token=1"}))
    assert isinstance(error, RequestRejected)
    assert said == (
        f"ADDRESS redirects to {other.base_url[:-3]!r}, and a prompt is not sent on to another"
        " address; if you trust it, set OPENAI_BASE_URL to the API there"
    )
    assert other.seen == []


async def test_a_refused_connection_error_names_the_address_and_a_remedy() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    error, said = await fail(base_url=url)
    assert (type(error), said) == (
        Unreachable,
        f"nothing answers at {url}; start the endpoint or set OPENAI_BASE_URL",
    )


async def test_a_host_without_an_address_is_reported() -> None:
    error, said = await fail(base_url="http://no-such-host.invalid/v1")
    assert (type(error), said) == (
        Unreachable,
        "no address for the host 'no-such-host.invalid'; check the network and OPENAI_BASE_URL",
    )


async def test_openai_gets_no_request_without_a_key() -> None:
    error, said = await fail(base_url=None, api_key=None)
    assert (type(error), said) == (
        NotAuthorised,
        (
            "no API key for https://api.openai.com/v1: `indwell login` stores one; or set"
            " OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs none"
        ),
    )


@pytest.mark.parametrize("settings", [{"base_url": "localhost:1"}, {"api_key": "sk\nx"}])
def test_impossible_settings_are_refused_at_once(settings: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        EndpointClient(**settings)


async def test_an_endpoint_that_never_begins_a_reply_times_out() -> None:
    error, said = await fail(stream(HANG), timeout_s=0.2)
    assert (type(error), "ADDRESS began no reply within 0.2 s" in said) == (TooSlow, True)


async def test_pings_do_not_hide_a_stall() -> None:
    pings = [part for _ in range(100) for part in (b": ping\n\n", 0.02)]
    answer = stream(chunk({"content": "half"}), *pings, done=False)
    reply, _ = await ask(answer, timeout_s=0.3)
    assert (reply.finish, reply.problem.endswith("sent nothing for 0.3 s")) == ("incomplete", True)


async def test_received_data_resets_the_stall_timer() -> None:
    slow = [part for letter in "abcdef" for part in (sse(chunk({"content": letter})), 0.2)]
    reply, _ = await ask(stream(*slow), timeout_s=1.0)
    assert reply.text == "abcdef"


@pytest.mark.parametrize("parts", [(), (sse(chunk({"content": "half"})),)], ids=["early", "midway"])
async def test_cancelling_closes_the_connection(parts: tuple[bytes, ...]) -> None:
    async with connected([stream(*parts, HANG)]) as (provider, endpoint):
        heard = asyncio.Event()
        task = asyncio.ensure_future(provider.complete(ASKED, of_the_answer(lambda _: heard.set())))
        await (heard if parts else endpoint.arrived).wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(endpoint.gone.wait(), 60)


async def test_a_bug_in_the_listener_propagates_and_closes_the_connection() -> None:
    def listener(_: StreamEvent) -> None:
        raise ValueError("a bug")

    async with connected([stream(chunk({"content": "a"}), HANG)]) as (provider, endpoint):
        with pytest.raises(ValueError, match="a bug"):
            await provider.complete(ASKED, of_the_answer(listener))
        await asyncio.wait_for(endpoint.gone.wait(), 60)


async def test_parallel_requests_do_not_mix() -> None:
    async with connected(lambda seen: say(seen.body["messages"][0]["content"])) as (provider, _):
        asked = [request(user(f"words {number}")) for number in range(8)]
        replies = await asyncio.gather(*(provider.complete(each, lambda _: None) for each in asked))
    assert [reply.text for reply in replies] == [f"words {number}" for number in range(8)]


async def test_lone_surrogates_in_a_request_are_sent_safely() -> None:
    async with connected([say("ok")]) as (provider, endpoint):
        await provider.complete(request(user("caf\udce9")), lambda _: None)
    assert json.loads(endpoint.seen[0].raw)["messages"] == [{"role": "user", "content": "caf?"}]
