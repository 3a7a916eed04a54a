"""Hooks with a real server over stdio: the user's settings file, and the effects in an editor."""

from __future__ import annotations

import json

import pytest

from support.bubblewrap import needs_bubblewrap
from support.editing import EDIT, MENDED, SOURCE, USAGE, Home, editing, mend, results
from support.loopback_endpoint import LoopbackEndpoint, say

pytestmark = needs_bubblewrap

HOOK = "[[hooks]]\nevent = '{}'\ncommand = '''{}'''\n"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def notices(editor) -> list[str]:
    return [event["message"] for event in editor.events if event["type"] == "notice"]


async def test_a_prompt_stopped_by_a_hook_returns_and_is_not_sent(home) -> None:
    home.configure(HOOK.format("prompt_submitted", "grep -q secret && exit 2; exit 0"))
    async with (
        LoopbackEndpoint([say("Fine.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        stopped = await editor.ask("tell the secret")
        assert (stopped.ending, endpoint.seen) == ("failed", [])
        assert home.endings() == [("failed", "tell the secret")]
        assert (await editor.ask("tell nothing")).ending == "done"


async def test_a_hook_that_formats_changes_file_and_review(home) -> None:
    home.configure(HOOK.format("edit_applied", "echo '# formatted' >> shop.py"))
    async with (
        LoopbackEndpoint(mend()) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "save")) as editor,
    ):
        editor.open(home.shop)
        assert (await editor.ask("mend it")).ending == "done"
        assert home.shop.read_text(encoding="utf-8") == MENDED + "# formatted\n"
        assert "shop.py" in json.dumps(endpoint.seen[-1].body["messages"][-1])
        assert not [one for one in notices(editor) if "hook" in one]


async def test_a_stopped_call_is_reported_to_the_model_and_shown(home) -> None:
    home.configure(HOOK.format("before_tool", "grep -q edit_file && { echo frozen; exit 2; }"))
    async with (
        LoopbackEndpoint([say(calls=[EDIT], usage=USAGE), say("Well.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        await editor.ask("mend it")
        assert results(endpoint.seen[-1])[-1].endswith(": frozen")
        assert home.shop.read_text(encoding="utf-8") == SOURCE
        (ended,) = [event for event in editor.events if event["type"] == "toolFinished"]
        assert ended["message"].endswith(": frozen")


async def test_tru_02_editor_options_cannot_define_hooks(home) -> None:
    hook = {"event": "prompt_submitted", "command": "touch pwn; exit 2"}
    async with (
        LoopbackEndpoint([say("Fine.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",), options={"hooks": [hook]}) as one,
    ):
        one.open(home.shop)
        assert (await one.ask("go")).ending == "done"
        assert not (home.workspace / "pwn").exists()
        assert any("'hooks' in the editor's options is ignored" in text for text in one.messages)


async def test_tru_01_an_untrusted_repository_runs_no_hooks(home) -> None:
    home.trusted = ()
    home.write(".indwell/config.toml", HOOK.format("prompt_submitted", "touch pwn"))
    async with (
        LoopbackEndpoint([say("Fine.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        assert (await editor.ask("go")).ending == "done"
        assert not (home.workspace / "pwn").exists()
        assert "pwn" not in json.dumps(endpoint.seen[0].body)
