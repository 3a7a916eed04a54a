"""Cases LLM-25 to LLM-35: malformed tool calls that some endpoints send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.errors import ToolError
from indwell.messages import Reply, ToolCall
from indwell.providers.base import CallStarted, TextDelta, ThinkingDelta
from indwell.providers.client import REPLIES
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from support.asking import ASKED, ask
from support.fault_endpoint import END, HEAD, Script, broken, chunked, data, streamed
from support.loopback_endpoint import chunk
from support.requests import READ, assistant, request, result, use, user
from support.wire_streams import (
    FILTERED,
    WIRES,
    call_events,
    end_events,
    event,
    words_event,
)

TOOLS = standard_tools(Shell(Path("/tmp")))
each_wire = pytest.mark.parametrize("wire", WIRES)


def scripted(*events: bytes) -> Script:
    return broken(HEAD, chunked(b"".join(events)), END)


def piece(arguments: Any = "", *, name: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a chunk with one part of a call."""
    function = {"arguments": arguments} | ({} if name is None else {"name": name})
    return chunk({"tool_calls": [{**fields, "function": function}]})


async def calls(*pieces: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    reply, _ = await ask(streamed(*pieces, chunk({}, finish=finish)))
    return [(call.id, call.name, call.arguments) for call in reply.calls]


async def complaint(arguments: Any) -> str:
    """Return the result of a call of read_file with these arguments."""
    ((_, name, text),) = await calls(piece(arguments, name="read_file", index=0, id="a"))
    with pytest.raises(ToolError) as caught:
        TOOLS.bind(name, text)
    return str(caught.value)


async def test_llm_25_one_index_with_two_ids_is_two_calls() -> None:
    assert await calls(
        piece('{"path":"1"}', name="read_file", index=0, id="a"),
        piece('{"path":"2"}', name="read_file", index=0, id="b"),
    ) == [("a", "read_file", '{"path":"1"}'), ("b", "read_file", '{"path":"2"}')]


@pytest.mark.parametrize("id_", [None, "a", ""])
async def test_llm_26_two_json_objects_in_one_call_are_rejected_and_never_merged(
    id_: str | None,
) -> None:
    fields = {} if id_ is None else {"id": id_}
    found = await calls(
        piece('{"path":"1"}', name="read_file", index=0, **fields),
        piece('{"path":"2"}', index=0, **fields),
    )
    assert [call[1:] for call in found] == [("read_file", '{"path":"1"}{"path":"2"}')]
    assert "are not JSON" in await complaint('{"path":"1"}{"path":"2"}')


@pytest.mark.parametrize(
    "indices", [(None, None), ("0", "1"), (-1, -2), (7, 3), (5, 9), (0.0, 1.0)]
)
async def test_llm_27_calls_are_separated_with_any_index(indices: tuple[Any, Any]) -> None:
    first, second = ({} if index is None else {"index": index} for index in indices)
    found = await calls(
        piece('{"path":', name="read_file", id="a", **first),
        piece('"1"}', **first),
        piece('{"path":', name="glob", id="b", **second),
        piece('"2"}', **second),
    )
    whole = [("a", "read_file", '{"path":"1"}'), ("b", "glob", '{"path":"2"}')]
    assert sorted(found) == whole
    by_index = [one for one in indices if isinstance(one, int) and one >= 0]
    assert found == (whole[::-1] if by_index == [7, 3] else whole)


@each_wire
@pytest.mark.parametrize("id_", [None, "", "x" * 300, "old", 7])
async def test_llm_28_an_unusable_id_is_replaced_by_a_free_id(wire: WireName, id_: Any) -> None:
    asked = request(
        user("go"), assistant(use(id_="old")), user(result("x", id_="old")), tools=(READ,)
    )
    events = [one for n in range(2) for one in call_events(wire, n, id_, "read_file", "{}")]
    script = scripted(*events, *end_events(wire))
    reply, _ = await ask(script, asked=asked, dialect=Dialect(wire=wire))
    assert [call.id for call in reply.calls] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("read_", "file"), "read_file"),
        (("read", "read_file"), "read_file"),
        (("read_file", "read_file"), "read_file"),
        ((None, None), "unnamed"),
        (("READ_FILE", None), "READ_FILE"),
    ],
)
async def test_llm_29_a_call_name_may_come_in_chunks_repeatedly_or_never(
    names: tuple[str | None, str | None], name: str
) -> None:
    first, second = names
    found = await calls(
        piece("", name=first, index=0, id="a"),
        piece("", name=second, index=0),
        piece('{"path":"1"}', index=0),
    )
    assert found == [("a", name, '{"path":"1"}')]
    if name != "read_file":
        with pytest.raises(ToolError, match="read_file"):  # the answer lists the existing tools
            TOOLS.bind(name, "{}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"path": "a', "are not JSON"),
        ("{'path': 'a'}", "are not JSON"),
        ('{"path": "a", "limit": NaN}', "are not JSON"),
        ('{"path": "a", "path": "b"}', "'path' occurs in it twice"),
        ('["a"]', "Expected `object`, got `array`"),
        ("null", "Expected `object`, got `null`"),
        ("read a.py", "are not JSON"),
        ('{"path": 3}', "Expected `str`, got `int`"),
        ('{"path": "a", "colour": "red"}', "unknown field `colour`"),
        ("{}", "missing required field `path`"),
        ('{"path": "a"}{"path": "a"}', "are not JSON"),
    ],
)
async def test_llm_30_31_34_invalid_arguments_are_returned_with_the_error(
    arguments: str, words: str
) -> None:
    said = await complaint(arguments)
    assert words in said


