"""Conversations that other tools recorded, whole and damaged."""

from __future__ import annotations

import json

from indwell.context.pairing import problems
from indwell.messages import Text, ToolResult, ToolUse
from indwell.sessions.foreign import recorded, recorded_sessions

CALL = {"id": "c1", "function": {"name": "Read", "arguments": '{"file_path":"a.py"}'}}
WHOLE = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "done"},
]


def test_a_whole_record_needs_no_mending() -> None:
    one = recorded({"id": "x", "messages": WHOLE})
    assert (one.id, one.system, one.notes) == ("x", "be brief", ())
    assert [message.role for message in one.messages] == ["user", "assistant"] * 2
    kinds = [[type(block) for block in message.blocks] for message in one.messages]
    assert kinds == [[Text], [ToolUse], [ToolResult, Text], [Text]]


def test_a_file_may_hold_a_conversation_or_a_message_in_each_line() -> None:
    record = json.dumps({"id": "x", "messages": WHOLE}).encode()
    assert [one.id for one in recorded_sessions([record, b"", record])] == ["x", "x"]
    (one,) = recorded_sessions([json.dumps(entry).encode() for entry in WHOLE], name="mine")
    assert (one.id, len(one.messages), one.notes) == ("mine", 4, ())


def test_a_damaged_history_is_healed_and_what_was_mended_is_said() -> None:
    damaged = [WHOLE[2], 7, {"role": "tool", "tool_call_id": "c9", "content": "?"}, *WHOLE[4:]]
    one = recorded({"messages": [*damaged, {"role": "oracle", "content": "x"}]}, name="n")
    assert problems(one.messages) == ()
    assert len(one.notes) >= 4
    assert any("nobody made" in note for note in one.notes)


def test_lines_that_are_no_json_are_left_out_and_said() -> None:
    lines = [b"{", b"[1]", b'{"a":1}', json.dumps(WHOLE[1]).encode()]
    (one,) = recorded_sessions(lines, name="f")
    assert len(one.messages) == 1
    assert len(one.notes) == 3


def test_what_the_recording_tool_injected_is_not_the_users() -> None:
    events = [{"at": 1, "kind": "injected"}]
    one = recorded({"messages": WHOLE, "events": events})
    (block,) = one.messages[0].blocks
    assert isinstance(block, Text)
    assert (block.meta.source, block.meta.tier) == ("skill", 2)
