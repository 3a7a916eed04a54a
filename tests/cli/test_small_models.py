"""Small models get a short prompt and six tools, by the window, the name or the setting."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from indwell.providers.catalogue import size_in_name
from support.editing import MENDED, READ, USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, Seen, refuse, say
from support.model_server import answering, listed
from support.terminal import Ended, indwell

SIX = ["read_file", "edit_file", "write_file", "glob", "grep", "bash"]
MOST = 1_100  # the unit is tokens of o200k
MOST_BYTES = 4_600  # this is about the same size, if the vocabulary is missing
FLAT = ("edit_file", json.dumps({"path": "shop.py", "old_string": " + 1", "new_string": ""}))


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(
    home: Home, endpoint: LoopbackEndpoint, *arguments: str, settings: str = "window = 8192"
) -> Ended:
    text = f'model = "m"\nbase_url = "{endpoint.base_url}"\n{settings}\n'
    path = home.config / "indwell" / "config.toml"
    if path.exists():
        path.write_bytes(text.encode())
    else:
        home.configure(text)
    return await indwell(*arguments, environment=home.environment(), folder=home.workspace)


def tools(seen: Seen) -> list[str]:
    return [one["function"]["name"] for one in seen.body["tools"]]


def n_tokens(*parts: Any) -> int:
    with warnings.catch_warnings():
        # from the way in which the vocabulary is opened
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # noqa: PLC0415 - it warns when it is imported

        encode = bpe_openai.get_encoding("o200k_base").encode
    texts = (one if isinstance(one, str) else json.dumps(one) for one in parts)
    return sum(len(encode(one)) for one in texts)


async def test_a_small_window_gets_six_tools_and_a_short_prompt_and_the_work_is_done(home) -> None:
    script = [say(calls=[READ], usage=USAGE), say(calls=[FLAT], usage=USAGE)]
    async with LoopbackEndpoint([*script, say("Mended.", usage=USAGE)]) as endpoint:
        ended = await run(home, endpoint, "run", "--mode", "auto", "mend it")
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED), ended
    assert [tools(one) for one in endpoint.seen] == [SIX] * 3
    first, *others = (one.body for one in endpoint.seen)
    system, user = first["messages"]
    assert "skill" not in json.dumps(first["tools"])
    assert "# Skills" not in system["content"]
    assert user["content"] == "mend it", "no tag that a small model would echo"
    spoken = system["content"].encode() + json.dumps(first["tools"]).encode()
    assert len(spoken) <= MOST_BYTES
    assert n_tokens(system["content"], *first["tools"]) <= MOST
    for other in others:
        assert other["tools"] == first["tools"]
        assert other["messages"][:2] == first["messages"]


@pytest.mark.parametrize(("settings", "is_lean"), [
    ("window = 15_999", True), ("window = 16_000", False),
    ('window = 8192\nprofile = "full"', False), ('window = 64_000\nprofile = "lean"', True),
    ('counts_as = "qwen2.5-coder:7b"\nwindow = 32_000', True),
    ('counts_as = "qwen3-coder:30b-a3b"\nwindow = 32_000', False),
])  # fmt: skip
async def test_window_model_size_and_setting_choose_the_prompt_length(
    home, settings, is_lean
) -> None:
    async with LoopbackEndpoint([say("Hello.", usage=USAGE)]) as endpoint:
        ended = await run(home, endpoint, "run", "hello", settings=settings)
    assert ended.code == 0, ended
    assert (tools(endpoint.seen[0]) == SIX) == is_lean


@pytest.mark.parametrize(("name", "size"), [
    ("qwen2.5-coder:7b", 7), ("Llama-3.2-3B-Instruct-Q4_K_M.gguf", 3), ("smollm2:135m", 0.135),
    ("qwen3-coder:30b-a3b-q8_0", 30), ("mixtral-8x7b", 56), ("gemma-3n-E4B-it", 4),
    ("qwen2.5-0.5b", 0.5), ("gpt-5.4-mini", None), ("claude-sonnet-4-5", None),
    ("model-4bit", None), ("some-model-1m", None), ("org/deepseek-r1:671b", 671),
])  # fmt: skip
def test_the_size_of_a_model_is_read_from_its_name(name, size) -> None:
    assert size_in_name(name) == size


@pytest.mark.parametrize(("began", "goes_on"), [(8_192, 64_000), (64_000, 8_192)])
async def test_a_resumed_session_keeps_the_prompt_and_the_tools_it_began_with(
    home, began, goes_on
) -> None:
    script = [
        *(say(calls=[READ], usage=USAGE), say("I have read it.", usage=USAGE)),
        say("Hello again.", usage=USAGE),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        first = await run(home, endpoint, "run", "look at it", settings=f"window = {began}")
        again = await run(
            home, endpoint, "run", "--continue", "and now?", settings=f"window = {goes_on}"
        )
    assert (first.code, again.code) == (0, 0), (first, again)
    before, after = endpoint.seen[1].body, endpoint.seen[2].body
    assert after["tools"] == before["tools"]
    assert after["messages"][: len(before["messages"])] == before["messages"]


async def test_the_doctor_and_the_list_of_models_say_which_model_gets_a_short_prompt(home) -> None:
    home.configure('model = "m"\nbase_url = "http://127.0.0.1:1/v1"\nwindow = 8192\n')
    ended = await indwell(
        "doctor", "--offline", "--json", environment=home.environment(), folder=home.workspace
    )
    (size,) = [one for one in json.loads(ended.stdout)["findings"] if one["name"] == "prompt size"]
    assert size["state"] == "ok"
    assert size["sentence"].startswith("lean, because its window has 8,192 tokens (`profile`): ")
    assert "of at most 1,100" in size["sentence"]
    async with LoopbackEndpoint(answering(listed("big-70b", "tiny-3b"))) as endpoint:
        environment = home.environment(endpoint.base_url)
        shown = await indwell("models", environment=environment, folder=home.workspace)
        told = await indwell("models", "--json", environment=environment, folder=home.workspace)
    assert [line.split() for line in shown.stdout.splitlines()[1:3]] == [
        ["big-70b"],
        ["tiny-3b", "lean"],
    ]
    assert "lean: a new session gives the model a short prompt and six tools" in shown.stdout
    assert [one["profile"] for one in json.loads(told.stdout)] == ["full", "lean"]


async def test_a_turn_keeps_its_full_prompt_and_reports_a_switch_to_a_small_fallback(home) -> None:
    script = [say("Hello.", usage=USAGE)]
    async with (
        LoopbackEndpoint(lambda _seen: refuse(402, "you have no credit left")) as main,
        LoopbackEndpoint(script) as spare,
    ):
        ended = await run(
            home,
            main,
            *("run", "hello"),
            settings='fallback = "tiny-3b@spare"\nwindow = 64_000\n'
            f'[endpoints.spare]\nbase_url = "{spare.base_url}"',
        )
    assert ended.code == 0, ended
    assert len(tools(spare.seen[0])) > len(SIX)
    words = " ".join((ended.stdout + ended.stderr).split())
    assert "this session keeps the long prompt and all tools that it began with" in words
