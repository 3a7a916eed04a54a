"""Prompts during a turn: they wait, continue, are held, changed or cancelled, but never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import methods as protocol
from support.editing import READ, Editor, Home, Playlist, editing, texts_of
from support.fake_editor.buffer import lines_range
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint, refuse, say, stream

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Desk:
    home: Home
    editor: Editor
    playlist: Playlist
    endpoint: LoopbackEndpoint

    async def hanging(self, *then: Answer) -> asyncio.Task[Any]:
        """Start a turn whose model does not answer; ``then`` has the later answers."""
        self.playlist.play(stream(HANG), *then)
        asked = asyncio.create_task(self.editor.ask("first"))
        await self.playlist.asked.wait()
        self.editor.events.clear()
        return asked

    async def asks(self, *prompts: str) -> list[asyncio.Task[Any]]:
        """Send prompts, and wait until they are queued."""
        asked = [asyncio.create_task(self.editor.ask(one, id_=one)) for one in prompts]
        await self.told(lambda one: [two["text"] for two in one["waiting"]] == list(prompts))
        return asked

    async def told(self, wanted: Any) -> None:
        """Wait for a state of the queue."""
        await self.editor.wait_until(
            lambda: any(one["type"] == "queueChanged" and wanted(one) for one in self.editor.events)
        )

    async def queue(self, *params: Any, **named: Any) -> Any:
        return await self.editor.client.protocol.send_request_async(
            "indwell/queue", protocol.QueueParams(*params, **named)
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[Desk]:
    home, playlist = Home(tmp_path_factory.mktemp("queue")), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        yield Desk(home, editor, playlist, endpoint)
    home.logs()


async def test_after_a_stop_waiting_prompts_are_held_until_a_continue_request(desk) -> None:
    first = await desk.hanging(say("Two."), say("Three."))
    two, three = await desk.asks("two", "three")
    assert await desk.editor.execute("indwell.cancel") is True
    assert (await first).draft == "first"
    state = await desk.queue()
    assert (state.held, [one.text for one in state.waiting]) == (
        "the previous turn was stopped",
        ["two", "three"],
    )
    await desk.queue("resume", seq=state.seq)
    assert [(await one).answer for one in (two, three)] == ["Two.", "Three."]
    assert (await desk.queue()).waiting == ()


async def test_a_new_prompt_releases_held_prompts_to_run_first(desk) -> None:
    first = await desk.hanging(say("Two."), say("Three."))
    (two,) = await desk.asks("two")
    await desk.editor.execute("indwell.cancel")
    await first
    three = await desk.editor.ask("three")
    assert ((await two).answer, three.answer) == ("Two.", "Three.")
    assert (await two).turn + 1 == three.turn


async def test_prompts_that_wait_stay_with_their_session_when_a_new_one_begins(desk) -> None:
    first = await desk.hanging(say("Elsewhere."), say("And more."), say("Two."))
    (two,) = await desk.asks("two")
    await desk.editor.execute("indwell.newSession")
    stopped = await first
    new = await desk.editor.ask("elsewhere", session="new")
    more = await desk.editor.ask("and more")
    assert (new.answer, more.answer) == ("Elsewhere.", "And more.")
    assert new.session == more.session != stopped.session
    state = await desk.queue()
    assert state.held
    assert [(one.text, one.session) for one in state.waiting] == [("two", stopped.session)]
    await desk.queue("resume")
    assert ((await two).answer, (await two).session) == ("Two.", stopped.session)
    await desk.editor.execute("indwell.newSession")


async def test_a_failure_holds_the_queue_and_says_why(desk) -> None:
    gate = asyncio.Event()
    refusal = refuse(400, "no such thing")
    desk.playlist.play(Answer((gate, *refusal.parts), refusal.status, refusal.headers), say("Two."))
    first = asyncio.create_task(desk.editor.ask("first"))
    await desk.playlist.asked.wait()
    desk.editor.events.clear()
    (two,) = await desk.asks("two")
    gate.set()
    failed = await first
    assert (failed.ending, failed.draft) == ("failed", "first")
    assert (await desk.queue()).held == failed.message
    await desk.queue("resume")
    assert (await two).answer == "Two."


async def test_a_queued_prompt_can_be_cancelled_and_its_text_is_returned(desk) -> None:
    first = await desk.hanging()
    (two,) = await desk.asks("two")
    desk.editor.client.protocol.notify("$/cancelRequest", types.CancelParams(id="two"))
    with pytest.raises(JsonRpcException) as caught:
        await two
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    assert caught.value.data == {"draft": "two"}
    assert not first.done()
    await desk.editor.execute("indwell.cancel")
    await first


async def test_only_a_client_with_the_newest_state_can_change_the_queue(desk) -> None:
    first = await desk.hanging(say("C."), say("A."))
    a, b, c = await desk.asks("a", "b", "c")
    seen = await desk.queue()
    ids = {one.text: one.id for one in seen.waiting}
    moved = await desk.queue("move", seq=seen.seq, id=ids["c"], to=0)
    assert [one.text for one in moved.waiting] == ["c", "a", "b"]
    with pytest.raises(JsonRpcException) as caught:
        await desk.queue("remove", seq=seen.seq, id=ids["b"])
    assert (caught.value.code, caught.value.message[:35]) == (
        -32803,
        "the queue was changed meanwhile (it",
    )
    removed = await desk.queue("remove", seq=moved.seq, id=ids["b"])
    withdrawn = await b
    assert (withdrawn.ending, withdrawn.draft, withdrawn.session) == ("cancelled", "b", None)
    await desk.queue("edit", seq=removed.seq, id=ids["a"], text="other words")
    await desk.editor.execute("indwell.cancel")
    await first
    await desk.queue("resume")
    assert [(await one).answer for one in (c, a)] == ["C.", "A."]
    assert texts_of(desk.endpoint.seen[-1].body["messages"]).endswith("other words")


async def test_a_queued_prompt_is_sent_with_the_selection_at_the_time_of_typing(desk) -> None:
    buffer = desk.editor.open(desk.home.shop)
    first = await desk.hanging(say("Two."))
    desk.editor.select(buffer, lines_range(2, 2))
    (two,) = await desk.asks("two")
    desk.editor.type_text(buffer, 0, 0, "# later\n")
    desk.editor.select(buffer, lines_range(1, 1))
    await desk.editor.execute("indwell.cancel")
    await first
    await desk.queue("resume")
    await two
    asked = texts_of(desk.endpoint.seen[-1].body["messages"])
    assert "The user selected line 2 of shop.py:\n    return sum(items) + 1" in asked
    assert "# later" not in asked


async def test_a_queued_command_answers_at_once_with_its_queue_position(desk) -> None:
    buffer = desk.editor.reopen(desk.home.shop, "def total(items):\n    return 1\n")
    first = await desk.hanging(say("Fixed."))
    started = await desk.editor.fix(buffer)
    assert started == {"session": None, "turn": None, "queued": started["queued"]}
    (waiting,) = (await desk.queue()).waiting
    assert (waiting.id, waiting.title) == (started["queued"], "Fix this: shop.py, lines 1-2")
    await desk.editor.execute("indwell.cancel")
    await first
    desk.editor.events.clear()
    await desk.queue("resume")
    assert (await desk.editor.wait_for_event("turnFinished"))["answer"] == "Fixed."


async def test_cancelling_a_command_that_waits_for_its_turn_stops_the_turn(desk) -> None:
    desk.playlist.play(stream(HANG))
    desk.editor.events.clear()
    arguments = {"uri": desk.home.shop.as_uri(), "wait": True}
    params = types.ExecuteCommandParams(command="indwell.fix", arguments=[arguments])
    asked = desk.editor.client.protocol.send_request_async(
        "workspace/executeCommand", params, "the-fix"
    )
    await desk.playlist.asked.wait()
    desk.editor.client.protocol.notify("$/cancelRequest", types.CancelParams(id="the-fix"))
    with pytest.raises(JsonRpcException) as caught:
        await asked
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    assert (await desk.editor.wait_for_event("turnFinished"))["ending"] == "cancelled"


async def test_steering_messages_reach_only_the_running_turn(desk) -> None:
    steer = desk.editor.client.protocol.send_request_async
    with pytest.raises(JsonRpcException) as caught:
        await steer("indwell/steer", protocol.SteerParams("faster"))
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -32803,
        "no turn is running; send the words with indwell/prompt instead",
        {"draft": "faster"},
    )
    first = await desk.hanging()
    taken = await steer("indwell/steer", protocol.SteerParams("faster"))
    await desk.editor.execute("indwell.cancel")
    finished = await first
    assert taken == protocol.SteerResult(finished.session, finished.turn, delivered=True)
    assert finished.draft == "first\n\nfaster"


async def test_a_steering_message_goes_out_with_the_next_request_of_the_turn(desk) -> None:
    gate, read = asyncio.Event(), say(calls=[READ])
    desk.playlist.play(Answer((gate, *read.parts)), say("Faster."))
    asked = asyncio.create_task(desk.editor.ask("do it"))
    await desk.playlist.asked.wait()
    desk.editor.events.clear()
    await desk.editor.client.protocol.send_request_async(
        "indwell/steer", protocol.SteerParams("but faster")
    )
    gate.set()
    finished = await asked
    assert (finished.answer, finished.draft, finished.rounds) == ("Faster.", "", 2)
    assert desk.endpoint.seen[-1].body["messages"][-1]["content"].endswith("but faster")
    steered = await desk.editor.wait_for_event("steered")
    assert (steered["text"], steered["delivered"]) == ("but faster", True)


async def test_a_plain_editor_reports_waiting_and_held_prompts(tmp_path) -> None:
    home = Home(tmp_path)
    playlist = Playlist()
    async with LoopbackEndpoint(playlist) as endpoint, editing(home, endpoint.base_url) as editor:
        buffer = editor.open(home.shop)
        playlist.play(stream(HANG), say("Two."), say("Three."))
        await editor.fix(buffer)
        await playlist.asked.wait()
        await editor.fix(buffer)
        await editor.execute("indwell.cancel")
        await editor.wait_until(lambda: len(editor.messages) == 2)
        told = tuple(editor.messages)
        three = await editor.ask("three")
    assert told == (
        "Indwell: queued behind the running turn (1 waiting)",
        "Indwell: stopped; 1 prompt still waits, and goes on with your next one",
    )
    assert (three.turn, three.answer) == (3, "Three.")


async def test_prompts_that_wait_when_the_editor_is_closed_are_kept_and_reported(tmp_path) -> None:
    home = Home(tmp_path)
    playlist = Playlist()
    async with LoopbackEndpoint(playlist) as endpoint:
        playlist.play(stream(HANG))
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            first = asyncio.create_task(editor.ask("first"))
            await playlist.asked.wait()
            two = asyncio.create_task(editor.ask("two\nlines"))
            await editor.wait_until(lambda: "queueChanged" in editor.kinds())
            await editor.client.shutdown_async(None)
            ends = await asyncio.gather(first, two)
            assert [(one.ending, one.draft) for one in ends] == [
                ("interrupted", "first"),
                ("cancelled", "two\nlines"),
            ]
            editor.client.exit(None)
            await editor.client.stop()
        async with editing(home, endpoint.base_url) as editor:
            await editor.wait_until(lambda: editor.messages != [])
        async with editing(home, endpoint.base_url) as again:
            await again.heard()
    (draft,) = (home.state / "drafts").rglob("*.md")
    assert draft.read_text(encoding="utf-8") == "two\nlines\n"
    sentence = f"Indwell: prompts that waited when the editor was closed are in {draft}"
    assert (editor.messages, again.messages) == ([sentence], [])
