"""The three APIs give the same reply, also after faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indwell.context.conversation import (
    Config,
    Conversation,
    tool_result,
    with_input,
    with_reply,
    with_results,
)
from indwell.context.pairing import tool_uses
from indwell.errors import ProviderError, RateLimited, ServerFault
from indwell.messages import Anchors, Effort, Image, Reply, Thinking, ToolCall, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.wires import messages as anthropic
from indwell.providers.wires.dialect import Dialect, WireName
from support.asking import ASKED, KEY, ask, connected, fail
from support.chat_bodies import chat_body
from support.fault_endpoint import END, FIN, HANG, HEAD, RST, answer, broken, chunked, refusal
from support.requests import READ, assistant, meta, request, result, use, user
from support.wire_streams import (
    CACHED,
    INPUT,
    LIMITS,
    OUTPUT,
    STREAMS,
    WIRES,
    WRITTEN,
    Called,
    Part,
    Said,
    Thought,
    error_event,
)

PARTS: tuple[Part, ...] = (
    Thought(("Look at", " é the file 🎉."), "seal=="),
    Said(("I re", "ad ", "it.")),
    Called("call_a", "read_file", ('{"pa', 'th": "a.py"}')),
    Thought(("And the other.",), "seal2"),
    Called("call_b", "glob", ('{"pattern": "*"}',)),
)
SPENT = Usage(input=INPUT, cached=CACHED, cache_write=WRITTEN, output=OUTPUT)
CALLS = (
    ToolCall("call_a", "read_file", '{"path": "a.py"}'),
    ToolCall("call_b", "glob", '{"pattern": "*"}'),
)
each_wire = pytest.mark.parametrize("wire", WIRES)


def played(*steps: bytes | float | str, whole: bool = True) -> Any:
    chunks = (chunked(one) if isinstance(one, bytes) else one for one in steps)
    return broken(HEAD, *chunks, *((END,) if whole else ()))  # type: ignore[arg-type]


async def asked(wire: WireName, *steps: bytes, **settings: Any) -> tuple[Reply, list[StreamEvent]]:
    return await ask(played(*steps), dialect=Dialect(wire=wire), **settings)


@each_wire
async def test_a_reply_is_the_same_through_each_api(wire: WireName) -> None:
    reply, told = await asked(wire, *STREAMS[wire](PARTS, ""))
    assert (reply.text, reply.calls, reply.finish) == ("I read it.", CALLS, "tool_calls")
    assert reply.thinking == "Look at é the file 🎉.And the other."
    assert msgspec.structs.replace(reply.usage, thinking=0) == SPENT
    assert bool(reply.usage.thinking) == (wire == "responses")  # only this API counts thinking
    texts = [one.text for one in told if isinstance(one, TextDelta)]
    assert "".join(texts) == "I read it."
    assert [one.name for one in told if isinstance(one, CallStarted)] == ["read_file", "glob"]
    assert isinstance(told[0], ThinkingDelta)
    places = [one.place for one in reply.reasoning]
    assert places == ([] if wire == "chat" else [0, 2])


@each_wire
async def test_a_reply_at_its_limit_has_no_calls(wire: WireName) -> None:
    reply, _ = await asked(wire, *STREAMS[wire](PARTS, LIMITS[wire]))
    assert (reply.finish, reply.calls) == ("length", ())
    assert "reached its limit inside a tool call" in reply.problem
    assert [one.place for one in reply.reasoning] == ([] if wire == "chat" else [0])


@each_wire
async def test_any_split_of_a_streams_bytes_gives_the_same_reply(wire: WireName) -> None:
    stream = b"".join(STREAMS[wire](PARTS, ""))
    whole, _ = await asked(wire, stream)
    for size in (1, 2, 3, 7, 64, 1_000):
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        reply, _ = await asked(wire, b"".join(pieces[:1]), *pieces[1:])
        assert reply == whole


@each_wire
async def test_a_stream_cut_anywhere_runs_no_call(wire: WireName) -> None:
    events = STREAMS[wire](PARTS, "")
    for n_events in range(len(events)):
        script = played(*events[:n_events], FIN, whole=False)
        async with connected(script, dialect=Dialect(wire=wire)) as (provider, _):
            try:
                reply = await provider.complete(ASKED, lambda _: None)
            except ProviderError:
                continue  # there was no part that could be kept
            said_all = n_events >= len(events) - (2 if wire == "chat" else 1)
            assert reply.calls == () or (said_all and reply.calls == CALLS)
            assert reply.calls or reply.finish == "incomplete"


WORDS = st.lists(st.sampled_from(["I ", "read", " é🎉", "\n", "<think>"]), min_size=1, max_size=3)
ARGUMENTS = st.sampled_from([("{}",), ('{"path"', ': "é🎉"}'), ('{"a": [', "1, 2", "]}"), ()])
SOME_PARTS = st.lists(
    st.one_of(
        st.builds(Said, WORDS.map(tuple)),
        st.builds(Thought, WORDS.map(tuple), st.just("seal==")),
        st.builds(Called, st.just(""), st.sampled_from(["read_file", "glob"]), ARGUMENTS),
    ),
    min_size=1,
    max_size=4,
).map(
    lambda parts: tuple(
        one._replace(id=f"c{n}") if isinstance(one, Called) else one for n, one in enumerate(parts)
    )
)
FAULTS = ("none", "cut", "odd", "garbage", "twice", "swapped", "lost", "error")


def faulty(wire: WireName, events: list[bytes], fault: str, data: st.DataObject) -> list[bytes]:
    """Return the events of a stream, with one fault inserted."""
    at = data.draw(st.integers(0, len(events) - (1 if wire != "chat" else 2)))
    match fault:
        case "odd":
            value = json.loads(events[at].split(b"data: ")[1])
            odd = [None, 7, -1, "x", [], {}, [[]], [{}], True, 1.5, "\ud800"]
            holder, name = data.draw(st.sampled_from(_places(value)))
            holder[name] = data.draw(st.sampled_from(odd))
            events[at] = f"data: {json.dumps(value)}\n\n".encode()
        case "garbage":
            events.insert(at, data.draw(st.sampled_from([b"data: {\n\n", b"data: 7\n\n"])))
        case "twice":
            events.insert(at, events[at])
        case "swapped":
            events[at], events[-1] = events[-1], events[at]
        case "lost":
            del events[at]
        case "error":
            events.insert(at, error_event(wire, "gone"))
        case _:
            pass
    return events


@settings(
    max_examples=min(60, settings().max_examples),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    wire=st.sampled_from(WIRES),
    parts=SOME_PARTS,
    fault=st.sampled_from(FAULTS),
    end=st.sampled_from([FIN, RST, END]),
    data=st.data(),
)
def test_a_broken_stream_invents_no_call_and_the_next_reply_is_complete(
    wire: WireName, parts: tuple[Part, ...], fault: str, end: Any, data: st.DataObject
) -> None:
    events = faulty(wire, STREAMS[wire](parts, ""), fault, data)
    stream = b"".join(events)
    if fault == "cut":
        stream = stream[: data.draw(st.integers(0, len(stream)))]
    size = data.draw(st.sampled_from([1, 3, 50, 1_000, 100_000]))
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    first = played(*pieces, *((end,) if fault == "cut" and end != END else ()), whole=end == END)
    second = played(*STREAMS[wire](PARTS, ""))

    async def run() -> tuple[Reply | ProviderError, Reply]:
        async with connected(first, second, dialect=Dialect(wire=wire)) as (provider, _):
            try:
                found: Reply | ProviderError = await provider.complete(ASKED, lambda _: None)
            except ProviderError as error:
                found = error
            return found, await provider.complete(ASKED, lambda _: None)

    found, after = asyncio.run(run())
    assert (after.text, after.calls) == ("I read it.", CALLS)
    if not isinstance(found, Reply) or fault in {"odd", "swapped", "lost", "twice"}:
        return  # the result is a different reply, or one of Indwell's errors
    whole = _blank_lines(wire, parts)
    calls = tuple(
        ToolCall(one.id, one.name, "".join(one.pieces) or "{}")
        for one in parts
        if isinstance(one, Called)
    )
    assert whole.startswith(found.text)
    if found.finish == "incomplete":
        assert (fault != "none", found.calls) == (True, ())
    else:  # the reply was complete before the fault
        assert (found.text, found.calls) == (whole, calls)


def _blank_lines(wire: WireName, parts: tuple[Part, ...]) -> str:
    """Return the text of the parts, with blank lines between separate texts."""
    text, before = "", -1
    for place, one in enumerate(parts):
        if not isinstance(one, Said):
            continue
        is_apart = wire == "responses" or (wire == "messages" and place > before + 1)
        text += "\n\n" if text and is_apart else ""
        text, before = text + "".join(one.pieces), place
    return text


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in inner:
        found.append((value, name))
        if isinstance(one, dict | list):
            found += _places(one)
    return found


@each_wire
async def test_a_cancel_at_each_event_ends_the_request_and_closes_the_connection(
    wire: WireName,
) -> None:
    events = STREAMS[wire](PARTS, "")
    for n_events in range(len(events)):
        script = played(*events[:n_events], HANG, whole=False)
        async with connected(script, dialect=Dialect(wire=wire)) as (provider, endpoint):
            task = asyncio.ensure_future(provider.complete(ASKED, lambda _: None))
            await endpoint.arrived.wait()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(endpoint.gone.wait(), 10)


ERRORS: dict[WireName, tuple[dict[str, Any], dict[str, Any]]] = {
    "chat": (
        {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
        {"error": {"message": "overloaded", "code": 503}},
    ),
    "responses": (
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
        {
            "type": "response.failed",
            "response": {"error": {"code": "server_error", "message": "overloaded"}},
        },
    ),
    "messages": (
        {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
    ),
}


@each_wire
async def test_an_error_in_the_stream_is_reported_with_the_endpoints_message(
    wire: WireName,
) -> None:
    for error, kind in zip(ERRORS[wire], (RateLimited, ServerFault), strict=True):
        stream = f"data: {json.dumps(error)}\n\n".encode()
        found = await fail(played(stream), dialect=Dialect(wire=wire))
        assert isinstance(found, kind)
        words = (
            error.get("message") or (error.get("error") or error["response"]["error"])["message"]
        )
        assert words in str(found)


WHOLE: dict[WireName, dict[str, Any]] = {
    "chat": {
        "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    },
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}],
        "usage": {"input_tokens": 10, "output_tokens": 2},
    },
    "messages": {
        "type": "message",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    },
}


@each_wire
async def test_a_whole_answer_in_place_of_a_stream_is_accepted(wire: WireName) -> None:
    script = answer(200, json.dumps(WHOLE[wire]))
    reply, _ = await ask(script, dialect=Dialect(wire=wire))
    assert reply == Reply("hello", usage=Usage(input=10, output=2))


REQUEST = request(
    user("fix it", Image("image/png", "aGk=", meta())),
    system=("be brief",),
    tools=(READ,),
    model="claude-opus-4-6",
    cache_key="s1",
    anchors=Anchors(tools=True, system=True, messages=(0,)),
)


async def conversation(wire: WireName, model: str = "claude-opus-4-6") -> Conversation:
    """Return a conversation after a reply with two calls and their results."""
    dialect = Dialect(wire=wire)
    asked_for = msgspec.structs.replace(REQUEST, model=model)
    stream = played(*STREAMS[wire](PARTS, ""))
    reply, _ = await ask(stream, dialect=dialect, asked=asked_for)
    talk = with_reply(with_input(empty(model), words="fix it", turn=1), reply, turn=1)
    uses = tool_uses(talk.messages[-1])
    results = [tool_result(use, "text", is_error=number == 1) for number, use in enumerate(uses)]
    return with_results(talk, results, turn=1)


def empty(model: str) -> Conversation:
    return Conversation(system=(), tools=(READ,), config=Config(model, 100_000, 8_000))


def body(talk: Conversation, dialect: Dialect, model: str = "claude-opus-4-6") -> dict[str, Any]:
    """Return the body of the next request."""
    sent = msgspec.structs.replace(REQUEST, messages=talk.messages, model=model)
    return chat_body(sent, dialect)


async def test_the_responses_api_is_sent_reasoning_before_the_items_that_followed() -> None:
    items = body(await conversation("responses"), Dialect(wire="responses"))["input"]
    kinds = [item["type"] for item in items]
    assert kinds == [
        "message",
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert items[1] == {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "Look at é the file 🎉."}],
        "encrypted_content": "seal==",
    }
    assert items[3] == {
        "type": "function_call",
        "call_id": "call_a",
        "name": "read_file",
        "arguments": '{"path": "a.py"}',
    }


async def test_the_messages_api_is_sent_its_thinking_unchanged_with_the_signature() -> None:
    talk = await conversation("messages")
    content = body(talk, Dialect(wire="messages"))["messages"][1]["content"]
    assert [block["type"] for block in content] == [
        "thinking",
        "text",
        "tool_use",
        "thinking",
        "tool_use",
    ]
    assert content[0] == {
        "type": "thinking",
        "signature": "seal==",
        "thinking": "Look at é the file 🎉.",
    }
    assert content[2]["input"] == {"path": "a.py"}
    results = body(talk, Dialect(wire="messages"))["messages"][2]["content"]
    assert [(one["tool_use_id"], one.get("is_error", False)) for one in results] == [
        ("call_a", False),
        ("call_b", True),
    ]


@pytest.mark.parametrize("made_by", WIRES)
@pytest.mark.parametrize("sent_over", WIRES)
@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-6"])
async def test_a_conversation_can_change_to_another_api_in_the_middle(
    made_by: WireName, sent_over: WireName, model: str
) -> None:
    """Text, calls and results stay; sealed reasoning is readable only for its own API and model."""
    talk = await conversation(made_by)
    raw = json.dumps(body(talk, Dialect(wire=sent_over), model))
    for part in ("I read it.", "call_a", "call_b", "a.py", "fix it"):
        assert part in raw
    is_readable = made_by == sent_over != "chat" and model == "claude-opus-4-6"
    assert ("seal==" in raw) == is_readable


def test_the_messages_api_request_has_cache_marks_at_the_anchors() -> None:
    sent = chat_body(REQUEST, Dialect(wire="messages", cache_marks=True))
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent["system"] == [{"type": "text", "text": "be brief", **mark}]
    assert sent["tools"][-1]["cache_control"] == mark["cache_control"]
    picture = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert sent["messages"][0]["content"] == [
        {"type": "text", "text": "fix it"},
        {"type": "image", "source": picture, **mark},
    ]
    assert (sent["max_tokens"], sent["stream"]) == (REQUEST.max_output, True)


def test_thinking_has_no_cache_mark_and_is_never_the_end_of_a_message() -> None:
    extra = '{"wire":"messages","model":"m","item":{"type":"thinking","signature":"s"}}'
    thought = Thinking("hm", meta(), extra)
    entries = anthropic.message_entries(
        assistant(use(), thought), Dialect(wire="messages"), marked=True, model="m"
    )
    (block,) = entries[0]["content"]
    assert (block["type"], "cache_control" in block) == ("tool_use", True)


def test_the_responses_api_is_asked_to_store_nothing_and_to_encrypt_reasoning() -> None:
    sent = chat_body(REQUEST, Dialect(wire="responses", cache_key=True))
    assert sent["instructions"] == "be brief"
    assert (sent["store"], sent["stream"], sent["prompt_cache_key"]) == (False, True, "s1")
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["tools"][0]["strict"] is False
    assert sent["input"][0]["content"][1] == {
        "type": "input_image",
        "image_url": "data:image/png;base64,aGk=",
        "detail": "auto",
    }


SUMMARIZED = {"type": "adaptive", "display": "summarized"}
EFFORT = [
    ("responses", "gpt-5.6", "high", {"reasoning": {"effort": "high", "summary": "auto"}}),
    ("responses", "gpt-5.6", "", {"reasoning": {"summary": "auto"}}),
    (
        "messages",
        "claude-opus-5-5",
        "",
        {"thinking": {"type": "adaptive", "display": "summarized"}},
    ),
    ("messages", "claude-opus-4-7", "max", {"output_config": {"effort": "max"}}),
    ("messages", "claude-sonnet-4-6", "minimal", {"output_config": {"effort": "low"}}),
    ("messages", "claude-opus-4-6", "none", {"thinking": {"type": "disabled"}}),
    ("messages", "claude-sonnet-4-5", "", {}),
    (
        "messages",
        "claude-sonnet-4-5",
        "high",
        {"thinking": {"type": "enabled", "budget_tokens": 6_000}},
    ),
    ("messages", "kimi-k3", "", {}),
    ("messages", "kimi-k3", "low", {"output_config": {"effort": "low"}}),
    ("chat", "gpt-5.6", "high", {"reasoning_effort": "high"}),
    ("chat", "gpt-5.6", "", {}),
]


@pytest.mark.parametrize(("wire", "model", "effort", "fields"), EFFORT)
def test_each_api_has_its_own_form_of_the_effort(
    wire: WireName, model: str, effort: Effort, fields: dict[str, Any]
) -> None:
    asked_for = msgspec.structs.replace(REQUEST, model=model, effort=effort, max_output=10_000)
    sent = chat_body(asked_for, Dialect(wire=wire, effort_field="reasoning_effort"))
    names = {"reasoning", "thinking", "output_config", "reasoning_effort"}
    found = {name: value for name, value in sent.items() if name in names}
    assert fields.items() <= found.items()
    if not fields:
        assert found == {}


SEALED = (
    '{"wire":"messages","model":"claude-sonnet-4-5","item":{"type":"thinking","signature":"s"}}'
)


@pytest.mark.parametrize(
    ("blocks", "thinks"),
    [
        ((use(),), False),  # a different model answered, or the effort was set later
        ((Thinking("hm", meta(), SEALED), use()), True),
        ((Thinking("hm", meta(), SEALED.replace("4-5", "4")), use()), False),
    ],
)
def test_a_model_with_a_thinking_budget_thinks_only_in_turns_that_began_with_thinking(
    blocks: tuple[Any, ...],
    thinks: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Otherwise the endpoint refuses the request (anomalyco/opencode#3077)."""
    going_on = (user("go"), assistant(*blocks), user(result("x")), assistant(use(id_="c2")))
    in_the_turn = (*going_on, user(result("y", id_="c2")))
    for said, expected in (
        (in_the_turn, thinks),
        ((*in_the_turn, assistant("Done."), user("and now?")), True),
    ):
        asked_for = msgspec.structs.replace(
            request(*said, model="claude-sonnet-4-5"), effort="high", max_output=10_000
        )
        assert ("thinking" in chat_body(asked_for, Dialect(wire="messages"))) == expected


