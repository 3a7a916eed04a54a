"""Tool calls that models write as text: some are read as calls, others stay text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.messages import ToolSpec
from indwell.providers.wires.written_calls import (
    CALL_LIMIT,
    is_attempt,
    may_be_call,
    written_calls,
)

DATA = tomllib.loads(Path(__file__).with_name("written_calls.toml").read_text("utf-8"))
TEXT, NUMBER, LIST = {"type": "string"}, {"type": "integer"}, {"type": "array"}
TOOLS = tuple(
    ToolSpec(name, "", msgspec.json.encode({"type": "object", "properties": properties}).decode())
    for name, properties in {
        "read_file": {"path": TEXT, "first": NUMBER, "last": NUMBER},
        "search": {"pattern": TEXT, "path": TEXT},
        "edit_file": {"path": TEXT, "edits": LIST},
        "shell": {"command": TEXT},
        "todo": {"items": LIST},
    }.items()
)


def read(text: str) -> list[list[Any]]:
    return [[one.name, msgspec.json.decode(one.arguments)] for one in written_calls(text, TOOLS)]


@pytest.mark.parametrize("case", DATA["calls"], ids=lambda case: case["source"])
def test_a_reply_that_consists_of_written_calls_is_parsed(case) -> None:
    assert read(case["text"]) == case["read"]
    assert all(may_be_call(case["text"][:n]) for n in range(len(case["text"])))


@pytest.mark.parametrize("case", DATA["others"], ids=lambda case: case["source"])
def test_text_that_only_resembles_a_call_stays_text(case) -> None:
    assert read(case["text"]) == []
    assert is_attempt(case["text"], TOOLS) == case.get("attempt", False)


def test_the_samples_of_calls_and_of_text_are_equally_many() -> None:
    assert (len(DATA["calls"]), len(DATA["others"])) == (40, 40)


def test_no_written_call_is_parsed_without_tools_or_in_a_too_long_reply() -> None:
    call = DATA["calls"][0]["text"]
    assert written_calls(call, ()) == ()
    assert not is_attempt(call, ())
    assert read(call + " " * CALL_LIMIT) == []
    many = '{"name": "todo", "arguments": {}}\n' * 65
    assert read(many) == []


@given(
    st.text(alphabet='{}[]<>"`|/\\nametoolcr_f: ,=\n', max_size=60), st.sampled_from(DATA["calls"])
)
def test_parsing_written_calls_never_raises(noise: str, case: dict[str, Any]) -> None:
    call = case["text"]
    for text in (noise, noise + call, call + noise, call[: len(call) // 2] + noise):
        written_calls(text, TOOLS)
        is_attempt(text, TOOLS)
        may_be_call(text)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 30_000, "<tool_call>" * 9_000, "```" * 9_000]
)
def test_deeply_nested_or_repeated_tags_are_parsed_quickly(text) -> None:
    assert read(text) == []
    is_attempt(text, TOOLS)
