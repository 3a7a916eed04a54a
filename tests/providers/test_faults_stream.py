"""Cases LLM-09 to LLM-24, LLM-38, LLM-41: the stream is broken, endless, slow or missing.

The meaning of an event depends on the API, so these cases are tried with each API. Faults in bytes
do not depend on the API, so each of these cases uses one of the APIs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from itertools import cycle

import pytest

from indwell.errors import (
    BadReply,
    ProviderError,
    RateLimited,
    RequestRejected,
    TooSlow,
    Unreachable,
)
from indwell.messages import Reply, Usage
from indwell.providers.base import TextDelta
from indwell.providers.http.guard import TooLong
from indwell.providers.retry import Retrying
from indwell.providers.wires.dialect import Dialect, WireName
from support.asking import ASKED, ask, connected, fail, failure
from support.fault_endpoint import (
    DONE,
    END,
    FIN,
    HANG,
    HEAD,
    RST,
    FaultEndpoint,
    answer,
    bomb,
    broken,
    chunked,
    data,
    streamed,
)
from support.loopback_endpoint import chunk
from support.platforms import posix_only
from support.wire_streams import (
    EMPTY,
    WIRES,
    call_events,
    end_events,
    error_event,
    words_event,
)

if sys.platform != "win32":
    import resource

HALF = {wire: chunked(words_event(wire, "half")) for wire in WIRES}
CALL = {"index": 0, "id": "a", "function": {"name": "read_file", "arguments": '{"path": "a'}}
SPENT = {"prompt_tokens": 10, "completion_tokens": 2}


def memory_mb() -> float:
    """Return the peak memory of this process in MB; the system counts bytes on macOS, else KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_000_000 if sys.platform == "darwin" else 1_000)


each_wire = pytest.mark.parametrize("wire", WIRES)


def in_turn(name: str, values: Iterable[object]) -> pytest.MarkDecorator:
    """Return a parametrization in which each value has the next of the APIs."""
    return pytest.mark.parametrize(("wire", name), [*zip(cycle(WIRES), values)])


def whole_end(wire: WireName, finish: str = "") -> bytes:
    return b"".join(end_events(wire, finish, (10, 2)))


async def broken_reply(
    wire: WireName, *steps: object, timeout_s: float = 5.0
) -> tuple[str, str, str]:
    """Return text, finish reason and problem of the kept part of a reply."""
    # On a busy machine the reply may begin late, and only its pauses are tested here.
    settings = {"timeout_s": timeout_s, "first_s": 60.0, "dialect": Dialect(wire=wire)}
    async with connected(broken(*steps), **settings) as (provider, endpoint):  # type: ignore[arg-type]
        reply = await provider.complete(ASKED, lambda _: None)
        assert reply.calls == ()
        return reply.text, reply.finish, reply.problem.replace(endpoint.base_url, "ADDRESS")


# A reset on Windows discards what the client's system has received and the client has not read.
UNREAD_S = 0.02 if sys.platform == "win32" else 0.0

LOST = ("half", "incomplete", "the connection to ADDRESS was lost in the middle of the reply")


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ('{"error": {"message": "slow", "code": 429}}', RateLimited, "slow"),
        ('{"error": "no such route"}', BadReply, "no such route"),
        ('{"detail": "what?"}', BadReply, "what?"),
        ("{", BadReply, "application/json instead of a stream"),
        ("[]", BadReply, "application/json instead of a stream"),
    ],
)
async def test_llm_09_a_json_body_instead_of_a_stream_is_an_error(
    body: str, kind: type[ProviderError], part: str
) -> None:
    error = await fail(answer(200, body))
    assert type(error) is kind
    assert part in str(error)


async def test_llm_09_a_whole_completion_instead_of_a_stream_is_a_reply() -> None:
    message = {"role": "assistant", "content": "hello"}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": SPENT}
    assert await ask(answer(200, json.dumps(whole))) == (
        Reply("hello", usage=Usage(input=10, output=2)),
        [TextDelta("hello")],
    )