RESPONSES_ONLY = (
    "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. "
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)


@pytest.mark.parametrize("status", [400, 404])
async def test_an_endpoint_that_requires_the_responses_api_gets_it_from_then_on(
    status: int,
) -> None:
    stream = played(*STREAMS["responses"](PARTS, ""))
    script = (refusal(status, RESPONSES_ONLY), stream, stream)
    async with connected(*script, dialect=Dialect()) as (provider, endpoint):
        for _ in range(2):
            assert (await provider.complete(ASKED, lambda _: None)).calls == CALLS
        paths = [head.split()[1] for head in endpoint.heads]
    assert paths == [b"/v1/chat/completions", b"/v1/responses", b"/v1/responses"]


async def test_a_refused_effort_is_replaced_by_the_nearest_offered_effort() -> None:
    words = (
        "Unsupported value: 'none' is not supported with the 'gpt-5' model. Supported values are: "
        "'minimal', 'low', 'medium', and 'high'. (param: reasoning.effort)"
    )
    asked_for = msgspec.structs.replace(ASKED, effort="none")
    script = (refusal(400, words), played(*STREAMS["responses"](PARTS, "")))
    async with connected(*script, dialect=Dialect(wire="responses")) as (provider, endpoint):
        await provider.complete(asked_for, lambda _: None)
        efforts = [json.loads(one)["reasoning"]["effort"] for one in endpoint.bodies]
    assert efforts == ["none", "minimal"]