async def test_llm_30_arguments_may_be_an_object_instead_of_its_text() -> None:
    found = await calls(piece({"path": "a"}, name="read_file", index=0, id="a"))
    assert found == [("a", "read_file", '{"path":"a"}')]


@each_wire
async def test_llm_30_arguments_of_five_megabytes_are_dropped(wire: WireName) -> None:
    events = call_events(wire, 0, "a", "write_file", *["x" * 500_000] * 10)
    script = scripted(*events, *end_events(wire))
    reply, _ = await ask(script, dialect=Dialect(wire=wire))
    assert (reply.calls, reply.finish) == ((), "incomplete")
    assert "'write_file' were over 1,000,000 characters" in reply.problem


CUT_SHORT: list[tuple[WireName, str]] = [
    *(("chat", reason) for reason in ("length", "max_tokens", "model_length", "content_filter")),
    *(("responses", reason) for reason in ("max_output_tokens", "content_filter")),
    *(("messages", reason) for reason in ("max_tokens", "model_context_window_exceeded")),
    ("messages", "refusal"),
]


@pytest.mark.parametrize(("wire", "finish"), CUT_SHORT)
async def test_llm_32_an_incomplete_call_is_dropped_and_reported(
    wire: WireName, finish: str
) -> None:
    cut = call_events(wire, 1, "a", "write_file", '{"path": "a')
    script = scripted(words_event(wire, "ok"), *cut, *end_events(wire, finish))
    reply, _ = await ask(script, dialect=Dialect(wire=wire))
    assert (reply.text, reply.calls) == ("ok", ())
    assert reply.problem.endswith("inside a tool call, which was dropped: write_file")


async def test_llm_33_finish_reason_tool_calls_without_calls_counts_as_a_normal_end() -> None:
    reply, _ = await ask(streamed(chunk({"content": "ok"}, finish="tool_calls")))
    assert (reply.text, reply.calls, reply.finish) == ("ok", (), "stop")


async def test_llm_33_calls_with_finish_reason_stop_are_kept() -> None:
    whole = piece("{}", name="read_file", index=0, id="a")
    assert await calls(whole, finish="stop") == [("a", "read_file", "{}")]


@each_wire
async def test_llm_33_a_filtered_reply_has_finish_filtered(wire: WireName) -> None:
    script = scripted(words_event(wire, "no"), *end_events(wire, FILTERED[wire]))
    reply, _ = await ask(script, dialect=Dialect(wire=wire))
    assert (reply.text, reply.finish) == ("no", "filtered")


async def test_llm_33_the_old_function_call_field_is_a_call() -> None:
    reply, told = await ask(
        streamed(
            chunk({"function_call": {"name": "read_file", "arguments": '{"path":'}}),
            chunk({"function_call": {"arguments": '"a"}'}}),
            chunk({}, finish="function_call"),
        )
    )
    assert reply.calls == (ToolCall("call_0", "read_file", '{"path":"a"}'),)
    assert told == [CallStarted("read_file")]


INTERLEAVED = st.lists(st.lists(st.text('ab "é😀', max_size=4), max_size=3), max_size=4)


