"""One session can be used from the editor and from the terminal, which share the service."""

from __future__ import annotations

import pytest

from indwell.sessions.storage.store import SessionStore
from support.editing import Home, editing
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly
from support.terminal import indwell

WORDS = ("asked in the editor", "asked in the terminal", "asked in the editor again")


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_a_session_begun_in_the_editor_continues_in_the_terminal_and_then_in_the_editor(
    home,
) -> None:
    script = strictly([say(f"Answer {number}.") for number in (1, 2, 3)])
    async with LoopbackEndpoint(script) as endpoint:
        url = endpoint.base_url
        async with editing(home, url) as editor:
            first = await editor.ask(WORDS[0])
        (session,) = SessionStore(home.state, home.workspace).ids()
        ended = await indwell(
            *("run", "--resume", session, WORDS[1]),
            environment=home.environment(url),
            folder=home.workspace,
        )
        assert (ended.code, "Answer 2." in ended.stdout) == (0, True)
        async with editing(home, url) as editor:
            last = await editor.ask(WORDS[2], session=session)
        bodies = [one.body["messages"] for one in endpoint.seen if one.method == "POST"]
    assert (first.session, last.session, last.turn) == (session, session, 3)
    assert SessionStore(home.state, home.workspace).ids() == (session,)
    one, two, three = bodies
    assert (two[: len(one)], three[: len(two)]) == (one, two)
    said = [str(body[-1]["content"]) for body in bodies]
    assert [words in text for words, text in zip(WORDS, said, strict=True)] == [True] * 3


async def test_the_terminal_refuses_a_session_that_the_editor_has_open(home) -> None:
    async with (
        LoopbackEndpoint(strictly([say("Well.")])) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        begun = await editor.ask(WORDS[0])
        ended = await indwell(
            *("run", "--resume", begun.session, WORDS[1]),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    assert (ended.code, len(endpoint.seen)) == (1, 1)
    assert "open" in ended.stdout + ended.stderr
