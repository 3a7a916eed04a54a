from __future__ import annotations

import json

import pytest

from indwell.context import conversation as talk
from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import Action, CompactionFacts, CompactionStep
from indwell.context.conversation import Config, Conversation, counted, system_block
from indwell.context.injections import is_oversize, oversize_words
from indwell.context.pairing import tool_uses
from indwell.context.request.assemble import assemble
from indwell.messages import Reply, ToolCall
from support.context_driver import fitted


def test_a_text_over_a_quarter_of_the_window_is_oversize() -> None:
    assert not is_oversize("word " * 700, window=4_000)  # it has many characters
    assert is_oversize("word " * 1_000, window=4_000)
    assert is_oversize("\U0001f600" * 500, window=4_000)  # it has many tokens
    assert is_oversize("\u4e16" * 1_400, window=4_000)


def test_an_oversized_text_is_replaced_by_both_ends_its_length_and_its_path() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    words = oversize_words(text, "/state/spill/0001-prompt.txt")
    assert words.startswith("line 0\nline 1\n")
    assert words.endswith("line 9998\nline 9999")
    assert "[… this text is too long for one message: 98,889 characters in 10,000 lines; " in words
    assert "all of it is in /state/spill/0001-prompt.txt, and read_file reads it" in words
    assert len(words) < 3_300


def test_a_line_too_long_for_read_file_is_named_as_the_reason() -> None:
    words = oversize_words("short\n" + "x" * 90_000, "/state/spill/0001-prompt.txt")
    assert "read_file reads it in pieces" not in words
    assert (
        "read_file shows only 2,000 characters of a line, and its longest line has 90,000" in words
    )


def test_only_a_text_with_short_lines_is_said_to_be_readable_in_pieces() -> None:
    assert "read_file reads it in pieces" in oversize_words("x" * 2_000, "/state/a.txt")
    assert "read_file reads it in pieces" not in oversize_words("x" * 2_001, "/state/a.txt")


@pytest.mark.parametrize("content", ["word and " * 20_000, "a line\n" * 20_000])
def test_a_call_larger_than_the_window_is_shortened_and_its_arguments_are_in_a_file(
    content: str,
) -> None:
    arguments = json.dumps({"path": "a.txt", "content": content})
    call = ToolCall("call_1", "write_file", arguments)
    now = Conversation(Config("m", 16_000, 2_000), (system_block("You are an agent."),))
    now = talk.with_input(now, words="Write it.", turn=1)
    now = talk.with_reply(now, Reply("", (call,), finish="tool_calls"), turn=1)
    (use,) = tool_uses(now.messages[-1])
    result = talk.tool_result(use, "written", is_error=False)
    now = counted(talk.with_results(now, [result], turn=1))
    files: dict[str, str] = {}

    def watch(_: Conversation, __: Action, step: CompactionStep, ___: Conversation) -> None:
        files.update((one.name, one.text) for one in step.spills)

    after = fitted(now, PRESETS["default"], CompactionFacts(spill_folder="/state"), watch=watch)
    request = assemble(after)
    (shorter,) = tool_uses(request.messages[1])
    given = json.loads(shorter.arguments)
    assert given["path"] == "a.txt"
    assert "content" not in given  # no tool accepts the short form
    (name,) = files
    assert given["shortened"].endswith(f"all: /state/{name}")
    assert files == {name: arguments}
