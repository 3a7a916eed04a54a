"""The size of system prompt and tool schemas with every feature: the doctor's report, a limit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from indwell.cli.doctor.command import MOST, beginning, sizes
from indwell.providers.wires.chat import tool_entries
from indwell.wiring.features import LEAN, ORDER
from support.editing import Home
from support.terminal import indwell

ALL = (*LEAN, *ORDER)
MOST_BYTES = 8_800  # this is about 2,000 tokens, if the vocabulary is missing


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_all_features_together_are_estimated_at_2200_tokens_at_most(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.config))
    found = await sizes(home.environment(), home.workspace)
    assert tuple(found.tools) == ALL
    assert found.own == 0
    assert 1_500 < found.together <= MOST == 2_200


async def test_all_optional_features_together_take_2000_tokens_of_o200k_at_most(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.config))
    talk, *_ = await beginning(home.environment(), home.workspace)
    prompt = "".join(block.text for block in talk.system)
    tools = [
        json.dumps(entry, separators=(",", ":")) for entry in tool_entries(talk.tools, marked=False)
    ]
    assert [json.loads(one)["function"]["name"] for one in tools] == list(ALL)
    assert sum(len(one.encode()) for one in (prompt, *tools)) <= MOST_BYTES
    with warnings.catch_warnings():
        # tiktoken warns about how it opens its vocabulary
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # noqa: PLC0415 - it warns when it is imported

        encode = bpe_openai.get_encoding("o200k_base").encode
    assert sum(len(encode(one)) for one in (prompt, *tools)) <= 1_820  # a kernel's name varies


async def test_the_doctor_prints_the_size_of_each_part_of_the_prompt_with_user_parts_apart(
    home: Home,
) -> None:
    home.configure('instructions = "Answer in German."\nmemory = false\n')
    (home.config / "indwell" / "AGENTS.md").write_bytes(b"Use tabs.\n")
    ended = await indwell(
        "doctor", "--offline", "--json", environment=home.environment(), folder=home.workspace
    )
    (size,) = [one for one in json.loads(ended.stdout)["findings"] if one["name"] == "prompt size"]
    assert size["state"] == "ok"
    assert "of at most 2,200: system prompt " in size["sentence"]
    assert all(f"{name} " in size["sentence"] for name in ALL)
    assert "your own instructions" in size["sentence"]
    assert list(home.state.rglob("log.jsonl")) == [], "no session was begun"
