"""The editor's answers to an edit, and missing answers (EDT-01 to EDT-04)."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from support.fake_editor.clients import ALE
from support.fake_editor.profiles import PLAIN
from support.room import MEND, MENDED, MINE, SOURCE, Room, in_no_time
from support.session import a_world, asks, call, says


@in_no_time
async def test_edt_01_an_edit_that_is_neither_applied_nor_answered_is_reported_as_unknown(
    tmp_path,
) -> None:
    room = Room(tmp_path, PLAIN.behaving(takes=False, answer="never"))
    await room.agent.read()
    started = asyncio.get_running_loop().time()
    told = await room.agent.refused()
    assert asyncio.get_running_loop().time() - started == pytest.approx(10)
    assert "did not answer the edit within 10 s" in told
    assert (room.text, room.on_disk) == (SOURCE, SOURCE)


@in_no_time
async def test_edt_01_an_edit_that_is_applied_and_never_answered_is_done_at_once(tmp_path) -> None:
    room = Room(tmp_path, ALE)
    await room.agent.read()
    started = asyncio.get_running_loop().time()
    told = await room.agent.edit()
    assert asyncio.get_running_loop().time() - started < 0.001
    assert told.startswith("edited shop.py: +1 −1\n")
    assert (room.text, room.on_disk) == (MENDED, SOURCE)


async def test_edt_01_the_turn_continues_after_an_edit_without_an_answer(tmp_path) -> None:
    (tmp_path / "work").mkdir()
    room = Room(tmp_path / "work", PLAIN.behaving(takes=False, answer="never"))
    room.editor.workspace = type(room.editor.workspace)(
        room.editor.documents,
        room.editor.client,
        room.editor.workspace._disk,
        apply_timeout_s=0.05,
    )
    script = [
        asks(call("read_file", path="shop.py")),
        asks(call("edit_file", path="shop.py", edits=[MEND])),
        asks(call("read_file", path="shop.py")),
        says("Then not."),
    ]
    async with a_world(tmp_path, script, workspace=room.editor.workspace) as world:
        finished = await world.turn()
        texts = [str(result.text) for result in world.results]
    assert (finished.ending, finished.answer) == ("done", "Then not.")
    assert "did not answer the edit within 0.05 s" in texts[1]
    assert "2\t    return sum(items) + 1\n" in texts[2]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"reason": "the user said no"}, "the editor refused the edit (the user said no)"),
        ({"reason": ""}, "the editor refused the edit"),
        ({"refusal": "error", "reason": "no such buffer"}, "(no such buffer)"),
        ({"answer": "null"}, "reported no change"),
    ],
    ids=["reason", "no reason", "error", "null"],
)
@in_no_time
async def test_edt_02_an_edit_refused_by_the_editor_is_reported_and_not_written_to_disk(
    tmp_path, changed, words
) -> None:
    room = Room(tmp_path, PLAIN.behaving(takes=False, **changed))
    await room.agent.read()
    assert words in await room.agent.refused()
    assert (room.text, room.on_disk) == (SOURCE, SOURCE)
    assert len(room.editor.sent) == 1


@in_no_time
async def test_edt_02_an_edit_that_the_user_refuses_is_detected(tmp_path) -> None:
    room = Room(tmp_path, PLAIN.behaving(confirms=True))

    async def says_no(_edit: types.WorkspaceEdit) -> bool:
        return False

    room.editor.moments.confirm = says_no
    await room.agent.read()
    assert "the user said no" in await room.agent.refused()
    assert (room.text, room.on_disk) == (SOURCE, SOURCE)


@in_no_time
async def test_edt_03_an_editor_that_confirms_an_edit_without_applying_it_is_detected(
    tmp_path,
) -> None:
    room = Room(tmp_path, PLAIN.behaving(takes=False, refusal="true"))
    await room.agent.read()
    assert "reported no change" in await room.agent.refused()
    assert (room.text, room.on_disk) == (SOURCE, SOURCE)


@in_no_time
async def test_edt_03_an_edit_confirmed_during_typing_is_compared_with_the_text(tmp_path) -> None:
    """Neovim drops the edit, but confirms it; the user's keystroke is in the same line."""
    room = Room(tmp_path, PLAIN.behaving(takes=False, refusal="true"))
    await room.agent.read()
    at = SOURCE.index("sum")
    room.types_before_each_edit(lambda _text: at, times=9)
    assert await room.agent.tried() is not None
    assert " + 1" in room.text


@pytest.mark.parametrize("types_first", [False, True])
@in_no_time
async def test_edt_04_an_edit_applied_late_is_not_applied_twice(tmp_path, types_first) -> None:
    room = Room(tmp_path, PLAIN.behaving(heeds_cancel=False))
    release = asyncio.Event()

    async def wait(_edit: types.WorkspaceEdit) -> None:
        await release.wait()

    room.editor.moments.before = wait
    await room.agent.read()
    add = {"old": "\n\ndef count", "new": "\n# added\n\ndef count"}
    assert "did not answer" in await room.agent.refused(add)
    assert room.text == SOURCE
    if types_first:
        room.type_text(0)
    release.set()
    for _ in range(5):
        await asyncio.sleep(0)
    expected = MINE + SOURCE if types_first else SOURCE.replace(add["old"], add["new"])
    assert room.text == expected  # the edit is applied late if its version fits, else never
    await room.agent.tried(add)  # the model repeats the edit without reading first
    assert room.text.count("# added") <= 1
    told = await room.agent.read()
    assert told.count("# added") == room.text.count("# added")
    document = room.editor.documents.get(room.buffer.uri)
    assert document is not None
    assert (document.text, document.version) == (room.text, room.buffer.version)


@in_no_time
async def test_edt_04_no_edit_is_sent_while_another_is_undecided(tmp_path) -> None:
    room = Room(tmp_path, PLAIN.behaving(heeds_cancel=False, versions="any"))
    release = asyncio.Event()

    async def wait(_edit: types.WorkspaceEdit) -> None:
        await release.wait()

    room.editor.moments.before = wait
    await room.agent.read()
    await room.agent.refused()
    await room.agent.refused()
    release.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert (room.text, len(room.editor.sent)) == (MENDED, 1)
