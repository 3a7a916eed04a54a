from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import Reply, ToolCall, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.wires.chat import ChatReply
from indwell.providers.wires.reply import REPEATED, period
from support.loopback_endpoint import chunk
from support.requests import request, user

ASKED = request(user("hello there"))
SPENT = {"prompt_tokens": 10, "completion_tokens": 2}


def grow(*chunks: Mapping[str, Any]) -> tuple[ChatReply, list[StreamEvent]]:
    reply = ChatReply()
    return reply, [event for each in chunks for event in reply.add(each)]


def spent(usage: Any) -> Mapping[str, Any]:
    return {"choices": [], "usage": usage}


def call(arguments: str) -> Mapping[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "a", "function": function}]})


def test_text_reasoning_and_calls_are_reported_as_received() -> None:
    reply, told = grow(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "I "}),
        chunk({"content": "read"}),
        call("{}"),
        chunk({}, finish="tool_calls"),
        spent(SPENT),
    )
    assert told == [ThinkingDelta("hm"), TextDelta("I "), TextDelta("read"), CallStarted("read")]
    assert reply.whole(ASKED) == Reply(
        text="I read",
        calls=(ToolCall("a", "read", "{}"),),
        thinking="hm",
        finish="tool_calls",
        usage=Usage(input=10, output=2),
    )


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_from_either_of_two_fields(field: str) -> None:
    assert grow(chunk({field: "hm"}))[1] == [ThinkingDelta("hm")]


def test_reasoning_under_both_names_is_reported_once() -> None:
    assert grow(chunk({"reasoning": "hm", "reasoning_content": "hm"}))[1] == [ThinkingDelta("hm")]


def test_the_text_of_content_in_parts_is_joined() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "done"}]
    assert grow(chunk({"content": parts}))[1] == [TextDelta("done")]


def test_a_character_split_between_two_chunks_is_joined() -> None:
    halves = grow(chunk({"content": "a\ud83d"}), chunk({"content": "\ude00b"}))
    assert halves[1] == [TextDelta("a"), TextDelta("😀b")]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filtered"), ("eos", "stop")],
)
def test_the_finish_reason_says_why_the_reply_ended(reason: str, finish: str) -> None:
    assert grow(chunk({"content": "x"}, finish=reason))[0].whole(ASKED).finish == finish


# Ollama sends the finish reason "stop" with calls.
def test_calls_in_a_reply_with_finish_reason_stop_are_kept() -> None:
    whole = grow(call("{}"), chunk({}, finish="stop"), spent(SPENT))[0].whole(ASKED)
    calls = (ToolCall("a", "read", "{}"),)
    assert whole == Reply("", calls, finish="tool_calls", usage=Usage(input=10, output=2))


@pytest.mark.parametrize(
    ("reason", "finish", "why"),
    [("length", "length", "reached its limit"), ("content_filter", "filtered", "was filtered")],
)
def test_calls_of_a_cut_reply_are_dropped_and_named(reason: str, finish: Any, why: str) -> None:
    whole = grow(call('{"p":'), chunk({}, finish=reason), spent(SPENT))[0].whole(ASKED)
    problem = f"the reply {why} inside a tool call, which was dropped: read"
    assert whole == Reply("", finish=finish, usage=Usage(input=10, output=2), problem=problem)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 10},
            },
            Usage(input=100, cached=80, cache_write=10, output=5),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64},
            Usage(input=100, cached=64, output=5),
        ),
        (
            {"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(input=7),
        ),
        (
            {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": None}},
            Usage(input=7),
        ),
        ({"prompt_tokens": -3, "completion_tokens": 5}, Usage(output=5)),
    ],
)
def test_invalid_numbers_in_the_usage_count_as_0(reported: Mapping[str, Any], usage: Usage) -> None:
    assert grow(spent(reported))[0].whole(ASKED).usage == usage


def test_the_token_estimate_of_the_request_is_used_without_a_report() -> None:
    asked = msgspec.structs.replace(ASKED, tokens=16_000)
    assert grow(chunk({"content": ""}))[0].whole(asked).usage == Usage(16_000, reported=False)


@pytest.mark.parametrize("reported", [None, {}, {"prompt_tokens": None, "completion_tokens": 0}])
def test_unreported_usage_is_estimated_and_marked_as_unreported(reported: Any) -> None:
    usage = grow(chunk({"content": "four words are here"}), spent(reported))[0].whole(ASKED).usage
    words = estimate_tokens("four words are here")
    assert usage == Usage(input=request_tokens(ASKED), output=words, reported=False)


def test_if_every_chunk_reports_usage_the_last_report_counts() -> None:
    grown = grow(spent({"prompt_tokens": 10}), spent(SPENT), spent(None))[0]
    assert grown.whole(ASKED).usage == Usage(input=10, output=2)


def test_a_broken_reply_keeps_its_text_and_drops_its_calls() -> None:
    reply, _ = grow(chunk({"content": "I read"}), call('{"p":'), spent(SPENT))
    assert reply.cut_off(ASKED, "it broke") == Reply(
        "I read", finish="incomplete", usage=Usage(input=10, output=2), problem="it broke"
    )


@pytest.mark.parametrize(
    ("chunks", "keeps"),
    [
        ([], False),
        ([chunk({"reasoning": "hm"})], False),
        ([chunk({"content": "x"})], True),
        ([call("")], True),
    ],
)
def test_a_broken_reply_can_be_kept_only_with_text_or_a_begun_call(
    chunks: list[Mapping[str, Any]], *, keeps: bool
) -> None:
    assert grow(*chunks)[0].can_be_kept is keeps


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": None},
        {"choices": {}},
        {"choices": [None, 3]},
        {"choices": [{"delta": None, "finish_reason": 7}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"delta": {"content": 5, "reasoning": [], "tool_calls": "x"}}]},
    ],
)
def test_malformed_chunks_are_ignored(odd: Mapping[str, Any]) -> None:
    reply, told = grow(odd, chunk({"content": "fine"}))
    assert (told, reply.reason) == ([TextDelta("fine")], "")


LINE = "The total is wrong because the tax is added twice. "


@pytest.mark.parametrize(("begin", "most"), [("", 5), ("I look at the total first.", 3)])
@pytest.mark.parametrize("unit", [LINE, "\n", "0, ", LINE * 19 + "So I look again.\n"])
def test_an_endlessly_repeating_text_is_cut_off(unit: str, begin: str, most: int) -> None:
    reply = ChatReply()
    reply.add(chunk({"content": begin}))
    said = 0
    while not reply.excess and said < 100_000:
        reply.add(chunk({"content": unit}))
        said += len(unit)
    assert (reply.excess, said <= most * REPEATED) == ("repeats itself without end", True)


@pytest.mark.parametrize("lines", [
    [f"| {number} | {number * 7 % 13} | yes |\n" for number in range(2_000)],
    [f"{'=' * 70}\nTest {number}\n" for number in range(800)],
    [LINE] * 100 + ["And then it ends."] + [LINE] * 50,
])  # fmt: skip
def test_a_long_table_does_not_count_as_repetition(lines: list[str]) -> None:
    reply = ChatReply()
    for line in lines:
        reply.add(chunk({"content": line}))
    assert reply.excess == ""


@given(st.text(min_size=1, max_size=900), st.integers(0, 900))
def test_the_length_of_the_repeated_text_is_found(unit: str, start: int) -> None:
    text = (unit * (REPEATED // len(unit) + 3))[start : start + REPEATED]
    found = period(text)
    assert found
    assert text[found:] == text[:-found]
