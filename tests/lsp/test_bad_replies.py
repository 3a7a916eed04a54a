"""Faults of the model, the editor and the user are reported, and no text is lost."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from support.editing import (
    EDIT,
    MENDED,
    READ,
    SOURCE,
    Editor,
    Home,
    Playlist,
    editing,
    results,
    texts_of,
)
from support.fake_editor.buffer import Buffer, lines_range
from support.loopback_endpoint import Answer, LoopbackEndpoint, refuse, say

pytestmark = pytest.mark.asyncio(loop_scope="module")
BRIEF_S = 0.3
NO_ANSWER = (
    "the editor did not answer the edit within 0.3 s and may still apply it; the text of 'shop.py' "
    "is untouched so far; read_file it before anything else"
)
MERGED = "shop.py had changed since it was read, and the edit was merged with that change:"


@dataclass
class Desk:
    home: Home
    editor: Editor
    playlist: Playlist
    endpoint: LoopbackEndpoint

    def fresh(self) -> Buffer:
        """Open the original file again, and clear the messages."""
        self.editor.events.clear()
        self.editor.edits.clear()
        self.editor.hold, self.editor.n_held = None, 0
        self.editor.answers.refuse_edits = ""
        return self.editor.reopen(self.home.shop, SOURCE)

    async def heard_by_the_model(self, *answers: Answer) -> list[str]:
        """Run a turn that succeeds; return the tool results that the model received."""
        self.playlist.play(*answers, say("Well."))
        finished = await self.editor.ask("go", session="new")
        assert (finished.ending, finished.answer) == ("done", "Well.")
        return results(self.endpoint.seen[-1])

    async def tool_ended(self, name: str) -> None:
        await self.editor.wait_until(
            lambda: any(
                one["type"] == "toolFinished" and one["name"] == name for one in self.editor.events
            )
        )


def gated(answer: Answer, gate: asyncio.Event) -> Answer:
    """Return an answer that waits for a gate."""
    return dataclasses.replace(answer, parts=(gate, *answer.parts))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[Desk]:
    home, playlist = Home(tmp_path_factory.mktemp("bad")), Playlist()
    options = {"apply_edit_timeout_s": BRIEF_S}
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",), options=options) as editor,
    ):
        yield Desk(home, editor, playlist, endpoint)
    home.logs()


async def test_a_model_without_tool_support_is_reported_with_advice(desk) -> None:
    buffer = desk.fresh()
    desk.playlist.play(refuse(400, "tiny does not support tools"))
    finished = await desk.editor.ask("mend it", session="new")
    assert (finished.ending, finished.draft) == ("failed", "mend it")
    assert finished.message == (
        f"'loopback-model' at {desk.endpoint.base_url} does not support tool calls, which Indwell "
        "needs; choose a model that supports them: tiny does not support tools"
    )
    assert buffer.text == SOURCE
    desk.home.logs()


async def test_an_unreachable_endpoint_is_reported_during_the_retries(desk, tmp_path) -> None:
    home = Home(tmp_path)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # connections are accepted, and never answered
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        async with editing(home, address, extensions=("events",)) as editor:
            asked = asyncio.create_task(editor.ask("mend it"))
            await editor.wait_until(
                lambda: any("trying again" in one.get("message", "") for one in editor.events)
            )
            notice = next(
                one["message"] for one in editor.events if "trying again" in one.get("message", "")
            )
            await editor.execute("indwell.cancel")
            finished = await asked
    assert notice == (
        f"nothing answers at {address}; start the endpoint or set OPENAI_BASE_URL; trying again "
        "in 1 s"
    )
    assert (finished.ending, finished.draft) == ("cancelled", "mend it")
    assert home.endings() == [("cancelled", "mend it")]


async def test_a_path_outside_the_workspace_is_an_error_for_the_model(desk) -> None:
    desk.fresh()
    outside = desk.home.folder / "outside.txt"
    outside.write_bytes(b"private")
    (desk.home.workspace / "link.txt").unlink(missing_ok=True)
    (desk.home.workspace / "link.txt").symlink_to(outside)
    write = json.dumps({"path": "../outside.txt", "content": "mine"})
    calls = [
        ("read_file", json.dumps({"path": "../outside.txt"})),
        ("read_file", json.dumps({"path": "link.txt"})),
        ("write_file", write),
    ]
    heard = await desk.heard_by_the_model(say(calls=calls))
    root = desk.home.workspace
    dotted = f"'{outside}' is outside the workspace; stay within {root}"
    # The user is asked whether to follow the link out of the workspace, and says no.
    linked = "the user did not allow this; go on without it, or say what it is needed for"
    assert heard == [dotted, linked, dotted]
    assert outside.read_text(encoding="utf-8") == "private"


async def test_a_refused_edit_is_reported_to_the_model(desk) -> None:
    buffer = desk.fresh()
    desk.editor.answers.refuse_edits = "read-only buffer"
    heard = await desk.heard_by_the_model(say(calls=[READ]), say(calls=[EDIT]))
    assert heard[-1] == (
        "the editor refused the edit (read-only buffer); the text of 'shop.py' is untouched"
    )
    assert (buffer.text, desk.home.shop.read_text(encoding="utf-8")) == (SOURCE, SOURCE)


async def test_an_edit_of_an_unread_file_is_refused_and_of_a_changed_file_merged(
    desk,
) -> None:
    buffer = desk.fresh()
    gate = asyncio.Event()
    turn = asyncio.create_task(
        desk.heard_by_the_model(
            say(calls=[EDIT]), say(calls=[READ]), gated(say(calls=[EDIT]), gate)
        )
    )
    await desk.tool_ended("read_file")
    desk.editor.type_text(buffer, 0, 0, "# mine\n")
    await desk.editor.heard()
    gate.set()
    never, _, merged = await turn
    assert (
        never == "'shop.py' has not been read yet: call read_file first, then make this call again"
    )
    assert merged.startswith("edited shop.py: +1 −1")
    assert (buffer.text, len(desk.editor.edits)) == ("# mine\n" + MENDED, 1)


async def test_text_typed_during_an_edit_is_kept(desk) -> None:
    buffer = desk.fresh()
    desk.editor.hold = asyncio.Event()
    turn = asyncio.create_task(desk.heard_by_the_model(say(calls=[READ]), say(calls=[EDIT])))
    await desk.editor.wait_until(lambda: desk.editor.n_held == 1)
    desk.editor.type_text(buffer, 0, 0, "# mine\n")
    desk.editor.hold.set()
    assert MERGED in (await turn)[-1]
    assert buffer.text == "# mine\n" + MENDED


async def test_a_timed_out_edit_is_withdrawn_and_can_be_repeated(desk) -> None:
    buffer = desk.fresh()
    desk.editor.hold, gate = asyncio.Event(), asyncio.Event()
    turn = asyncio.create_task(
        desk.heard_by_the_model(
            say(calls=[READ]),
            say(calls=[EDIT]),
            gated(say(calls=[EDIT]), gate),
            say(calls=[READ]),
        )
    )
    await desk.tool_ended("edit_file")
    desk.editor.hold.set()  # the editor has dropped the edit, because the edit was cancelled
    await desk.editor.heard()
    gate.set()
    _, unanswered, again, now = await turn
    assert unanswered == NO_ANSWER
    assert again.startswith("edited shop.py: +1 −1")
    assert "2\t    return sum(items)\n" in now
    assert (buffer.text, len(desk.editor.edits)) == (MENDED, 1)


async def test_after_an_undo_the_model_is_told_and_edits_the_undone_text(desk) -> None:
    buffer = desk.fresh()
    await desk.heard_by_the_model(say(calls=[READ]), say(calls=[EDIT]))
    assert (buffer.text, buffer.undo) == (MENDED, [SOURCE])
    desk.editor.undo(buffer)
    desk.playlist.play(say(calls=[EDIT]), say("Well."))
    await desk.editor.ask("once more")
    assert '<changed-file path="shop.py">' in texts_of(desk.endpoint.seen[-1].body["messages"])
    assert results(desk.endpoint.seen[-1])[-1].startswith("edited shop.py: +1 −1")
    assert buffer.text == MENDED


async def test_a_code_action_on_text_that_moved_reports_the_move(desk) -> None:
    buffer = desk.fresh()
    actions = await desk.editor.code_actions(buffer, lines_range(2, 2))
    fix = next(one.command for one in actions if one.title == "Fix this")
    desk.editor.type_text(buffer, 0, len(SOURCE), "x = 1\n")  # the second line no longer exists
    desk.playlist.play(say("Well."))
    await desk.editor.execute("indwell.newSession")
    await desk.editor.execute(fix.command, {**fix.arguments[0], "wait": True})
    asked = texts_of(desk.endpoint.seen[-1].body["messages"])
    assert (
        "The user selected line 2 of shop.py (not saved yet) (the document was changed since, so "
        "the lines may have moved):\n"
    ) in asked


async def test_two_empty_replies_fail_the_turn_with_advice_and_return_the_prompt(
    desk: Desk,
) -> None:
    desk.fresh()
    desk.playlist.play(say(""), say(""))
    result = await desk.editor.ask("say hello")
    assert result.ending == "failed"
    (end,) = [one for one in desk.editor.events if one["type"] == "turnFinished"]
    assert (
        "sent an empty reply, 2 times in a row; ask again, or choose another model"
        in (end["message"])
    )
    assert end["draft"] == "say hello"
    desk.playlist.play(say("hello"))
    assert (await desk.editor.ask("say hello")).ending == "done"
