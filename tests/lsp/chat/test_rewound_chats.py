"""A rewound chat is marked, and a fork of a chat gets a chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.lsp.chat.layout import session_of
from indwell.lsp.chat.opening import _marked
from support.chatting import chat, draft, is_over, send, write
from support.editing import USAGE, Home, editing
from support.loopback_endpoint import LoopbackEndpoint, say

TEXT = """## You

a

## Indwell · turn 1

one

## You

b

## Indwell · turn 2

two

## You

draft
"""
NOTE = "> Rewound to the end of turn 1; the text between is no longer part of the conversation."


def test_a_rewind_note_is_above_the_draft_once_and_only_where_turns_were_reverted() -> None:
    now = _marked(TEXT, 1)
    assert now == TEXT.replace("## You\n\ndraft", f"{NOTE}\n\n## You\n\ndraft")
    assert _marked(now, 1) == now
    assert _marked(TEXT, 2) == TEXT
    assert "> Rewound to the beginning; the text above is no longer part" in _marked(TEXT, 0)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_a_reverted_chat_is_marked_and_a_fork_opens_a_new_chat(home) -> None:
    script = [say("one", usage=USAGE), say("two", usage=USAGE)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = await chat(editor)
        for turn, words in enumerate(("a", "b"), 1):
            write(editor, buffer, words)
            await send(editor, buffer)
            await editor.wait_until(lambda turn=turn: is_over(buffer, turn))
        # The prompt may have waited for the end of the earlier turn, so its answer named no
        # session.
        session = session_of(buffer.text.partition("\n")[0])
        forked = await editor.execute("indwell.fork", {"session": session, "turn": 1})
        chats = home.workspace / ".indwell" / "chats"

        def made() -> list[Path]:
            return [
                one
                for one in chats.iterdir()
                if forked["session"] in one.read_text(encoding="utf-8")
            ]

        await editor.wait_until(lambda: any("in the chat" in one for one in editor.messages))
        (path,) = made()
        assert "## Indwell · turn 1\n" in path.read_text(encoding="utf-8")
        assert "turn 2" not in path.read_text(encoding="utf-8")
        assert (
            "Indwell: a new session continues from the end of turn 1, in the chat " + path.name
        ) in editor.messages
        write(editor, buffer, "my draft")
        await editor.execute("indwell.rewind", {"session": session, "turn": 1})
        told = "Indwell: rewound to the end of turn 1"
        # A notice of the server may follow, such as the notice about an update of its files.
        await editor.wait_until(
            lambda: NOTE in buffer.text and any(one.startswith(told) for one in editor.messages)
        )
        assert buffer.text.index("turn 2") < buffer.text.index(NOTE)
        assert draft(buffer) == "my draft"
