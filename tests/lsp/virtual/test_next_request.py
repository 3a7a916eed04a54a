"""The document of the next request equals the request that is really sent."""

from __future__ import annotations

import json
from pathlib import Path

from support.chatting import chat, is_over, send, write
from support.editing import EDIT, READ, Home, editing
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import LoopbackEndpoint, say


def last_user(seen) -> str:
    return [one["content"] for one in seen.body["messages"] if one["role"] == "user"][-1]


async def test_the_request_document_shows_every_sent_line_and_sends_no_request(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    replies = [
        say("Look.", calls=[READ]),
        say(calls=[EDIT]),
        say("Done."),
        say("Fine."),
        say("Ok."),
    ]
    async with (
        LoopbackEndpoint(replies) as endpoint,
        editing(home, endpoint.base_url, profile=PLAIN) as editor,
    ):
        shop, paper = editor.open(home.shop), await chat(editor)
        write(editor, paper, "Fix it.")
        await send(editor, paper)
        await editor.wait_until(lambda: is_over(paper, 1))
        await editor.execute("indwell.reject", {"uri": shop.uri})
        editor.type_text(shop, 0, 0, "# a line of the user's\n")

        async def shown() -> str:
            found = await editor.execute("indwell.open", {"what": "request"})
            return Path(found["uri"].removeprefix("file://")).read_text(encoding="utf-8")

        document, again = await shown(), await shown()
        context = json.dumps(await editor.execute("indwell.explainRequest"))
        write(editor, paper, "Go on")
        await send(editor, paper)
        await editor.wait_until(lambda: is_over(paper, 2))
        sent = last_user(endpoint.seen[-1])
        assert "rejected" in sent
        assert "a line of the user's" in sent
        words = [one for one in sent.split("\n") if one.strip() and one != "Go on"]
        assert [one for one in words if one not in document] == []
        assert again == document
        assert "changed_file" in context
        told = [one for one in (await shown()).split("\n") if "no, goes with your words" in one]
        assert not [one for one in told if "changed_file" in one]
