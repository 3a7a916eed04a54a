"""Sessions by title: a client finds, renames and deletes sessions, and reads the status."""

from __future__ import annotations

import asyncio

import pytest
from pygls.exceptions import JsonRpcException

from indwell import __version__
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import status, views
from support.editing import Editor, Home, Playlist, editing, mend
from support.loopback_endpoint import LoopbackEndpoint, say


async def ask(editor: Editor, method: str, params: object):
    return await editor.client.protocol.send_request_async(method, params)


async def refused(editor: Editor, method: str, params: object) -> str:
    with pytest.raises(JsonRpcException) as caught:
        await ask(editor, method, params)
    assert caught.value.code == -32803
    return caught.value.message


async def titles(editor: Editor, query: str = "") -> list[str]:
    found = await ask(editor, "indwell/sessions", views.SessionsParams(query=query))
    return [one.title for one in found.sessions]


async def test_sessions_are_found_renamed_and_deleted(tmp_path) -> None:
    home, playlist = Home(tmp_path), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        playlist.play(say("One."), say("Two."), say("Three."))
        first = await editor.ask("Mend the Rounding\nof totals")
        second = await editor.ask("write docs", session="new")
        await editor.ask("and the ÄRGER too")
        assert await titles(editor) == ["write docs", "Mend the Rounding of totals"]
        assert await titles(editor, "rounding") == ["Mend the Rounding of totals"]
        assert await titles(editor, "totals MEND") == ["Mend the Rounding of totals"]
        assert await titles(editor, "ärger") == ["write docs"]
        assert await titles(editor, "nothing like it") == []

        # One session is closed, the other is the current session.
        for session, title in ((first.session, "Totals"), (second.session, "The\n docs\u202e")):
            renamed = await ask(editor, "indwell/rename", status.RenameParams(session, title))
            assert renamed.title == {"Totals": "Totals"}.get(title, "The docs\\u202e")
        assert await titles(editor) == ["The docs\\u202e", "Totals"]
        assert await titles(editor, "rounding") == ["Totals"]
        own = await ask(editor, "indwell/rename", status.RenameParams(second.session, ""))
        assert own.title == "write docs"
        assert await refused(editor, "indwell/rename", status.RenameParams("none", "x"))

        shown = await ask(editor, "indwell/session", views.SessionParams(first.session))
        assert shown.title == "Totals"
        await editor.execute("indwell.resume", {"session": first.session, "wait": True})
        now = await ask(editor, "indwell/status", status.StatusParams())
        assert (now.session, now.title) == (first.session, "Totals")
        await editor.execute("indwell.resume", {"session": second.session, "wait": True})
        gone = await ask(editor, "indwell/delete", status.DeleteParams(second.session))
        assert gone == status.DeleteResult(deleted=True)
        assert await titles(editor) == ["Totals"]
        now = await ask(editor, "indwell/status", status.StatusParams())
        assert (now.session, now.title) == (None, "")
        await refused(editor, "indwell/events", views.EventsParams(second.session))
        assert await refused(editor, "indwell/delete", status.DeleteParams(second.session))


async def test_a_session_in_use_by_a_turn_or_another_editor_is_not_deleted(
    tmp_path,
) -> None:
    home, playlist = Home(tmp_path), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        gate = asyncio.Event()
        answer = say("One.")
        playlist.play(type(answer)((gate, *answer.parts)))
        running = asyncio.create_task(editor.ask("wait"))
        await playlist.asked.wait()
        now = await ask(editor, "indwell/status", status.StatusParams())
        assert now.running == 1
        assert now.session is not None
        sentence = await refused(editor, "indwell/delete", status.DeleteParams(now.session))
        assert sentence == "a turn is running in this session; stop it, then delete the session"
        gate.set()
        await running
        async with editing(home, endpoint.base_url) as other:
            for method, params in (
                ("indwell/delete", status.DeleteParams(now.session)),
                ("indwell/rename", status.RenameParams(now.session, "mine")),
            ):
                assert "open in a" in await refused(other, method, params)
        assert await titles(editor) == ["wait"]


async def test_an_idle_server_answers_requests_as_expected(tmp_path) -> None:
    home, playlist = Home(tmp_path), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        assert await ask(editor, "indwell/status", None) == status.StatusResult(
            session=None,
            title="",
            mode="review",
            modes=("plan", "ask", "review", "auto"),
            model="loopback-model",
            lacking="",
            trusted=True,
            running=None,
            version=__version__,
            pictures=None,
            cost=None,
        )
        editor.open(home.shop)
        playlist.play(*mend())
        mended = await ask(editor, "indwell/prompt", protocol.PromptParams("mend it", mode="auto"))
        await editor.execute("indwell.mode", {"mode": "plan"})
        now = await ask(editor, "indwell/status", status.StatusParams())
        assert (now.session, now.title, now.mode) == (mended.session, "mend it", "plan")
        started = [one for one in editor.events if one["type"] == "turnStarted"]
        assert [one["mode"] for one in started] == ["auto"]


async def test_the_status_without_settings_names_the_missing_model_and_known_endpoints(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    home.trusted = ()
    async with editing(home) as editor:
        now = await ask(editor, "indwell/status", status.StatusParams())
        assert now.lacking.startswith("no model is set")
        assert (now.trusted, now.model) == (False, "")
        there = await ask(editor, "indwell/providers", status.ProvidersParams())
        assert there.lacking == now.lacking
        openai = next(one for one in there.known if one.name == "openai")
        assert openai.url == "https://api.openai.com/v1"
        assert openai.page.startswith("https://")
        assert "ollama" not in {one.name for one in there.known}
