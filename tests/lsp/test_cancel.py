from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.editing import Editor, Home, Playlist, bash, editing, results, running
from support.fake_editor.buffer import lines_range
from support.loopback_endpoint import HANG, LoopbackEndpoint, chunk, say, stream

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
AT_ONCE_S = 60.0  # seconds; 0.2 s is promised, and a real wait would take 1,000
STOPPED = {"ending": "cancelled", "message": "stopped"}


@dataclass
class Desk:
    home: Home
    editor: Editor
    playlist: Playlist
    endpoint: LoopbackEndpoint

    async def sleeping(self) -> tuple[asyncio.Task[object], str]:
        """Start a turn whose command sleeps; return the turn and the command's marker."""
        marker = f"1000.{secrets.randbelow(10**9):09}"
        self.playlist.play(bash(f"echo started; sleep {marker}"), say("And on."))
        self.editor.events.clear()
        asked = asyncio.create_task(self.editor.ask("sleep", id_=marker))
        await self.editor.wait_for_event("toolOutput")
        assert running(marker) != []
        return asked, marker

    async def goes_on(self) -> None:
        """Send another prompt; its request reports the end of the last command."""
        finished = await self.editor.ask("go on")
        assert (finished.ending, finished.answer) == ("done", "And on.")
        assert results(self.endpoint.seen[-1])[-1] == (
            "[interrupted before it finished; its effect, if any, is unknown]"
        )
        self.home.logs()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[Desk]:
    home, playlist = Home(tmp_path_factory.mktemp("cancel")), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "permission")) as editor,
    ):

        async def once(_question: object) -> str:
            return "once"

        editor.answers.permission = once
        yield Desk(home, editor, playlist, endpoint)
    home.logs()


async def test_the_command_cancels_and_the_prompt_answers_at_once(desk) -> None:
    asked, marker = await desk.sleeping()
    async with asyncio.timeout(AT_ONCE_S):
        assert await desk.editor.execute("indwell.cancel") is True
        finished = await asked
    assert (finished.ending, finished.message, finished.draft) == ("cancelled", "stopped", "")
    assert running(marker) == []
    await desk.goes_on()


async def test_the_stop_button_of_the_progress_cancels_its_own_turn_only(desk) -> None:
    asked, marker = await desk.sleeping()
    stop = desk.editor.client.window_work_done_progress_cancel
    stop(types.WorkDoneProgressCancelParams(token="somebody-else-s"))
    stop(types.WorkDoneProgressCancelParams(token=desk.editor.progress_tokens[0]))
    await desk.editor.heard()
    assert (asked.done(), running(marker) != []) == (False, True)
    async with asyncio.timeout(AT_ONCE_S):
        stop(types.WorkDoneProgressCancelParams(token=desk.editor.progress_tokens[-1]))
        finished = await asked
    assert (finished.ending, finished.message) == ("cancelled", "stopped")
    assert running(marker) == []
    await desk.goes_on()


async def test_cancelling_the_request_cancels_its_turn(desk) -> None:
    asked, marker = await desk.sleeping()
    async with asyncio.timeout(AT_ONCE_S):
        desk.editor.client.protocol.notify("$/cancelRequest", types.CancelParams(id=marker))
        with pytest.raises(JsonRpcException) as caught:
            await asked
        finished = await desk.editor.wait_for_event("turnFinished")
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    assert {key: finished[key] for key in STOPPED} == STOPPED
    assert running(marker) == []
    await desk.goes_on()


async def test_stopping_a_turn_is_a_code_action_while_one_runs(desk) -> None:
    asked, _ = await desk.sleeping()
    buffer = desk.editor.open(desk.home.shop)
    actions = await desk.editor.code_actions(buffer, lines_range(1, 1))
    stop = next(one.command for one in actions if one.title == "Stop the running turn")
    assert await desk.editor.execute(stop.command) is True
    assert (await asked).ending == "cancelled"


async def test_a_cancelled_answer_keeps_the_part_already_received(desk) -> None:
    desk.endpoint.gone.clear()
    desk.editor.events.clear()
    desk.playlist.play(stream(chunk({"content": "The beginning"}), HANG), say("Again."))
    asked = asyncio.create_task(desk.editor.ask("tell me"))
    await desk.editor.wait_for_event("text")
    async with asyncio.timeout(AT_ONCE_S):
        await desk.editor.execute("indwell.cancel")
        finished = await asked
        await desk.endpoint.gone.wait()  # the endpoint stops computing
    assert (finished.ending, finished.answer, finished.draft) == ("cancelled", "The beginning", "")
    await desk.editor.ask("and?")
    told, asked_then = desk.endpoint.seen[-1].body["messages"][-2:]
    assert told == {"role": "assistant", "content": "The beginning\n[the reply broke off here]"}
    # An older selection may precede the prompt.
    assert (asked_then["role"], asked_then["content"].rpartition("\n")[2]) == ("user", "and?")


async def test_an_unanswered_prompt_returns_to_the_user(desk) -> None:
    desk.playlist.play(stream(HANG), say("Again."))
    asked = asyncio.create_task(desk.editor.ask("my long prompt"))
    await desk.playlist.asked.wait()
    await desk.editor.execute("indwell.cancel")
    finished = await asked
    assert (finished.ending, finished.draft) == ("cancelled", "my long prompt")
    await desk.editor.ask("other words")
    assert "my long prompt" not in desk.endpoint.seen[-1].raw.decode()


async def test_cancel_without_a_running_turn_returns_false(desk) -> None:
    assert await desk.editor.execute("indwell.cancel") is False


async def test_a_stop_while_the_session_is_still_being_opened_is_reported(tmp_path) -> None:
    """The editor supports progress, but no progress has begun: the trust question is open."""
    home = Home(tmp_path)
    home.trusted = ()
    async with (
        LoopbackEndpoint([]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.behave(chooses=False)
        await editor.fix(editor.open(home.shop))
        await editor.wait_until(lambda: editor.choices != [])
        assert await editor.execute("indwell.cancel") is True
        await editor.wait_until(lambda: "Indwell: stopped" in editor.messages)
        await editor.heard()
        assert editor.messages.count("Indwell: stopped") == 1
        assert (editor.progress_tokens, endpoint.seen) == ([], [])
