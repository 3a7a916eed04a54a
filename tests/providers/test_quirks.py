"""Each known endpoint: recognition, request, and a stream in its dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.errors import SettingsError
from indwell.messages import Reply, Thinking, ToolCall, ToolUse, Usage
from indwell.providers.client import EndpointClient
from indwell.providers.endpoint import Extras
from indwell.providers.quirks import NAMES, ROWS, Row, dialect_for, row_for
from indwell.providers.wires.dialect import Dialect, adapted
from support.asking import ask
from support.chat_bodies import chat_body
from support.fault_endpoint import data, streamed
from support.loopback_endpoint import LoopbackEndpoint, chunk, say
from support.requests import assistant, meta, request, result, use, user

PAGE = Path(__file__).resolve().parents[2] / "docs" / "providers.md"
ARGUMENTS = '{"path":"a"}'


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}


def call(index: int | None = 0, **fields: Any) -> dict[str, Any]:
    """Return a whole call in one chunk."""
    function = {"name": "read_file", "arguments": ARGUMENTS}
    place = {} if index is None else {"index": index}
    return chunk({"tool_calls": [{**place, "id": "a", "function": function, **fields}]})


def later(arguments: str, **fields: Any) -> dict[str, Any]:
    """Return a later chunk of a call."""
    function = {"arguments": arguments, **fields.pop("function", {})}
    return chunk({"tool_calls": [{"index": 0, "function": function, **fields}]})


def spent(**usage: Any) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, **usage}}


READ_A = (ToolCall("a", "read_file", ARGUMENTS),)
USED = Usage(input=10, output=2)
# One of the two tokens is a token of the text.
THOUGHT_USED = msgspec.structs.replace(USED, thinking=1)
SIGNED = {"google": {"thought_signature": "c2ln"}}

TEXT_DELTA = {"type": "text_delta", "text": "ok"}
TOOL_USE = {"type": "tool_use", "id": "a", "name": "read_file", "input": {}}
INPUT_DELTA = {"type": "input_json_delta", "partial_json": '{"path":"a"}'}
SPENT_HERE = {"output_tokens": 2}

STREAMS: Mapping[str, tuple[list[dict[str, Any] | bytes], Reply]] = {
    "openai": (
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "ok"}),
            later("", id="a", function={"name": "read_file"}),
            later(ARGUMENTS),
            chunk({}, finish="tool_calls"),
            spent(prompt_tokens_details={"cached_tokens": 4}),
        ],
        Reply("ok", READ_A, "", "tool_calls", Usage(input=10, cached=4, output=2)),
    ),
    "openrouter": (
        [
            b": OPENROUTER PROCESSING\n\n",
            chunk({"reasoning": "hm", "reasoning_details": [{"text": "hm"}]}),
            chunk({"content": "half"}),
            {**chunk({}, finish="error"), "error": {"code": 502, "message": "upstream gone"}},
        ],
        Reply("half", (), "hm", "incomplete", problem="ADDRESS failed"),
    ),
    "deepseek": (
        [
            chunk({"content": None, "reasoning_content": "hm"}),
            chunk({"content": "ok", "reasoning_content": None}),
            {
                **chunk({"content": ""}, finish="stop"),
                "usage": spent(prompt_cache_hit_tokens=8)["usage"],
            },
        ],
        Reply("ok", (), "hm", "stop", Usage(input=10, cached=8, output=2, thinking=1)),
    ),
    "qwen": (
        [
            later('{"path"', id="a", function={"name": "read_file"}),
            later(':"a"}', id="", function={"name": ""}),
            chunk({"content": ""}, finish="tool_calls"),
            spent(),
        ],
        Reply("", READ_A, "", "tool_calls", USED),
    ),
    "mistral": (
        [
            chunk({"content": [THOUGHT]}),
            chunk({"content": [{"type": "text", "text": "ok"}]}),
            {**chunk({}, finish="model_length"), "usage": spent()["usage"]},
        ],
        Reply("ok", (), "hm", "length", THOUGHT_USED),
    ),
    "xai": (
        [
            {**chunk({"reasoning_content": "hm"}), "usage": spent()["usage"]},
            chunk({"content": "ok"}, finish="stop"),
            spent(total_tokens=20, completion_tokens_details={"reasoning_tokens": 8}),
        ],
        Reply("ok", (), "hm", "stop", Usage(input=10, output=10, thinking=8)),
    ),
    "gemini": (
        [call(None, extra_content=SIGNED), chunk({}, finish="stop"), spent(total_tokens=30)],
        Reply(
            "",
            (ToolCall("a", "read_file", ARGUMENTS, msgspec.json.encode(SIGNED).decode()),),
            "",
            "tool_calls",
            Usage(input=10, output=20),
        ),
    ),
    "anthropic": (
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 10}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {"type": "content_block_delta", "index": 0, "delta": TEXT_DELTA},
            {"type": "content_block_start", "index": 1, "content_block": TOOL_USE},
            {"type": "content_block_delta", "index": 1, "delta": INPUT_DELTA},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": SPENT_HERE},
            {"type": "message_stop"},
        ],
        Reply("ok", READ_A, "", "tool_calls", USED),
    ),
    "litellm": (
        [
            call(id="call_1__thought__" + "x" * 2_000, function={
                "name": "read_file", "arguments": {"path": "a"}}),
            chunk({}, finish="stop"),
            spent(),
        ],
        Reply(
            "",
            (ToolCall("call_1__thought__" + "x" * 2_000, "read_file", ARGUMENTS),),
            "",
            "tool_calls",
            USED,
        ),
    ),
    "vllm": (
        [
            chunk({"content": "<think>\nhm"}),
            chunk({"content": "\n</think>\n\nok"}),
            call(id="chatcmpl-tool-0123456789abcdef0123456789abcdef"),
            chunk({}, finish="stop"),
            spent(),
        ],
        Reply(
            "ok",
            (ToolCall("chatcmpl-tool-0123456789abcdef0123456789abcdef", "read_file", ARGUMENTS),),
            "hm\n",
            "tool_calls",
            USED,
        ),
    ),
    "ollama": (
        [call(), call(id="b"), chunk({"content": ""}, finish=""), spent()],
        Reply(
            "",
            (*READ_A, ToolCall("b", "read_file", ARGUMENTS)),
            "",
            "tool_calls",
            USED,
        ),
    ),
    "llama.cpp": (
        [
            chunk({"role": "assistant", "content": None}),
            chunk({"reasoning_content": "hm"}),
            chunk({"content": "ok"}),
            chunk({}, finish="stop"),
            {**spent(), "timings": {"prompt_n": 1}},
        ],
        Reply("ok", (), "hm", "stop", THOUGHT_USED),
    ),
    "lmstudio": (
        [
            chunk({"content": "<think>"}),
            chunk({"content": "hm</think>"}),
            later('{"path"', id="a", function={"name": "read_file"}),
            later(':"a"}', function={"name": ""}),
            chunk({}, finish="tool_calls"),
            spent(),
        ],
        Reply("", READ_A, "hm", "tool_calls", USED),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_a_stream_in_each_dialect_is_understood(name: str) -> None:
    events, expected = STREAMS[name]
    stream = streamed(*(each if isinstance(each, bytes) else data(each) for each in events))
    reply, _ = await ask(stream, dialect=dialect_for(None, name=name))
    if expected.problem:
        assert "failed with status 502" in reply.problem
        reply = msgspec.structs.replace(reply, problem=expected.problem, usage=Usage())
    assert reply == expected


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.x.ai/v1", "xai"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("http://localhost:4000", "litellm"),
        ("http://127.0.0.1:8000/v1", "vllm"),
        ("http://localhost:11434/v1", "ollama"),
        ("http://[::1]:8080/v1", "llama.cpp"),
        ("http://localhost:1234/v1", "lmstudio"),
    ],
)
def test_an_endpoint_is_recognised_by_host_or_local_port(url: str | None, name: str) -> None:
    row = row_for(url)
    assert isinstance(row, Row)
    assert row.name == name


@pytest.mark.parametrize(
    "url", ["https://notapi.openai.com.evil/v1", "https://model.example:11434/v1", "http://x:y/v1"]
)
def test_an_address_that_only_resembles_a_known_one_gets_no_dialect(url: str) -> None:
    assert row_for(url) is None


def test_a_dialect_can_be_set_by_name_and_an_unknown_name_is_reported() -> None:
    assert dialect_for("https://gateway.example/v1", name="mistral").nine_ids
    with pytest.raises(SettingsError, match="no dialect 'mistrall' is known; choose one of openai"):
        dialect_for(None, name="mistrall")


def test_the_dialect_of_a_router_depends_on_the_routed_model() -> None:
    assert dialect_for("https://openrouter.ai/api/v1", "anthropic/claude").cache_marks
    assert dialect_for("https://openrouter.ai/api/v1", "mistralai/devstral").bridge


def test_mistral_gets_ids_of_nine_characters_and_an_assistant_message_between_result_and_user() -> (
    None
):
    asked = request(
        user("go"), assistant(use(id_="call_1")), user(result("x", id_="call_1"), "and now?")
    )
    sent = chat_body(asked, dialect_for(None, name="mistral"))
    roles = [message["role"] for message in sent["messages"]]
    ids = (sent["messages"][1]["tool_calls"][0]["id"], sent["messages"][2]["tool_call_id"])
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert ids[0] == ids[1]
    assert (len(ids[0]), ids[0].isalnum(), "stream_options" in sent) == (9, True, False)


def test_only_deepseek_is_sent_its_earlier_reasoning() -> None:
    said = request(user("go"), assistant(Thinking("hm", meta()), "ok"), user("more"))
    sent = chat_body(said, dialect_for(None, name="deepseek"))["messages"][1]
    assert sent == {"role": "assistant", "content": "ok", "reasoning_content": "hm"}
    assert "hm" not in json.dumps(chat_body(said, dialect_for(None, name="openai")))


def test_gemini_is_sent_its_thought_signature_or_a_placeholder() -> None:
    signed = ToolUse("a", "read_file", "{}", meta(), '{"google":{"thought_signature":"c2ln"}}')
    dialect = dialect_for(None, name="gemini")
    for used, signature in ((signed, "c2ln"), (use(id_="a"), "skip_thought_signature_validator")):
        asked = request(user("go"), assistant(used), user(result("x", id_="a")))
        sent = json.loads(msgspec.json.encode(chat_body(asked, dialect)))
        extra = sent["messages"][1]["tool_calls"][0]["extra_content"]
        assert extra == {"google": {"thought_signature": signature}}


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ("Unexpected role 'user' after role 'tool'", Dialect(bridge=True)),
        ("Tool call id was x but must be a-z, with a length of 9.", Dialect(nine_ids=True)),
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            Dialect(reasoning_back="reasoning_content"),
        ),
        ("messages.1.content: Input should be a valid string, null", Dialect(null_content=False)),
        ("max_tokens is too large: 9", None),
        ("the model is busy", None),
        ("prompt_cache_key: unknown", None),
    ],
)
def test_the_dialect_of_an_unknown_endpoint_is_learned_from_its_refusals(
    words: str, changed: Dialect | None
) -> None:
    assert adapted(Dialect(), words) == changed


def table() -> str:
    """Return the table as shown in the documentation."""
    lines = [
        "| name | known by | what differs | streams | sources |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        ports = f"port {' or '.join(map(str, row.ports))} on this machine"
        known = ", ".join(f"`{host}`" for host in row.hosts) or ports
        fields = [
            f"`{name}` {json.dumps(value)}"
            for name, value in msgspec.structs.asdict(row.dialect).items()
            if value != getattr(Dialect(), name)
        ]
        sources = ", ".join(f"[{n}]({url})" for n, url in enumerate(row.sources, 1))
        differs = ", ".join(fields) or "nothing"
        lines.append(f"| {row.name} | {known} | {differs} | {row.streams} | {sources} |")
    return "\n".join(lines)


def test_the_documentation_shows_the_table_of_endpoints() -> None:
    assert table() in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("url", "wire"),
    [
        ("https://acme.openai.azure.com/openai/v1", "responses"),
        ("https://acme.openai.azure.com/openai/deployments/prod", "chat"),
    ],
)
def test_azure_addresses_with_the_openai_api_use_the_openai_dialect(url: str, wire: str) -> None:
    dialect = dialect_for(url, "gpt-5.4")
    assert (dialect.wire, dialect.output_limit) == (wire, "max_completion_tokens")
    assert Extras().key_name(url) == "api-key"


async def test_a_key_with_a_separate_header_is_sent_in_no_other_header() -> None:
    async with LoopbackEndpoint([say("Hello.")]) as endpoint:
        extras = Extras({"x-team": "search"}, {"api-version": "preview"}, "api-key")
        client = EndpointClient(base_url=endpoint.base_url, api_key="k-1234567890", extras=extras)
        reply = await client.complete(request(user("hi")), lambda _event: None)
        await client.aclose()
    assert reply.text == "Hello."
    (seen,) = endpoint.seen
    assert (seen.headers["api-key"], seen.headers["x-team"]) == ("k-1234567890", "search")
    assert "authorization" not in seen.headers
    assert seen.path == "/v1/chat/completions?api-version=preview"


@pytest.mark.parametrize(
    ("model", "wire"),
    [
        ("gpt-5", "responses"),
        ("gpt-5.1-codex-max", "responses"),
        ("gpt-5.4-pro", "responses"),
        ("codex-mini-latest", "responses"),
        ("o3-deep-research", "responses"),
        ("o1-pro", "responses"),
        ("gpt-4.1", "chat"),
        ("gpt-4o-mini", "chat"),
        ("gpt-oss-120b", "chat"),
    ],
)
def test_openai_models_that_think_or_lack_chat_completions_use_the_responses_api(
    model: str, wire: str
) -> None:
    assert dialect_for(None, model).wire == wire
    assert dialect_for("https://acme.openai.azure.com/openai/v1", model).wire == wire
    for elsewhere in ("https://openrouter.ai/api/v1", "http://127.0.0.1:8080/v1"):
        assert dialect_for(elsewhere, model).wire == "chat"
    assert dialect_for("https://api.anthropic.com/v1", model).wire == "messages"