@each_wire
async def test_llm_10_an_error_in_the_stream_keeps_the_text_received_before(wire: WireName) -> None:
    error = chunked(error_event(wire, "upstream gone"))
    status = 502 if wire == "chat" else 500
    assert await broken_reply(wire, HEAD, HALF[wire], error, END) == (
        "half",
        "incomplete",
        f"ADDRESS failed with status {status}: upstream gone",
    )


async def test_llm_10_an_event_named_error_counts_as_an_error_with_any_content() -> None:
    event = b'event: error\ndata: {"message": "upstream gone", "code": 502}\n\n'
    assert await broken_reply("chat", HEAD, HALF["chat"], chunked(event), END) == (
        "half",
        "incomplete",
        "ADDRESS failed with status 502: upstream gone",
    )


@each_wire
@pytest.mark.parametrize("end", [RST, FIN])
@pytest.mark.parametrize("cut", [b"", b"2", b"40\r\ndata: {", b"4\r\nda"])
async def test_llm_11_12_a_connection_that_breaks_midway_gives_an_incomplete_reply(
    wire: WireName, end: str, cut: bytes
) -> None:
    assert await broken_reply(wire, HEAD, HALF[wire], cut, 0.02, end) == LOST


async def test_llm_11_a_connection_that_breaks_before_any_data_is_unreachable() -> None:
    for steps in ((RST,), (FIN,), (HEAD[:20], RST), (HEAD, FIN)):
        error = await fail(broken(*steps))
        assert type(error) is Unreachable


@each_wire
async def test_llm_13_a_stream_closed_without_an_end_signal_is_a_broken_reply(
    wire: WireName,
) -> None:
    found = await broken_reply(wire, HEAD, HALF[wire], END)
    assert found == ("half", "incomplete", "ADDRESS ended the reply too early")


@each_wire
async def test_llm_13_calls_of_a_reply_without_an_end_are_dropped(wire: WireName) -> None:
    begun = chunked(b"".join(call_events(wire, 1, "a", "read_file", '{"path": "a')))
    found = await broken_reply(wire, HEAD, HALF[wire], begun, END)
    assert found[:2] == ("half", "incomplete")
    if wire == "chat":
        found = await broken_reply(wire, HEAD, HALF[wire], begun, chunked(DONE), END)
        assert found[:2] == ("half", "incomplete")


@pytest.mark.parametrize("reason", [None, ""])
async def test_llm_13_a_complete_call_with_done_needs_no_finish_reason(reason: str | None) -> None:
    whole = {**CALL, "function": {"name": "read_file", "arguments": "{}"}}
    reply, _ = await ask(streamed(chunk({"tool_calls": [whole]}, finish=reason)))
    assert [call.name for call in reply.calls] == ["read_file"]


@each_wire
async def test_llm_14_a_reply_that_was_complete_before_the_connection_broke_is_kept(
    wire: WireName,
) -> None:
    said = HALF[wire] + chunked(end_events(wire)[0])
    assert await broken_reply(wire, HEAD, said, UNREAD_S, RST) == ("half", "stop", "")


@each_wire
async def test_llm_15_silence_after_the_first_word_times_out(wire: WireName) -> None:
    silent = ("half", "incomplete", "ADDRESS sent nothing for 0.2 s")
    assert await broken_reply(wire, HEAD, HALF[wire], HANG, timeout_s=0.2) == silent


@in_turn("noise", [b": ping\n\n", b"event: ping\n\n", b"data:\n\n", b"\n", b": x"])
async def test_llm_16_bytes_without_events_do_not_count_as_progress(
    wire: WireName, noise: bytes
) -> None:
    pings = [step for _ in range(50) for step in (chunked(noise), 0.02)]
    found = await broken_reply(wire, HEAD, HALF[wire], *pings, timeout_s=0.3)
    assert found == ("half", "incomplete", "ADDRESS sent nothing for 0.3 s")