@settings(max_examples=60)
@given(
    wire=st.sampled_from(WIRES),
    texts=INTERLEAVED,
    thoughts=st.sets(st.integers(0, 8), max_size=3),
    data=st.data(),
)
def test_llm_34_calls_run_in_index_order_regardless_of_the_order_of_chunks(
    wire: WireName, texts: list[list[str]], thoughts: set[int], data: st.DataObject
) -> None:
    """Calls run in order even if a later call begins first; reasoning keeps its position."""
    arguments = [json.dumps({"p": "".join(one)}) for one in texts]
    places = [2 * n + 1 for n in range(len(arguments))]  # thoughts have the even positions
    queues = []
    for n, (place, text) in enumerate(zip(places, arguments, strict=True)):
        at = data.draw(st.integers(0, len(text)))
        pieces = [piece for piece in (text[:at], text[at:]) if piece]
        queues.append(call_events(wire, place, f"c{n}", f"tool{n}", *pieces))
    sealed = sorted({thought - thought % 2 for thought in thoughts}) if wire != "chat" else []
    queues += [sealed_events(wire, place) for place in sealed]
    reply = REPLIES[wire](Dialect(wire=wire))
    while left := [queue for queue in queues if queue]:
        reply.add(json.loads(data.draw(st.sampled_from(left)).pop(0).split(b"data: ")[1]))
    whole = reply.whole(ASKED)
    assert [(call.name, call.arguments) for call in whole.calls] == [
        (f"tool{n}", text) for n, text in enumerate(arguments)
    ]
    # No call follows a thought after all calls.
    n_before = [sum(place < one for place in places) for one in sealed]
    kept = [0 if not n else n + 1 for n in n_before if n < max(1, len(places))]
    assert [one.place for one in whole.reasoning] == kept


def sealed_events(wire: WireName, place: int) -> list[bytes]:
    """Return the events of a reasoning block that must be sent back."""
    if wire == "responses":
        item = {"type": "reasoning", "id": f"r{place}", "summary": [], "encrypted_content": "s"}
        return [event({"type": "response.output_item.done", "output_index": place, "item": item})]
    block = {"type": "thinking", "thinking": "", "signature": "s"}
    return [
        event({"type": "content_block_start", "index": place, "content_block": block}),
        event({"type": "content_block_stop", "index": place}),
    ]


async def test_llm_34_chunks_out_of_order_only_cause_a_json_error() -> None:
    ((_, name, text),) = await calls(
        piece('"a"}', name="read_file", index=0, id="a"), piece('{"path":', index=0)
    )
    assert text == '"a"}{"path":'
    with pytest.raises(ToolError):
        TOOLS.bind(name, text)


async def test_llm_35_text_after_calls_stays_text() -> None:
    reply, told = await ask(
        streamed(
            piece("{}", name="read_file", index=0, id="a"),
            chunk({"content": "after"}),
            chunk({}, finish="tool_calls"),
        )
    )
    assert (reply.text, len(reply.calls)) == ("after", 1)
    assert told == [CallStarted("read_file"), TextDelta("after")]


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm", "content": None},
        {"reasoning": {"text": "hm"}},
        {"reasoning_content": {"content": [{"text": "hm"}]}},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"thinking": "hm"},
    ],
)
async def test_llm_35_reasoning_in_every_form_is_separated(delta: dict[str, Any]) -> None:
    reply, told = await ask(streamed(chunk(delta), chunk({"content": "ok"}, finish="stop")))
    assert (reply.thinking, reply.text) == ("hm", "ok")
    assert told[0] == ThinkingDelta("hm")


async def test_llm_35_think_tags_count_as_reasoning_only_if_the_dialect_allows() -> None:
    parts = [chunk({"content": part}) for part in ("<th", "ink>\nh", "m</thi", "nk>\n\nok <think>")]
    stream = streamed(*parts, chunk({}, finish="stop"))
    tagged, told = await ask(stream, dialect=Dialect(think_tags=True))
    assert (tagged.thinking, tagged.text) == ("hm", "ok <think>")
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == "ok <think>"
    plain, _ = await ask(stream, dialect=Dialect())
    assert (plain.thinking, plain.text[:7]) == ("", "<think>")


async def test_llm_35_half_a_think_tag_at_the_end_is_text() -> None:
    half = streamed(chunk({"content": "<thi"}, finish="stop"))
    assert (await ask(half, dialect=Dialect(think_tags=True)))[0].text == "<thi"


async def test_llm_35_a_stream_with_one_whole_message_is_read_once() -> None:
    message = {"role": "assistant", "content": "hello", "tool_calls": []}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert (await ask(streamed(whole)))[0].text == "hello"
    repeated = streamed(chunk({"content": "hello"}), data(whole))
    reply: Reply = (await ask(repeated))[0]
    assert reply.text == "hello"
