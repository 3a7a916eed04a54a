"""``indwell sessions show`` prints sub-agents' calls as lines of the call that ran them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.cli.stored.sessions import show_session
from indwell.messages import Message, Meta, ToolUse
from indwell.sessions.records import CallEnded, MessageRecord, TurnStartRecord
from indwell.sessions.storage.store import SessionStore

META = Meta(tier=3, source="assistant", tokens=1)
CALL = MessageRecord(Message("assistant", (ToolUse("c1", "agent", '{"task":"x"}', META),), 1), "")
READ = CallEnded(1, "a1-1", "shop.py", "2 lines", 0.5, "", "", "read_file", "", "c1")
FAILED = CallEnded(1, "a1-2", "make \x1b[2J", "failed", 0.5, "", "", "bash", "[b]no\nrule", "c1")


async def test_each_shown_call_is_one_line_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INDWELL_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    store = SessionStore(tmp_path / "state", tmp_path)
    session, log = store.create(model="m", now=datetime(2026, 11, 21, tzinfo=UTC))
    for record in (TurnStartRecord(1, "go", ""), CALL, READ, FAILED):
        log.append(record)
    await log.close()

    assert show_session(session, as_json=False) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-4:] == [
        '▸ agent {"task":"x"}',
        "  ▸ read_file shop.py  2 lines",
        "  ▸ bash make \\u001b[2J  [b]no",
        "  no result",
    ]

    assert show_session(session, as_json=True) == 0
    (turn,) = json.loads(capsys.readouterr().out)["turns"]
    inner = [one for one in turn["events"] if one["agent"] and one["type"] == "toolFinished"]
    assert [one["name"] for one in inner] == ["read_file", "bash"]