@each_wire
async def test_llm_16_empty_events_count_as_progress_only_for_a_limited_time(
    wire: WireName,
) -> None:
    pings = [step for _ in range(200) for step in (chunked(EMPTY[wire]), 0.02)]
    found = await broken_reply(wire, HEAD, HALF[wire], *pings, timeout_s=0.2)
    assert found == ("half", "incomplete", "ADDRESS sent nothing for 0.2 s")


async def test_llm_17_incomplete_events_sent_byte_by_byte_do_not_count_as_progress() -> None:
    drip = [step for letter in b"data: " + b"{" * 94 for step in (chunked(bytes([letter])), 0.02)]
    found = await broken_reply("chat", HEAD, HALF["chat"], *drip, timeout_s=0.3)
    assert found[2].endswith("nothing for 0.3 s")
    slow_head = [step for letter in HEAD for step in (bytes([letter]), 0.02)]
    error = await fail(broken(*slow_head), timeout_s=0.3)
    assert type(error) is TooSlow


NO_REPETITION = "".join(f"{number:6}" for number in range(10_000))
PADDED = {**chunk({"content": "x"}), "padding": "y" * 60_000}
CUT_OFF = [
    *((wire, words_event(wire, NO_REPETITION), 2_000_000) for wire in WIRES),
    ("chat", data(PADDED), 532),
]


@pytest.mark.parametrize(("wire", "event", "n_kept"), CUT_OFF, ids=[*WIRES, "frames"])
async def test_llm_19_an_endless_stream_is_cut_off_and_not_retried(
    wire: WireName, event: bytes, n_kept: int
) -> None:
    why = "is over 32 MB" if n_kept < 1_000 else "is over 2,000,000 characters"
    endless = broken(HEAD, forever=chunked(event))
    async with connected(endless, endless, dialect=Dialect(wire=wire)) as (provider, endpoint):
        reply = await Retrying(provider).complete(ASKED, lambda _: None)
        problem = f"the reply from {endpoint.base_url} {why} and was cut off there"
        assert (reply.finish, reply.problem) == ("endless", problem)
        assert abs(len(reply.text) - n_kept) <= 1
        await asyncio.wait_for(endpoint.gone.wait(), 60)
        assert len(endpoint.bodies) == 1


@each_wire
async def test_llm_19_endless_reasoning_is_cut_off_with_a_message(wire: WireName) -> None:
    thoughts = chunked(words_event(wire, NO_REPETITION, reasoning=True))
    error = await fail(broken(HEAD, forever=thoughts), dialect=Dialect(wire=wire))
    why = "the reply from ADDRESS is over 2,000,000 characters and was cut off there"
    assert (type(error), str(error)) == (TooLong, why)


LONG = "x" * 3_000_000
WHOLE: Mapping[WireName, Mapping[str, object]] = {
    "chat": {"choices": [{"message": {"content": LONG}, "finish_reason": "stop"}]},
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": LONG}]}],
    },
    "messages": {"type": "message", "content": [{"type": "text", "text": LONG}]},
}


@each_wire
async def test_llm_19_a_too_long_reply_without_streaming_is_cut_off(wire: WireName) -> None:
    script = answer(200, json.dumps(WHOLE[wire]))
    async with connected(script, dialect=Dialect(wire=wire)) as (provider, _):
        reply = await provider.complete(ASKED, lambda _: None)
        assert (len(reply.text), reply.finish) == (2_000_000, "endless")
        assert reply.problem.endswith("is over 2,000,000 characters and was cut off there")


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 60_000, b"x" * 60_000, b"data: x\n" * 8_000])
async def test_llm_20_an_endless_line_or_event_is_cut_off(piece: bytes) -> None:
    error = await fail(broken(HEAD, forever=chunked(piece)))
    assert (type(error), str(error)) == (
        BadReply,
        "ADDRESS sent an event of over 2,000,000 bytes, which no reply has",
    )


@posix_only("kernel")
@pytest.mark.parametrize("status", [200, 500])
async def test_llm_20_a_compression_bomb_is_cut_off(status: int) -> None:
    packed = bomb(150_000_000)
    head = f"HTTP/1.1 {status} X\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    length = f"Content-Length: {len(packed)}\r\n\r\n"
    before = memory_mb()
    error = await fail(broken((head + length).encode() + packed))
    assert isinstance(error, ProviderError)
    assert memory_mb() - before < 60