async def test_the_responses_api_is_sent_a_verbosity_unless_the_model_refuses_it() -> None:
    words = "Unsupported parameter: 'text.verbosity' is not supported with this model."
    asked_for = msgspec.structs.replace(ASKED, verbosity="low")
    script = (refusal(400, words), played(*STREAMS["responses"](PARTS, "")))
    dialect = Dialect(wire="responses", verbosity=True)
    async with connected(*script, dialect=dialect) as (provider, endpoint):
        await provider.complete(asked_for, lambda _: None)
        first, second = map(json.loads, endpoint.bodies)
    assert first["text"] == {"verbosity": "low"}
    assert first == {**second, "text": first["text"]}


async def test_a_model_without_thinking_is_not_asked_to_think() -> None:
    words = "Encrypted content is not supported with this model."
    script = (refusal(400, words), played(*STREAMS["responses"](PARTS[1:3], "")))
    async with connected(*script, dialect=Dialect(wire="responses")) as (provider, endpoint):
        await provider.complete(ASKED, lambda _: None)
        second = json.loads(endpoint.bodies[1])
    assert not {"reasoning", "include"} & second.keys()


@pytest.mark.parametrize("by_public_call", [False, True])
async def test_the_messages_api_request_has_the_key_in_both_headers(
    by_public_call: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    stream = played(*STREAMS["messages"](PARTS, ""))
    settings = {"dialect": Dialect(wire="messages"), "by_public_call": by_public_call}
    async with connected(stream, **settings) as (provider, endpoint):
        await provider.complete(ASKED, lambda _: None)
        head = endpoint.heads[0].decode().lower()
    assert f"x-api-key: {KEY}" in head
    assert f"authorization: bearer {KEY}" in head
    assert "anthropic-version: 2023-06-01" in head
