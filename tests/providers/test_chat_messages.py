from __future__ import annotations

import json

import msgspec
import pytest

from indwell.messages import Anchors, Image, Message, Request, Thinking, ToolChoice
from indwell.providers.quirks import dialect_for
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import arguments_text
from support.chat_bodies import chat_body
from support.requests import READ, assistant, meta, request, result, use, user, words

MARK = {"type": "ephemeral"}
COMMON = Dialect()
MARKS = Dialect(cache_marks=True)
PIXEL = Image("image/png", "aWNvbg==", meta())


def messages(*said: Message, dialect: Dialect = COMMON, anchors: Anchors | None = None) -> object:
    return chat_body(request(*said, anchors=anchors), dialect)["messages"]


def test_a_whole_chat_request_has_the_expected_form() -> None:
    whole = request(
        user("fix it"),
        assistant("I read first.", use(arguments='{"path":"a.py"}')),
        user(result("1\tx = 1"), "also the tests"),
        system=("You are Indwell.", "Rules."),
        tools=(READ,),
        cache_key="s1",
    )
    function = {"name": "read_file", "arguments": '{"path":"a.py"}'}
    assert chat_body(whole, COMMON) == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "You are Indwell.\n\nRules."},
            {"role": "user", "content": "fix it"},
            {
                "role": "assistant",
                "content": "I read first.",
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1\tx = 1"},
            {"role": "user", "content": "also the tests"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Read a file.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tool_results_are_sent_before_the_single_user_message() -> None:
    said = user("<ide>x</ide>", result("a", id_="1"), "why?", result("b", id_="2"))
    assert messages(said) == [
        {"role": "tool", "tool_call_id": "1", "content": "a"},
        {"role": "tool", "tool_call_id": "2", "content": "b"},
        {"role": "user", "content": "<ide>x</ide>\n\nwhy?"},
    ]


def test_results_alone_create_no_user_message() -> None:
    assert messages(user(result("a"))) == [{"role": "tool", "tool_call_id": "c1", "content": "a"}]


def test_a_picture_turns_the_user_message_into_parts() -> None:
    assert messages(user("look", PIXEL)) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWNvbg=="}},
            ],
        }
    ]


def test_a_call_without_text_has_null_content_and_text_without_calls_has_no_calls() -> None:
    called, spoke = messages(assistant(use()), assistant("done"))  # type: ignore[misc]
    assert called["content"] is None
    assert spoke == {"role": "assistant", "content": "done"}


def test_reasoning_is_not_sent_back() -> None:
    said = assistant(Thinking("hmm", meta()), "done")
    assert messages(said) == [{"role": "assistant", "content": "done"}]


@pytest.mark.parametrize("arguments", ['{"path": "a.py"', "[1]", "", "\ud83d"])
def test_invalid_tool_arguments_are_sent_inside_a_json_object(arguments: str) -> None:
    (sent,) = messages(assistant(use(arguments=arguments)))  # type: ignore[misc]
    decoded = json.loads(sent["tool_calls"][0]["function"]["arguments"])
    assert decoded == {"invalid_json": arguments.replace("\ud83d", "?")}


def test_lone_surrogates_do_not_prevent_a_request() -> None:
    assert messages(user("caf\udce9 é")) == [{"role": "user", "content": "caf? é"}]


def test_cache_marks_are_only_at_the_anchors() -> None:
    whole = request(
        user("one"),
        assistant("two", use()),
        user(result("three")),
        assistant("four"),
        user("five", PIXEL),
        system=("You are Indwell.", "Rules."),
        tools=(READ, msgspec.structs.replace(READ, name="grep")),
        anchors=Anchors(tools=True, system=True, messages=(2, 4)),
    )
    body = chat_body(whole, MARKS)
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    system, one, two, three, four, five = body["messages"]
    assert system["content"] == [
        {"type": "text", "text": "You are Indwell.\n\nRules.", "cache_control": MARK}
    ]
    assert three["content"] == [{"type": "text", "text": "three", "cache_control": MARK}]
    assert [part.get("cache_control") for part in five["content"]] == [None, MARK]
    assert [one["content"], two["content"], four["content"]] == ["one", "two", "four"]


