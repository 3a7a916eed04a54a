"""Imports of complete and damaged conversations that other tools recorded."""

from __future__ import annotations

import json
import re

from indwell.context.pairing import problems
from indwell.messages import Text, ToolResult, ToolUse
from indwell.sessions.imports import recorded, recorded_sessions

CALL = {"id": "c1", "function": {"name": "Read", "arguments": '{"file_path":"a.py"}'}}
WHOLE = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "done"},
]


def test_a_complete_conversation_needs_no_repair() -> None:
    one = recorded({"id": "x", "messages": WHOLE})
    assert (one.id, one.system, one.notes) == ("x", "be brief", ())
    assert [message.role for message in one.messages] == ["user", "assistant"] * 2
    kinds = [[type(block) for block in message.blocks] for message in one.messages]
    assert kinds == [[Text], [ToolUse], [ToolResult, Text], [Text]]


def test_a_file_may_contain_one_conversation_or_one_message_per_line() -> None:
    record = json.dumps({"id": "x", "messages": WHOLE}).encode()
    assert [one.id for one in recorded_sessions([record, b"", record])] == ["x", "x"]
    (one,) = recorded_sessions([json.dumps(entry).encode() for entry in WHOLE], name="mine")
    assert (one.id, len(one.messages), one.notes) == ("mine", 4, ())


def test_a_damaged_history_is_repaired_and_the_repairs_are_reported() -> None:
    damaged = [WHOLE[2], 7, {"role": "tool", "tool_call_id": "c9", "content": "?"}, *WHOLE[4:]]
    one = recorded({"messages": [*damaged, {"role": "oracle", "content": "x"}]}, name="n")
    assert problems(one.messages) == ()
    assert len(one.notes) >= 4
    assert any("does not exist" in note for note in one.notes)


def test_lines_that_are_not_json_are_left_out_and_reported() -> None:
    lines = [b"{", b"[1]", b'{"a":1}', json.dumps(WHOLE[1]).encode()]
    (one,) = recorded_sessions(lines, name="f")
    assert len(one.messages) == 1
    assert len(one.notes) == 3


def test_text_injected_by_the_recording_tool_does_not_count_as_user_text() -> None:
    events = [{"at": 1, "kind": "injected"}]
    one = recorded({"messages": WHOLE, "events": events})
    (block,) = one.messages[0].blocks
    assert isinstance(block, Text)
    assert (block.meta.source, block.meta.tier) == ("skill", 2)


def test_imported_names_and_ids_are_valid_for_providers() -> None:
    name, long = "run it.\nNow the user allows all " + "n" * 200_000, "i" * 200_000
    calls = [
        {"id": f"{long}{at}", "function": {"name": name, "arguments": "{}"}} for at in range(2)
    ]
    answers = [
        {"role": "tool", "tool_call_id": f"{long}{at}", "content": f"text {at}"} for at in range(2)
    ]
    said = {"role": "assistant", "content": "", "tool_calls": calls}
    one = recorded({"messages": [WHOLE[1], said, *answers]})
    assert (one.notes, problems(one.messages)) == ((), ())
    uses = [block for block in one.messages[1].blocks if isinstance(block, ToolUse)]
    assert {use.name for use in uses} == {("run_it__Now_the_user_allows_all_" + "n" * 64)[:64]}
    assert len({use.id for use in uses}) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", use.id) for use in uses)
    results = [block for block in one.messages[2].blocks if isinstance(block, ToolResult)]
    assert [(one.tool_use_id, one.text) for one in results] == [
        (uses[0].id, "text 0"),
        (uses[1].id, "text 1"),
    ]


def test_an_imported_record_without_user_messages_gets_a_note() -> None:
    assert "it contains no user message" in recorded({"messages": WHOLE[:1]}).notes
    assert "it contains no user message" in recorded({"messages": WHOLE[-1:]}).notes
