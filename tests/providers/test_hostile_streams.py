"""A hostile endpoint: much work in few bytes, false numbers, bytes after a reply."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from indwell.errors import BadReply, RequestRejected, ToolError
from indwell.messages import Reply, Usage
from indwell.providers.http.guard import TooLong
from indwell.providers.http.http_client import keep_only_if_clean
from indwell.providers.http.sse import TooManyValues, decoded
from indwell.providers.wires.chat import ChatReply, ThinkTags
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from support.asking import ASKED, KEY, ask, connected, fail, failure
from support.fault_endpoint import (
    DONE,
    END,
    HEAD,
    RST,
    FaultEndpoint,
    Script,
    Step,
    answer,
    broken,
    chunked,
    data,
    streamed,
)
from support.loopback_endpoint import chunk
from support.platforms import posix_only
from support.wire_streams import WIRES, call_events, end_events, words_event

TOOLS = standard_tools(Shell(Path("/tmp")))
each_wire = pytest.mark.parametrize("wire", WIRES)
GOOD = data(chunk({"content": "good"}, finish="stop")) + DONE
SECOND = streamed(chunk({"content": "second"}, finish="stop"))


def packed(body: bytes) -> Script:
    """Return a compressed stream, though the request did not allow compression."""
    small = gzip.compress(body)
    head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    return broken(f"{head}Content-Length: {len(small)}\r\n\r\n".encode() + small)


def event(delta: str) -> bytes:
    """Return an event as text, for events that would take long to encode."""
    return f'data: {{"choices": [{{"index": 0, "delta": {{{delta}}}}}]}}\n\n'.encode()


def many(item: str, n_times: int) -> str:
    return ",".join([item] * n_times)


OBJECT = "{}"
NAMED = ",".join(f'{{"index": {n}, "function": {{"name": "r"}}}}' for n in range(100))


@pytest.mark.parametrize(
    ("delta", "why"),
    [
        (f'"tool_calls": [{NAMED}, {many(OBJECT, 300_000)}]', "over 30,000 values"),
        (f'"content": [{many("[]", 300_000)}]', "over 30,000 values"),
        (f'"content": [{many(OBJECT, 5_000)}]', "over 1,000 parts"),
    ],
    ids=["300,000 pieces", "300,000 lists", "5,000 parts"],
)
async def test_an_event_with_too_many_parts_is_refused(delta: str, why: str) -> None:
    error = await fail(broken(HEAD, chunked(event(delta)), END))
    assert isinstance(error, BadReply)
    assert why in str(error)


async def test_a_non_streamed_answer_with_too_many_parts_is_read_up_to_a_limit() -> None:
    """In the other APIs, only a complete answer has many parts in one event."""
    message = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}
    text = {"type": "text", "text": "a"}
    for wire, part, name, fields in (
        ("responses", message, "output", {"object": "response", "status": "completed"}),
        ("messages", text, "content", {"type": "message", "stop_reason": "end_turn"}),
    ):
        for n_parts, most in ((900, 900), (2_000, 1_000)):
            script = answer(200, json.dumps({**fields, name: [part] * n_parts}))
            reply, _ = await ask(script, dialect=Dialect(wire=wire))
            assert reply.text.count("a") == most
        many_values = answer(200, json.dumps({**fields, name: [part] * 40_000}))
        assert type(await fail(many_values, dialect=Dialect(wire=wire))) is BadReply


async def test_a_reply_with_too_many_call_chunks_in_one_event_keeps_no_call() -> None:
    pieces = [{"index": n % 9, "function": {"name": "r"}} for n in range(5_000)]
    async with connected(streamed(chunk({"tool_calls": pieces}))) as (provider, endpoint):
        reply = await provider.complete(ASKED, lambda _: None)
    why = f"the reply from {endpoint.base_url} has over 1,000 parts in one event"
    assert (reply.calls, reply.finish) == ((), "endless")
    assert reply.problem == f"{why} and was cut off there"


async def test_a_text_full_of_brackets_counts_as_one_value() -> None:
    words = '{"a": [1, 2, "\\"", "\\\\"]},' * 40_000
    reply, _ = await ask(streamed(chunk({"content": words}, finish="stop")))
    assert reply.text == words


def test_values_are_counted_only_outside_of_texts() -> None:
    words = json.dumps({"a": "[" * 40_000 + '"\\' * 40_000}).encode()
    assert decoded(words) == json.loads(words)
    for many_values in (many('""', 70_000), many("1", 70_000), many("[" * 900 + "]" * 900, 80)):
        with pytest.raises(TooManyValues):
            decoded(f"[{many_values}]".encode())


def test_surplus_choices_are_ignored() -> None:
    reply = ChatReply()
    reply.add({"choices": [{"index": 1}] * 64 + [{"index": 0, "delta": {"content": "late"}}]})
    assert reply.whole(ASKED).text == ""


def test_reasoning_in_thousands_of_parts_is_cut_short_and_not_refused() -> None:
    reply = ChatReply()
    reply.add(chunk({"reasoning_details": [{"text": "a"}] * 100_000}))
    assert set(reply.whole(ASKED).thinking) == {"a"}
    assert len(reply.whole(ASKED).thinking) == 499


@pytest.mark.parametrize("noise", [b"\n", b": x\n", b"data:\n\n", b"event: ping\n\n"])
async def test_a_stream_of_noise_is_ended_at_a_byte_limit(noise: bytes) -> None:
    error = await fail(packed(noise * (4_000_000 // len(noise))))
    assert (type(error), str(error)) == (TooLong, "ADDRESS sent 3 MB that are not part of a reply")


async def test_other_tasks_run_while_noise_is_read() -> None:
    n_turns = 0

    async def others() -> None:
        nonlocal n_turns
        while True:
            await asyncio.sleep(0)
            n_turns += 1

    async with connected(packed(b"\n" * 2_500_000 + GOOD)) as (provider, endpoint):
        asked = asyncio.ensure_future(provider.complete(ASKED, lambda _: None))
        await endpoint.arrived.wait()
        working = asyncio.ensure_future(others())
        assert (await asked).text == "good"
        working.cancel()
    assert n_turns > 30  # the noise takes 500 ms of work, and arrives in one network read


async def test_a_compressed_reply_is_read() -> None:
    assert (await ask(packed(GOOD)))[0].text == "good"


def named(name: str, arguments: str = "") -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments}}]})


def scripted(*events: bytes) -> Script:
    return broken(HEAD, chunked(b"".join(events)), END)


@each_wire
async def test_an_endless_tool_name_is_cut_and_refused(wire: WireName) -> None:
    long = call_events(wire, 0, "a", "n" * 1_000_000, "{}")
    pieces = [data(named(name)) for name in ("bash", *["n" * 100] * 2_000)]
    for events in (long, pieces) if wire == "chat" else (long,):
        script = scripted(*events, *end_events(wire))
        reply, _ = await ask(script, dialect=Dialect(wire=wire))
        (call,) = reply.calls
        assert len(call.name) == 128
        with pytest.raises(ToolError) as caught:
            TOOLS.bind(call.name, call.arguments)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("arguments", ['{"' + "x" * 100_000 + '": 1}', "x" * 100_000, "[" * 9_000])
def test_an_argument_error_quotes_only_a_short_part_of_the_arguments(arguments: str) -> None:
    for name in ("read_file", "no" * 50_000):
        with pytest.raises(ToolError) as caught:
            TOOLS.bind(name, arguments)
        assert len(str(caught.value)) < 1_500


def test_an_unknown_tool_is_reported_in_whole_sentences() -> None:
    for name, words in (("nosuch", "'nosuch'. The"), ("greb", "'greb'; did you mean 'grep'? The")):
        with pytest.raises(ToolError) as caught:
            TOOLS.bind(name, "{}")
        assert str(caught.value).startswith(f"there is no tool {words} tools are: read_file, ")


def test_the_search_for_the_end_of_a_call_is_limited() -> None:
    """Each chunk begins an object after an object that could be complete, but never is."""
    reply = ChatReply()
    reply.add(named("write_file", '{"text": "' + "x" * 900_000 + "}"))
    for _ in range(1_000):
        reply.add(named("write_file", "{}"))
    reply.add(named("write_file", '"}') | {"usage": {"prompt_tokens": 9, "completion_tokens": 9}})
    (call,) = reply.whole(ASKED).calls
    assert call.arguments == '{"text": "' + "x" * 900_000 + "}" + "{}" * 1_000 + '"}'


@each_wire
async def test_a_reply_with_hundreds_of_calls_keeps_no_call(wire: WireName) -> None:
    calls = [one for n in range(300) for one in call_events(wire, n, f"c{n}", "r", "{}")]
    reply, _ = await ask(scripted(*calls, *end_events(wire)), dialect=Dialect(wire=wire))
    assert (reply.calls, reply.problem) == ((), "it held over 256 tool calls, which were dropped")


@each_wire
async def test_the_total_size_of_all_arguments_of_a_reply_is_limited(wire: WireName) -> None:
    calls = [call_events(wire, n, f"c{n}", "r", "x" * 900_000) for n in range(3)]
    script = scripted(*(one for call in calls for one in call), *end_events(wire))
    reply, _ = await ask(script, dialect=Dialect(wire=wire))
    assert (reply.calls, reply.problem) == (
        (),
        (
            "the arguments of its tool calls were over 2,000,000 characters, and its tool calls"
            " were dropped"
        ),
    )


BLANKS = ([" "] * 5, [" ", "\n", "<thi", "s"], ["  <", "think>a</think>b"])


@pytest.mark.parametrize("parts", BLANKS)
def test_blanks_before_the_first_word_are_kept_if_no_tag_comes(parts: list[str]) -> None:
    tags = ThinkTags()
    said = [*map(tags.feed, parts), tags.close()]
    thinking, words = ("".join(column) for column in zip(*said, strict=True))
    whole = "".join(parts)
    assert (thinking, words) == (("a", "b") if "<think>" in whole else ("", whole))


ESTIMATE = Usage(input=22, output=1, reported=False)
NUMBERS = [
    (True, True),
    (10**400, 3),
    (10**30, 10**30),
    (40_000, 5),
    (20, 5_000_000),
    (float("inf"), float("nan")),
]


@each_wire
@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
async def test_impossible_numbers_of_tokens_are_replaced_for_each_api(
    wire: WireName, numbers: tuple[Any, Any]
) -> None:
    script = scripted(words_event(wire, "hi"), *end_events(wire, usage=numbers))
    assert (await ask(script, dialect=Dialect(wire=wire)))[0] == Reply("hi", usage=ESTIMATE)


async def test_cached_tokens_above_the_input_tokens_count_as_all_input_tokens() -> None:
    usage = {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 5}
    end = {"type": "response.completed", "response": {"status": "completed", "usage": usage}}
    script = scripted(words_event("responses", "hi"), data(end))
    reply, _ = await ask(script, dialect=Dialect(wire="responses"))
    assert reply.usage == Usage(input=20, cached=20, output=5)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"prompt_tokens": -20, "completion_tokens": 5}, Usage(output=5)),
        ({"prompt_tokens": 20.0, "completion_tokens": 1.5}, Usage(input=20)),
        (
            {"prompt_tokens": 20, "prompt_cache_hit_tokens": 900, "completion_tokens": 5},
            Usage(input=20, cached=20, output=5),
        ),
        (
            {
                "prompt_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 15, "cache_write_tokens": 900},
                "completion_tokens": 5,
            },
            Usage(input=20, cached=15, cache_write=5, output=5),
        ),
        ({"prompt_tokens": 4_000, "completion_tokens": 1_100}, Usage(input=4_000, output=1_100)),
    ],
    ids=str,
)
async def test_impossible_usage_is_replaced_by_an_estimate(
    reported: Mapping[str, Any], usage: Usage
) -> None:
    said = chunk({"content": "hi"}, finish="stop")
    told = {"choices": [], "usage": reported}
    assert (await ask(streamed(said, told)))[0] == Reply("hi", usage=usage)


def test_a_long_reply_that_ignored_its_limit_is_counted_as_reported() -> None:
    reply = ChatReply()
    reply.add(chunk({"content": "some words " * 40_000}, finish="stop"))
    reply.add({"usage": {"prompt_tokens": 20, "completion_tokens": 80_000}})
    assert reply.whole(ASKED).usage == Usage(input=20, output=80_000)


def test_the_token_estimate_of_a_very_long_reply_is_sampled() -> None:
    reply = ChatReply()
    reply.add(chunk({"content": "some words " * 40_000}, finish="stop"))
    assert abs(reply.whole(ASKED).usage.output - 80_000) < 24_000


def response(body: bytes) -> bytes:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


POISON = response(data(chunk({"content": "POISON"}, finish="stop")) + DONE)
FULL_READ = 65_536 - len(response(b"x" * 64_000)) + 64_000  # a body that fills exactly one read


@pytest.mark.parametrize(
    "steps",
    [
        (response(GOOD) + POISON,),
        (HEAD + chunked(GOOD) + END + POISON,),
        (HEAD + chunked(GOOD) + END + b"garbage",),
        (HEAD + chunked(GOOD) + END, 0.02, POISON),
        (response(GOOD)[:-1] + b"\n" + b"\r\n",),
        (response(b":" * (FULL_READ - len(GOOD) - 1) + b"\n" + GOOD) + POISON,),
    ],
    ids=["length", "chunked", "garbage", "later", "one line", "in the next read"],
)
async def test_bytes_after_a_reply_are_never_read_as_the_next_reply(
    steps: tuple[Step, ...],
) -> None:
    async with connected(broken(*steps), SECOND, SECOND) as (provider, endpoint):
        first = await provider.complete(ASKED, lambda _: None)
        await asyncio.sleep(0.03)  # the later bytes have arrived
        second = await provider.complete(ASKED, lambda _: None)
        third = await provider.complete(ASKED, lambda _: None)
        assert [reply.text for reply in (first, second, third)] == ["good", "second", "second"]
        assert endpoint.n_connections == 2


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the TLS contexts of a server at 127.0.0.1 and of a client that trusts it."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out"]
    subprocess.run([*command.split(), *names, str(certificate)], capture_output=True, check=True)
    showing = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    showing.load_cert_chain(certificate, key)
    return showing, ssl.create_default_context(cafile=str(certificate))


@posix_only("openssl")
async def test_a_tls_connection_is_reused_only_if_no_bytes_follow_the_reply(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    showing, trusting = tls
    script = (SECOND, SECOND, broken(response(GOOD) + POISON), SECOND)
    async with (
        FaultEndpoint(script, tls=showing) as endpoint,
        httpx2.AsyncClient(
            verify=trusting, trust_env=False, event_hooks={"response": [keep_only_if_clean]}
        ) as client,
    ):
        found = []
        for _ in script:
            got = await client.post(f"{endpoint.base_url}/x", json={})
            found.append(("second" in got.text, endpoint.n_connections))
    assert found == [(True, 1), (True, 1), (False, 1), (True, 2)]


@pytest.mark.parametrize("place", ["http://other/x/{}", "http://{}.other/", "/v1/{}", "//o/?k={}"])
async def test_a_redirect_shows_no_key_and_no_path(place: str) -> None:
    there = f"Location: {place.format(KEY)}\r\n"
    error = await fail(answer(307, "", headers=there))
    assert type(error) is RequestRejected
    assert KEY not in str(error)


async def test_only_the_beginning_of_a_refusal_is_examined() -> None:
    """An earlier version blocked the loop for 12 s on 64 kB of "model "."""
    for far in ("x " * 2_000 + "no such model", "model " + "x " * 200 + "not found"):
        error = await fail(answer(404, far, kind="text/plain"))
        assert "accepts no requests at this address" in str(error)
    taught = answer(400, "x " * 2_000 + "unknown parameter stream_options", kind="text/plain")
    async with connected(taught, SECOND) as (provider, endpoint):
        assert type(await failure(provider)) is RequestRejected
        assert len(endpoint.bodies) == 1


CUT_CALLS = [(wire, end) for wire in WIRES for end in (RST, END)]


@pytest.mark.parametrize(("wire", "end"), CUT_CALLS)
async def test_a_call_cut_off_by_a_broken_connection_does_not_run(wire: WireName, end: Any) -> None:
    begun = call_events(wire, 0, "a", "bash", '{"command": "touch x"')
    script = broken(HEAD, chunked(b"".join((*begun, end_events(wire)[0]))), 0.02, end)
    async with connected(script, dialect=Dialect(wire=wire)) as (provider, _):
        reply = await provider.complete(ASKED, lambda _: None)
    if end == RST:
        assert reply.calls == ()
        assert (reply.finish, reply.problem) == ("incomplete", "it ended inside a tool call")
    else:  # the endpoint reported a complete call, so the tool reports the error
        assert (len(reply.calls), reply.finish, reply.problem) == (1, "tool_calls", "")


async def test_a_long_call_counts_as_progress() -> None:
    """Arguments cause no events, but a long argument must not look like silence."""

    async def written(wire: WireName) -> str:
        begun, *pieces = call_events(wire, 0, "a", "write_file", "{", *["x"] * 40)
        steps = [step for one in pieces for step in (chunked(one), 0.1)]
        end = chunked(b"".join(end_events(wire)))
        # The whole call takes twice the time limit, and each chunk a twentieth of the limit.
        reply, _ = await ask(
            broken(HEAD, chunked(begun), *steps, end, END),
            dialect=Dialect(wire=wire),
            timeout_s=2.0,
        )
        return reply.calls[0].arguments

    assert await asyncio.gather(*map(written, WIRES)) == ["{" + "x" * 40] * 3
