"""The model's to-do list for a client: as an event, and in a session that is read later."""

from __future__ import annotations

import json

from indwell.lsp.messages import views
from support.editing import USAGE, Editor, Home, Playlist, editing
from support.loopback_endpoint import LoopbackEndpoint, say

READ, FIX = views.TodoRow("Read", "done"), views.TodoRow("Fix", "doing", (1,))
TEST = views.TodoRow("Test", "open", (1, 2))
READ_ROW = {"text": "Read", "state": "done", "after": []}


def plan(*items: views.TodoRow):
    rows = [{"text": one.text, "state": one.state, "after": one.after} for one in items]
    return say(calls=[("todo", json.dumps({"items": rows}))], usage=USAGE)


async def todo(editor: Editor, session: str | None = None) -> tuple[views.TodoRow, ...]:
    params = views.SessionParams(session)
    shown = await editor.client.protocol.send_request_async("indwell/session", params)
    return shown.todo


async def test_the_todo_list_is_reported_and_restored_after_a_restart(tmp_path) -> None:
    home, playlist = Home(tmp_path), Playlist()
    async with LoopbackEndpoint(playlist) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            playlist.play(plan(READ), say("One."), plan(READ, FIX), say("Two."))
            first = await editor.ask("one")
            await editor.ask("two")
            told = [one["items"] for one in editor.events if one["type"] == "todoChanged"]
            assert told == [
                [READ_ROW],
                [READ_ROW, {"text": "Fix", "state": "doing", "after": [1]}],
            ]
            assert await todo(editor) == (READ, FIX)
            fork = await editor.execute("indwell.fork", {"turn": 1, "wait": True})
            assert (await todo(editor), await todo(editor, first.session)) == (
                (READ,),
                (READ, FIX),
            )
            assert fork["session"] != first.session
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            resumed = {"session": first.session, "wait": True}
            await editor.execute("indwell.resume", resumed)
            assert await todo(editor) == (READ, FIX)
            await editor.execute("indwell.rewind", {"turn": 1, "files": False, "wait": True})
            assert await todo(editor) == (READ,)
            playlist.play(plan(READ, FIX, TEST), say("Three."))
            await editor.ask("three")
            assert await todo(editor) == (READ, FIX, TEST)
