"""Instructions of folders and inherited tasks over stdio, as editors receive them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages.context import ContextParams
from indwell.policy.trust import TRUST
from indwell.sessions.storage.store import SessionStore
from support.editing import Editor, Home, editing
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say

RICH = ("events", "permission", "save")
READ = say(calls=[("read_file", json.dumps({"path": "web/a.py"}))])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.trusted = ()
    made.write("web/a.py", "x = 1\n")
    made.write("web/AGENTS.md", "WEB-WAY\n")
    return made


def reading(seen: Seen) -> Answer:
    """Read the file in every turn, and answer with a word."""
    return READ if seen.body["messages"][-1]["role"] == "user" else say("Well.")


def trusting(editor: Editor) -> None:
    editor.answers.choose = lambda _message, titles: TRUST if TRUST in titles else "Once"


def sent(endpoint: LoopbackEndpoint) -> str:
    return json.dumps(endpoint.seen[-1].body["messages"], ensure_ascii=False)


@pytest.mark.parametrize("extensions", [(), RICH], ids=["plain", "rich"])
async def test_the_trust_question_lists_instructions_and_changed_instructions_need_another_yes(
    home: Home, extensions: tuple[str, ...]
) -> None:
    async with (
        LoopbackEndpoint(reading) as endpoint,
        editing(home, endpoint.base_url, extensions=extensions) as editor,
    ):
        trusting(editor)
        assert (await editor.ask("look")).ending == "done"
        (question,) = [one for one in editor.messages if "do you trust" in one]
        assert "Instructions that would go to the model: web/AGENTS.md\n" in question
        assert "WEB-WAY" in sent(endpoint)
        home.write("web/AGENTS.md", "OTHER-WAY\n")
        await editor.ask("again")
        await editor.ask("again")
        assert "OTHER-WAY" not in sent(endpoint)
        assert len([one for one in editor.messages if "you trust" in one and "?" in one]) == 1
        if extensions:
            told = [one["message"] for one in editor.events if one["type"] == "notice"]
            assert len([one for one in told if "1 instruction file is ignored" in one]) == 1
        assert await editor.execute("indwell.trust", {"wait": True}) is True
        (changed,) = [one for one in editor.messages if "have changed" in one]
        assert "Changed: web/AGENTS.md" in changed
        assert "+ OTHER-WAY" in changed
        await editor.ask("again")
        assert "OTHER-WAY" in sent(endpoint)
        assert await editor.execute("indwell.trust", {"wait": True}) is True
        assert len([one for one in editor.messages if "have changed" in one]) == 1


async def test_a_resumed_session_gets_the_instructions_once(home: Home) -> None:
    async with LoopbackEndpoint(reading) as endpoint:
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            trusting(editor)
            first = await editor.ask("look")
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            await editor.ask("look again", session=first.session)
            assert sent(endpoint).count('<project-instructions path=\\"web/AGENTS.md\\">') == 1
            assert "does not count any more" not in sent(endpoint)


async def test_explaining_the_next_request_shows_the_sources_of_instructions(home: Home) -> None:
    async with (
        LoopbackEndpoint(reading) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        trusting(editor)
        await editor.ask("look")
        asked = editor.client.protocol.send_request_async("indwell/context", ContextParams())
        shown = await asked
        rows = [one for one in shown.blocks if one.source == "instructions"]
        assert [(one.tier, one.pinned) for one in rows] == [(2, True)]
        found = await editor.execute("indwell.open", {"what": "request"})
        document = Path(found["uri"].removeprefix("file://")).read_text(encoding="utf-8")
        assert '<project-instructions path="web/AGENTS.md">' in document


async def test_a_new_session_inherits_the_task_of_the_named_session(home: Home) -> None:
    home.trusted = (home.workspace,)
    async with (
        LoopbackEndpoint(reading) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        first = await editor.ask("count the carts. Never touch r1.py")
        await editor.execute("indwell.newSession")
        second = await editor.ask("another thing")
        assert "count the carts" not in sent(endpoint)
        await editor.execute("indwell.newSession", {"inherit": first.session})
        third = await editor.ask("go on")
        assert len({first.session, second.session, third.session}) == 3
        assert "<task-card>" in sent(endpoint)
        assert "count the carts. Never touch r1.py" in sent(endpoint)
        assert "another thing" not in sent(endpoint)
        await editor.execute("indwell.newSession")
        await editor.ask("and now?")
        assert "<task-card>" not in sent(endpoint), "it goes along once"


async def test_an_unreadable_task_of_the_old_session_survives_the_next_prompt(home: Home) -> None:
    home.trusted = (home.workspace,)
    async with (
        LoopbackEndpoint(reading) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        first = await editor.ask("count the carts")
        await editor.execute("indwell.newSession", {"inherit": first.session})
        folder = SessionStore(home.state, home.workspace).spill(first.session).parent
        away = folder.rename(home.state / "away")
        n_sent = len(endpoint.seen)
        for _ in range(2):
            with pytest.raises(JsonRpcException, match="begin a new session to go on without it"):
                await editor.ask("go on")
        assert len(endpoint.seen) == n_sent
        away.rename(folder)
        await editor.ask("go on")
        assert "<task-card>" in sent(endpoint)


async def test_an_impossible_inheritance_is_reported_and_the_session_stays(home: Home) -> None:
    home.trusted = (home.workspace,)
    async with (
        LoopbackEndpoint(reading) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        first = await editor.ask("look")
        await editor.execute("indwell.newSession", {"inherit": "2020-nothing"})
        assert any("there is no session" in one for one in editor.messages), editor.messages
        assert (await editor.ask("go on")).session == first.session
