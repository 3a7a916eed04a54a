"""A server is killed during a turn; the next server continues at the end of the log."""

from __future__ import annotations

import asyncio
import json

import pytest
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages.views import SessionParams
from indwell.service.chores import Chores
from indwell.service.sessions.stored_sessions import Keeping
from indwell.sessions.records import ENDED, TurnEndRecord
from indwell.sessions.storage.store import SessionStore
from support.editing import (
    EDIT,
    MENDED,
    MODEL,
    READ,
    SOURCE,
    USAGE,
    Editor,
    Home,
    bash,
    editing,
    results,
)
from support.fake_editor.buffer import Buffer, lines_range
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint, say
from support.model_server import answering, listed
from support.strict_chat import strictly

RICH = ("events", "permission")


async def once(_question: object) -> str:
    return "once"


async def kill(editor: Editor) -> None:
    """Kill the server, as the kernel does when memory is exhausted."""
    editor.process.kill()
    await editor.process.wait()


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def _is_refused_quietly(editor: Editor, session: str) -> None:
    """Check for an error with a code, for a client that tries again by itself."""
    before = list(editor.messages)
    with pytest.raises(JsonRpcException) as caught:
        await editor.execute("indwell.resume", {"session": session, "quiet": True})
    assert caught.value.data == {"reason": "openElsewhere"}
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask("words that come back", session=session)
    assert caught.value.data == {"draft": "words that come back", "reason": "openElsewhere"}
    with pytest.raises(JsonRpcException) as caught:
        await editor.execute("indwell.resume", {"session": "2020", "quiet": True})
    assert caught.value.data is None
    assert editor.messages == before


