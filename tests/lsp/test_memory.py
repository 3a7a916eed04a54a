"""Memory over stdio: the question, the page, and a later session that receives the fact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.context.memory import new_page
from support.editing import USAGE, Home, Playlist, editing, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say

FACT = "Tests run with `just test`."
REMEMBER = say(calls=[("remember", json.dumps({"fact": FACT}))], usage=USAGE)


async def test_an_allowed_fact_is_included_in_a_later_session(tmp_path) -> None:
    home, playlist = Home(tmp_path), Playlist()
    playlist.play(REMEMBER, say("Kept."), say("One."), say("Two."))
    async with LoopbackEndpoint(playlist) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            editor.answers.choose = lambda _message, _titles: "Remember it"
            await editor.ask("tests are run with just")
            assert editor.choices == [["No", "Remember it"]], "no answer stands"
            assert "Remember this for later sessions in this workspace?" in editor.messages[0]
            assert f"│ + {FACT}" in editor.messages[0]
            opened = await editor.execute("indwell.memory")
            assert f"- {FACT} <!-- " in Path(opened["path"]).read_text(encoding="utf-8")
            assert opened["path"].startswith(str(home.state / "memory"))
            assert home.files.keys() == {"shop.py"}, "nothing of it is in the workspace"
        async with editing(home, endpoint.base_url) as editor:
            await editor.ask("rename the variable")
            assert FACT not in texts_of(endpoint.seen[-1].body["messages"])
            await editor.ask("run the tests", session="new")
            assert FACT in texts_of(endpoint.seen[-1].body["messages"])


@pytest.mark.parametrize("scope", ["workspace", "user"])
async def test_a_page_can_be_opened_before_there_is_a_fact(tmp_path, scope) -> None:
    async with editing(Home(tmp_path)) as editor:
        opened = await editor.execute("indwell.memory", {"scope": scope})
        assert Path(opened["path"]).read_text(encoding="utf-8") == new_page(scope)
        assert (Path(opened["path"]).name == "user.md") == (scope == "user")
        assert opened["uri"] == Path(opened["path"]).as_uri()


async def test_memory_can_be_turned_off(tmp_path) -> None:
    home, playlist = Home(tmp_path), Playlist()
    home.configure("memory = false\n")
    playlist.play(REMEMBER, say("No."))
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        await editor.ask("run the tests")
        names = [one["function"]["name"] for one in endpoint.seen[0].body["tools"]]
        assert "remember" not in names
        assert "ask_user" in names
        assert "there is no tool 'remember'" in results(endpoint.seen[-1])[0]
        assert not (home.state / "memory").exists()
