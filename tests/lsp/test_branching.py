"""``indwell.fork`` and ``indwell.rewind`` in an editor: the conversation continues from a turn."""

from __future__ import annotations

import json

import pytest
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages.views import SessionParams
from indwell.sessions.storage.store import SessionStore
from support.branch_logs import log_of
from support.editing import MODEL, USAGE, Home, editing
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def said(seen) -> list[str]:
    """Return the user's own texts in a request."""
    texts = [str(one["content"]) for one in seen.body["messages"] if one["role"] == "user"]
    return [text.rsplit("\n", 1)[-1] for text in texts]


async def test_a_rewind_and_a_fork_continue_from_a_turn_and_keep_earlier_messages(home) -> None:
    replies = [say(f"reply {number}", usage=USAGE) for number in range(6)]
    async with (
        LoopbackEndpoint(strictly(replies)) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        for words in ("one", "two", "three"):
            answer = await editor.ask(words)
        session = answer.session
        store = SessionStore(home.state, home.workspace)
        before = log_of(store, session).read_bytes()
        back = await editor.execute("indwell.rewind", {"turn": 1})
        assert back == {
            "session": session,
            "turns": 3,
            "model": MODEL,
            "draft": "two",
            "notices": [],
        }
        answer = await editor.ask("otherwise")
        assert (answer.session, answer.turn) == (session, 4)
        assert log_of(store, session).read_bytes().startswith(before)

        shown = await editor.client.protocol.send_request_async("indwell/session", SessionParams())
        assert [(one.turn, one.left) for one in shown.turns] == [
            (1, False),
            (2, True),
            (3, True),
            (4, False),
        ]

        forked = await editor.execute("indwell.fork", {"turn": 3})
        assert (forked["turns"], forked["draft"]) == (3, "")
        assert forked["session"] != session
        answer = await editor.ask("in the fork")
        assert (answer.session, answer.turn) == (forked["session"], 4)
        # Without a turn, the fork includes all ended turns of the named session.
        whole = await editor.execute("indwell.fork", {"session": session})
        answer = await editor.ask("in the other")
        assert answer.session == whole["session"]
    assert [said(one) for one in endpoint.seen[3:]] == [
        ["one", "otherwise"],
        ["one", "two", "three", "in the fork"],
        ["one", "otherwise", "in the other"],
    ]
    assert len(home.logs()) == 3


async def test_an_impossible_rewind_is_reported_and_the_session_continues(home) -> None:
    async with (
        LoopbackEndpoint(strictly([say("a", usage=USAGE), say("b", usage=USAGE)])) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        with pytest.raises(JsonRpcException, match="needs one argument: an object with `turn`"):
            await editor.execute("indwell.rewind")
        assert await editor.execute("indwell.fork") is None
        assert "no session has begun yet" in editor.messages[-1]
        answer = await editor.ask("one")
        assert await editor.execute("indwell.rewind", {"turn": 5}) is None
        assert "the session has no turn 5; its turns are 1 to 1" in editor.messages[-1]
        assert await editor.execute("indwell.fork", {"turn": -1}) is None
        assert await editor.execute("indwell.fork", {"session": "../x"}) is None
        assert "'../x' is not a session id" in editor.messages[-1]
        again = await editor.ask("two")
        assert (again.session, again.turn) == (answer.session, 2)
    assert "one" in json.dumps(endpoint.seen[1].body["messages"])