def newest(home: Home) -> str:
    return SessionStore(home.state, home.workspace).ids()[0]


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_turn_interrupted_by_a_reload_continues_without_repeating_commands(
    home, is_killed
) -> None:
    script = [bash("echo begun >> ran.txt; echo started; sleep 2")]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        editor.answers.permission = once
        asked = asyncio.ensure_future(editor.ask("run it"))
        await editor.wait_for_event("toolOutput")
        await (kill(editor) if is_killed else editor.stop())
        asked.cancel()
    session = newest(home)
    async with (
        LoopbackEndpoint(strictly([say("I went on.", usage=USAGE)])) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        assert "Continue the interrupted turn" not in await offered(editor, buffer)
        await editor.execute("indwell.resume", {"session": session})
        page = await editor.client.protocol.send_request_async(
            "indwell/session", SessionParams(session)
        )
        assert [(row.events[-1]["ending"], row.events[-1]["message"]) for row in page.turns] == [
            ("interrupted", ENDED)
        ]
        assert "Continue the interrupted turn" in await offered(editor, buffer)
        await editor.execute("indwell.continue")
        await editor.wait_for_event("turnFinished")
        assert "Continue the interrupted turn" not in await offered(editor, buffer)
        (sent,) = [one.body for one in endpoint.seen if one.method == "POST"]
        assert "Continue from where you stopped: Indwell ended" in str(sent["messages"][-1])
    assert (home.workspace / "ran.txt").read_text(encoding="utf-8") == "begun\n"


async def offered(editor: Editor, buffer: Buffer) -> list[str]:
    return [one.title for one in await editor.code_actions(buffer, lines_range(1, 2))]


async def test_per_09_after_a_kill_during_a_command_the_next_server_reports_an_unknown_result(
    home,
) -> None:
    # The command's process group ends by itself after its parent, because the command is short.
    script = [bash("echo begun >> ran.txt; echo started; sleep 2")]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        editor.answers.permission = once
        asked = asyncio.ensure_future(editor.ask("run it"))
        await editor.wait_for_event("toolOutput")
        await kill(editor)
        asked.cancel()
    session = newest(home)
    script = [say("I look first.", usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        resumed = await editor.execute("indwell.resume", {"session": session})
        unknown = "Indwell ended during 1 call (bash), so the result is unknown"
        assert resumed == {
            "session": session,
            "turns": 1,
            "model": MODEL,
            "draft": "",
            "notices": [unknown],
        }
        answer = await editor.ask("and?")
        assert (answer.session, answer.turn, answer.ending) == (session, 2, "done")
        assert results(endpoint.seen[0]) == [
            "[unknown outcome: Indwell ended while this ran; look before repeating it]"
        ]
        assert (home.workspace / "ran.txt").read_text(encoding="utf-8") == "begun\n"
        assert editor.messages == [f"Indwell: {unknown}"]
    (log,) = home.logs()
    assert [one.ending for one in log if isinstance(one, TurnEndRecord)] == ["interrupted", "done"]


@pytest.mark.parametrize(
    ("stands", "said"), [(MENDED, "so it was done"), (SOURCE, "so it was not done")]
)
async def test_per_10_after_a_kill_during_an_edit_the_buffer_is_compared(
    home, stands, said
) -> None:
    script = [say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        editor.hold = asyncio.Event()
        editor.open(home.shop)
        asked = asyncio.ensure_future(editor.ask("mend it"))
        await editor.wait_until(lambda: editor.n_held == 1)
        await kill(editor)
        asked.cancel()
    async with (
        LoopbackEndpoint(strictly([say("I see.", usage=USAGE)])) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        # The text is not saved, so only the buffer has it.
        editor.type_text(buffer, 0, len(buffer.text), stands)
        await editor.heard()
        # A prompt that names an older session resumes that session.
        answer = await editor.ask("go on", session=newest(home))
        assert (answer.turn, answer.ending) == (2, "done")
        (_read, edited) = results(endpoint.seen[0])
        assert "unknown outcome" in edited
        assert said in edited
        assert home.shop.read_text(encoding="utf-8") == SOURCE
        (notice,) = [one["message"] for one in editor.events if one["type"] == "notice"]
        assert "during 1 call (edit_file)" in notice


async def test_prompts_queued_in_a_killed_server_are_reported_once_by_the_next_server(
    home,
) -> None:
    async with LoopbackEndpoint([Answer((HANG,))]) as endpoint:
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            asked = [asyncio.ensure_future(editor.ask("first"))]
            await endpoint.arrived.wait()
            asked += [asyncio.ensure_future(editor.ask(f"waits {n}")) for n in range(3)]
            await editor.wait_until(
                lambda: (
                    editor.events[-1].get("type") == "queueChanged"
                    and len(editor.events[-1]["waiting"]) == 3
                )
            )
            await until_kept(home, editor, "waits 2")
            (other,) = (home.state / "drafts").rglob("waiting-*.jsonl")
            # The other server still runs, so its prompts stay its own.
            async with editing(home, endpoint.base_url) as beside:
                await beside.heard()
                await beside.stop()
                assert (beside.messages, other.exists()) == ([], True)
            await kill(editor)
            for one in asked:
                one.cancel()
        for expected in (True, False):
            async with editing(home, endpoint.base_url) as editor:
                if expected:
                    await editor.wait_until(lambda: editor.messages != [])
                await editor.stop()
                assert bool(editor.messages) is expected
    (kept,) = (path for path in (home.state / "drafts").rglob("*") if path.is_file())
    assert kept.read_text(encoding="utf-8") == "waits 0\n\n---\n\nwaits 1\n\n---\n\nwaits 2\n"
    resumed = SessionStore(home.state, home.workspace).open(newest(home))
    assert "first" in str(resumed.records)


async def until_kept(home: Home, editor: Editor, words: str) -> None:
    """Send requests to the server until its thread has written a file."""
    async with asyncio.timeout(60):
        while not any(
            words in path.read_text(encoding="utf-8")
            for path in (home.state / "drafts").rglob("waiting-*")
        ):
            await editor.heard()


async def test_resuming_asks_for_a_session_and_for_a_model_if_the_old_model_is_gone(
    home,
) -> None:
    home.configure('models = ["second-model"]\n')
    strict = strictly([say("one"), say("two"), say("three")])

    async with LoopbackEndpoint(answering(listed(MODEL, "second-model"), chat=strict)) as endpoint:
        variables = home.environment(endpoint.base_url, INDWELL_MODEL="older-model")
        async with editing(home, environment=variables, extensions=RICH) as editor:
            with pytest.raises(JsonRpcException, match="there is no session 'nope'"):
                await editor.ask("x", session="nope")
            assert await editor.execute("indwell.resume") is None
            assert editor.messages == ["Indwell: this folder has no older session to resume"]
            await editor.ask("the first of all words")
            first = newest(home)
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            await editor.ask("others")
            current = newest(home)
            editor.answers.choose = lambda _message, _titles: None
            assert await editor.execute("indwell.resume") is None
            editor.answers.choose = lambda _message, titles: titles[-1]
            resumed = await editor.execute("indwell.resume")
            assert (resumed["session"], resumed["model"]) == (first, "second-model")
            chosen, models = editor.choices[-2:]
            assert [title.partition(" (")[0] for title in chosen] == ["the first of all words"]
            assert models == [MODEL, "second-model"]
            assert "used the model 'older-model'" in editor.messages[-1]
            assert (await editor.ask("on")).session == first
            # Resuming the same session changes nothing; a session that cannot be resumed changes
            # nothing.
            assert (await editor.execute("indwell.resume", {"session": first}))["turns"] == 2
            async with editing(home, endpoint.base_url, extensions=RICH) as beside:
                assert await beside.execute("indwell.resume", {"session": first}) is None
                assert "is open in another editor" in beside.messages[-1]
                await _is_refused_quietly(beside, first)
            assert await editor.execute("indwell.resume", {"session": "2020"}) is None
            assert "there is no session '2020'" in editor.messages[-1]
            assert current in SessionStore(home.state, home.workspace).ids()
    sent = [one.body for one in endpoint.seen if one.method == "POST"]
    assert [one["model"] for one in sent] == ["older-model", MODEL, "second-model"]
    said = json.dumps(sent[2]["messages"])
    assert "the first of all words" in said
    assert "others" not in said


async def test_only_the_newest_waiting_prompts_are_stored_by_one_write_at_a_time() -> None:
    kept: list[dict[str, str]] = []
    go_on = asyncio.Event()
    chores = Chores()

    async def keep(unsent: dict[str, str]) -> None:
        kept.append(dict(unsent))
        await go_on.wait()

    keeping = Keeping(keep, chores)
    for number in range(5):
        keeping.want({"p": str(number)})
    await asyncio.wait(chores._tasks, timeout=0)
    go_on.set()
    await asyncio.wait(chores._tasks)
    assert kept == [{"p": "4"}]
    keeping.want({"p": "4"})
    assert not chores._tasks
    keeping.want({})
    await asyncio.wait(chores._tasks)
    assert kept[-1] == {}


async def test_a_shutdown_waits_for_a_running_write_of_prompts() -> None:
    kept: list[dict[str, str]] = []
    go_on = asyncio.Event()
    chores = Chores()

    async def keep(unsent: dict[str, str]) -> None:
        if unsent:
            await go_on.wait()
        kept.append(dict(unsent))

    keeping = Keeping(keep, chores)
    keeping.want({"p": "words"})
    await asyncio.wait(chores._tasks, timeout=0)
    clearing = asyncio.create_task(keeping.clear())
    await asyncio.wait({clearing}, timeout=0)
    assert kept == []
    go_on.set()
    await clearing
    assert kept == [{"p": "words"}, {}]
