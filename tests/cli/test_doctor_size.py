"""System prompt and tool schemas with everything on: what the doctor says, and its bound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.cli.doctor.command import MOST, sizes
from support.editing import Home
from support.terminal import indwell

ALL = (
    *("read_file", "edit_file", "write_file", "glob", "grep", "bash", "compact", "todo"),
    *("load_skill", "agent", "ask_user", "plan", "commands", "remember"),
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_all_that_can_be_on_takes_three_thousand_tokens_at_most(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.config))
    found = await sizes(home.environment(), home.workspace)
    assert tuple(found.tools) == ALL
    assert found.own == 0
    assert 1_500 < found.together <= MOST == 3_000


async def test_the_doctor_prints_it_part_by_part_and_what_is_yours_apart(home: Home) -> None:
    home.configure('instructions = "Answer in German."\nmemory = false\n')
    (home.config / "indwell" / "AGENTS.md").write_text("Use tabs.\n")
    ended = await indwell(
        "doctor", "--offline", "--json", environment=home.environment(), folder=home.workspace
    )
    (size,) = [one for one in json.loads(ended.stdout)["findings"] if one["name"] == "prompt size"]
    assert size["state"] == "ok"
    assert "of at most 3,000: system prompt " in size["sentence"]
    assert all(f"{name} " in size["sentence"] for name in ALL)
    assert "your own instructions" in size["sentence"]
    assert list(home.state.rglob("log.jsonl")) == [], "no session was begun"
