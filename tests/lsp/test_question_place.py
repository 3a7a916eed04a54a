"""The model asks where the turn was begun, because an open chat may not be visible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from indwell.lsp.front_door import IN_CHAT, NO_ANSWER
from indwell.lsp.methods.planning import APPROVE, EDIT, NOT_NOW
from support.chatting import chat, is_over, send, write
from support.editing import USAGE, Home, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.plan_asking import propose

PORT = json.dumps({"question": "Which port?", "options": ["8000", "8080"]})
ASKING = say(calls=[("ask_user", PORT)], usage=USAGE)
WELL = say("Well.", usage=USAGE)


async def nobody(_message: str, _titles: Sequence[str]) -> str | None:
    """Answer nothing; the message stays until it is withdrawn."""
    await asyncio.Event().wait()
    return None


async def test_a_code_action_turn_asks_in_a_message_and_in_the_chat(tmp_path) -> None:
    home = Home(tmp_path)
    script = [WELL, ASKING, WELL, ASKING, WELL]
    async with LoopbackEndpoint(script) as endpoint, editing(home, endpoint.base_url) as editor:
        shop, page = editor.open(home.shop), await chat(editor)
        write(editor, page, "begin\n")
        await send(editor, page)
        await editor.wait_until(lambda: is_over(page, 1))
        asking = {"uri": shop.uri, "text": "what is it?"}

        editor.answers.choose = lambda _message, titles: titles[1]
        await editor.execute("indwell.ask", asking)
        await editor.wait_until(lambda: is_over(page, 2))
        assert editor.choices == [["1. 8000", "2. 8080", IN_CHAT, NO_ANSWER]]
        assert results(endpoint.seen[-1]) == ["The user chose option 2: 8080"]
        assert "> **The model asks:**" in page.text

        editor.answers.choose = nobody
        await editor.execute("indwell.ask", asking)
        await editor.wait_until(lambda: page.text.count("> **The model asks:**") == 2)
        write(editor, page, "1\n")
        await send(editor, page)
        await editor.wait_until(lambda: is_over(page, 3))
        assert results(endpoint.seen[-1])[-1] == "The user chose option 1: 8000"


async def test_the_approval_of_a_plan_is_asked_where_the_turn_began(tmp_path) -> None:
    home = Home(tmp_path)
    script = [propose(), propose()]
    async with LoopbackEndpoint(script) as endpoint, editing(home, endpoint.base_url) as editor:
        shop, page = editor.open(home.shop), await chat(editor)
        await editor.execute("indwell.mode", {"mode": "plan"})
        assert editor.messages == ["Indwell: the mode is `plan` now"]
        write(editor, page, "begin\n")
        await send(editor, page)
        # A prompt before the turn's end would be held behind the plan.
        await editor.wait_until(lambda: is_over(page, 1) and editor.progress[-1]["kind"] == "end")
        editor.answers.choose = lambda _message, _titles: NOT_NOW
        await editor.execute("indwell.ask", {"uri": shop.uri, "text": "what is it?"})
        await editor.wait_until(lambda: bool(editor.choices))
        assert editor.choices == [[NOT_NOW, APPROVE, EDIT]], "the chat's own was not asked about"
        assert is_over(page, 2)