def test_an_assistant_message_with_only_calls_has_no_cache_mark() -> None:
    marked = messages(user("go"), assistant(use()), dialect=MARKS, anchors=Anchors(messages=(1,)))
    assert "cache_control" not in json.dumps(marked)


def test_an_endpoint_without_cache_support_gets_no_cache_marks() -> None:
    anchored = request(
        system=("s",), tools=(READ,), anchors=Anchors(tools=True, system=True, messages=(0,))
    )
    assert "cache_control" not in json.dumps(chat_body(anchored, COMMON))


@pytest.mark.parametrize(("choice", "sent"), [("none", "none"), ("auto", None)])
def test_the_tool_choice_is_sent_only_to_forbid_calls(choice: ToolChoice, sent: str | None) -> None:
    asked = request(tools=(READ,), tool_choice=choice)
    assert chat_body(asked, COMMON).get("tool_choice") == sent


def test_without_tools_neither_tools_nor_a_choice_are_sent() -> None:
    assert set(chat_body(request(tool_choice="none"), COMMON)) == {
        "model",
        "messages",
        "max_tokens",
        "stream",
        "stream_options",
    }


def test_only_openai_gets_openai_specific_request_fields() -> None:
    asked = request(cache_key="s1")
    openai = chat_body(asked, dialect_for(None))
    assert (openai["prompt_cache_key"], openai["max_completion_tokens"]) == ("s1", 100)
    assert "max_tokens" not in openai
    assert "prompt_cache_key" not in chat_body(request(), dialect_for(None))
    local = chat_body(asked, dialect_for("http://127.0.0.1:11434/v1"))
    assert ("prompt_cache_key" in local, local["max_tokens"]) == (False, 100)


WITH_HOURS = {"cache_marks": True, "cache_hours": True}
OPENAI = Dialect(
    cache_key=True,
    output_limit="max_completion_tokens",
    effort_field="reasoning_effort",
    verbosity=True,
    phases=True,
)


@pytest.mark.parametrize(
    ("url", "model", "dialect"),
    [
        (None, "gpt-4.1", OPENAI),
        (None, "gpt-5", msgspec.structs.replace(OPENAI, wire="responses")),
        (
            "https://eu.api.openai.com/v1",
            "gpt-5",
            msgspec.structs.replace(OPENAI, wire="responses"),
        ),
        ("https://api.anthropic.com/v1", "claude", Dialect(wire="messages", **WITH_HOURS)),
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", Dialect(**WITH_HOURS)),
        ("https://openrouter.ai/api/v1", "qwen/qwen3-coder", Dialect()),
        ("https://notapi.openai.com.example/v1", "gpt-5", Dialect()),
    ],
)
def test_the_dialect_follows_the_address(url: str | None, model: str, dialect: Dialect) -> None:
    assert dialect_for(url, model) == dialect


def test_the_usage_option_can_be_omitted() -> None:
    assert "stream_options" not in chat_body(request(), Dialect(usage_option=False))


def test_the_same_request_gives_the_same_bytes() -> None:
    asked = request(user("a", PIXEL), system=("s",), tools=(READ,), anchors=Anchors(tools=True))
    again = msgspec.json.decode(msgspec.json.encode(asked), type=Request)
    assert json.dumps(chat_body(asked, MARKS)) == json.dumps(chat_body(again, MARKS))


def test_each_request_begins_with_the_messages_of_the_previous_request() -> None:
    first = request(user("a"), system=("s",))
    then = request(user("a"), assistant("b", use()), user(result("c"), words("d")), system=("s",))
    sent = chat_body(first, COMMON)["messages"]
    assert chat_body(then, COMMON)["messages"][: len(sent)] == sent


def test_arguments_nested_too_deeply_to_check_do_not_stop_the_session() -> None:
    sent = arguments_text('{"a":' * 20_000)
    assert sent.startswith('{"invalid_json":')
    assert len(sent) < 30_000