@in_turn("garbage", [b"not json", b"{not json", b'{"a": \xff}', b"[" * 20_000])
async def test_llm_21_22_invalid_event_data_is_an_error_and_keeps_the_received_text(
    wire: WireName, garbage: bytes
) -> None:
    event = b"data: " + garbage + b"\n\n"
    error = await fail(broken(HEAD, chunked(event), END), dialect=Dialect(wire=wire))
    assert type(error) is BadReply
    assert "sent data that is not a reply" in str(error)
    found = await broken_reply(wire, HEAD, HALF[wire], chunked(event), END)
    assert found[:2] == ("half", "incomplete")


@in_turn("size", [1, 2, 3, 7])
async def test_llm_23_every_cut_and_line_ending_gives_the_same_reply(
    wire: WireName, size: int
) -> None:
    body = b"\xef\xbb\xbf: hi\r\n" + words_event(wire, "é😀").replace(b"\n", b"\r\n")
    body += whole_end(wire).replace(b"\n", b"\r", 2)
    pieces = [chunked(body[n : n + size]) for n in range(0, len(body), size)]
    reply, _ = await ask(broken(HEAD, *pieces, END), dialect=Dialect(wire=wire))
    assert (reply.text, reply.finish) == ("é😀", "stop")


async def test_llm_24_empty_and_invalid_chunks_are_skipped_and_the_last_usage_is_used() -> None:
    reply, told = await ask(
        streamed(
            {"choices": []},
            {},
            {"choices": [{"delta": None}]},
            {"choices": [], "usage": {"prompt_tokens": 1}},
            chunk({"content": "hello"}),
            {"choices": [], "usage": SPENT},
            {"choices": [], "usage": None},
            chunk({}, finish="stop"),
        )
    )
    assert reply == Reply("hello", usage=Usage(input=10, output=2))
    assert told == [TextDelta("hello")]


@each_wire
async def test_llm_24_a_reply_without_usage_gets_an_estimate_marked_as_unreported(
    wire: WireName,
) -> None:
    stream = chunked(words_event(wire, "hello") + b"".join(end_events(wire)))
    reply, _ = await ask(broken(HEAD, stream, END), dialect=Dialect(wire=wire))
    assert (reply.usage.reported, reply.usage.output > 0) == (False, True)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_llm_38_no_redirect_sends_the_prompt_elsewhere(status: int) -> None:
    async with FaultEndpoint([streamed(chunk({"content": "stolen"}, finish="stop"))]) as other:
        elsewhere = f"Location: {other.base_url}/chat/completions\r\n"
        error = await fail(answer(status, "", headers=elsewhere))
        assert (type(error), other.bodies) == (RequestRejected, [])


async def test_llm_38_no_redirect_is_followed_even_to_the_same_address() -> None:
    here = answer(307, "", headers="Location: /v2/chat/completions\r\n")
    async with connected(here) as (provider, endpoint):
        assert type(await failure(provider)) is RequestRejected
        assert len(endpoint.bodies) == 1


async def test_llm_41_a_changed_model_name_or_fingerprint_midway_is_ignored() -> None:
    first = chunk({"content": "a"}) | {"model": "x", "system_fingerprint": "1"}
    second = chunk({"content": "b"}, finish="stop") | {"model": "y", "system_fingerprint": "2"}
    assert (await ask(streamed(first, second)))[0].text == "ab"


@each_wire
async def test_a_reply_with_a_finish_reason_does_not_wait_for_the_connection_to_close(
    wire: WireName,
) -> None:
    lingering = broken(HEAD, HALF[wire] + chunked(whole_end(wire)), HANG)
    reply, _ = await asyncio.wait_for(ask(lingering, dialect=Dialect(wire=wire)), 60)
    assert (reply.text, reply.finish) == ("half", "stop")
