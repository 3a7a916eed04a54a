"""The user types while the agent edits, in every kind of editor (EDT-05 to EDT-07, 13, 15, 22)."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from support.fake_editor.clients import CLIENTS, NEOVIM_07, NEOVIM_11, VSCODE
from support.fake_editor.profiles import PLAIN
from support.room import MEND, MENDED, MINE, NAME, SOURCE, Agent, Room, in_no_time

KINDS = (PLAIN, *CLIENTS)
VERSIONED = [kind for kind in KINDS if kind.behaviour.versions != "any"]
LAST = {"old": "len(items)", "new": "len(list(items))"}


def names(kinds) -> list[str]:
    return [kind.name for kind in kinds]


@pytest.mark.parametrize("kind", KINDS, ids=names(KINDS))
@in_no_time
async def test_edt_05_typing_at_the_same_position_between_read_and_edit_loses_no_keystroke(
    tmp_path, kind
) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    room.type_text(SOURCE.index(" + 1") + 3, "2")  # the user types " + 21"
    room.editor.desk.tell()
    problem = await room.agent.tried()
    assert problem is not None
    assert "+ 1" not in room.text
    assert room.text == SOURCE.replace(" + 1", " + 21")


@pytest.mark.parametrize("kind", VERSIONED, ids=names(VERSIONED))
@in_no_time
async def test_edt_05_typing_at_the_position_of_a_sent_edit_loses_no_keystroke(
    tmp_path, kind
) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    typed = room.types_before_each_edit(lambda text: text.index("+ 1") + 2)
    assert await room.agent.tried() is not None
    assert room.text == SOURCE.replace("+ 1", f"+ {typed[0]}1")


@pytest.mark.parametrize("kind", [NEOVIM_07, NEOVIM_11], ids=names([NEOVIM_07, NEOVIM_11]))
@in_no_time
async def test_edt_05_a_keystroke_that_was_not_reported_yet_is_not_lost(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    room.type_text(0)  # the editor reports the key later, but has already increased the version
    await room.agent.tried()
    room.editor.desk.tell()
    assert room.text in {MINE + SOURCE, MINE + MENDED}


@pytest.mark.parametrize("kind", KINDS, ids=names(KINDS))
@in_no_time
async def test_edt_06_typing_elsewhere_moves_the_edit_to_its_right_position(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    room.type_text(0)
    room.type_text(len(room.text), "# end\n")
    room.editor.desk.tell()
    await room.agent.edit()
    assert (room.text, room.on_disk) == (f"{MINE}{MENDED}# end\n", SOURCE)


@pytest.mark.parametrize("kind", VERSIONED, ids=names(VERSIONED))
@in_no_time
async def test_edt_07_a_concurrent_change_is_merged_and_the_edit_sent_again(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    typed = room.types_before_each_edit(len)
    await room.agent.edit()
    assert room.text == MENDED + typed[0]
    assert len(room.editor.sent) == 2


@in_no_time
async def test_edt_07_an_edit_gives_up_after_three_tries_against_constant_typing(
    tmp_path,
) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    typed = room.types_before_each_edit(len, times=99)
    told = await room.agent.refused()
    assert "read_file it" in told
    assert room.text == SOURCE + "".join(typed)
    assert 2 <= len(room.editor.sent) <= 3


@in_no_time
async def test_edt_07_edits_of_one_document_go_out_one_after_the_other(tmp_path) -> None:
    room = Room(tmp_path)
    n_under_way, most = 0, 0

    async def count(_edit: types.WorkspaceEdit) -> None:
        nonlocal n_under_way, most
        n_under_way += 1
        most = max(most, n_under_way)
        await asyncio.sleep(1)
        n_under_way -= 1

    room.editor.moments.before = count
    agents = [room.agent, Agent(room)]
    for agent in agents:
        await agent.read()
    await asyncio.gather(agents[0].edit(), agents[1].edit(LAST))
    assert most == 1
    assert room.text == MENDED.replace(LAST["old"], LAST["new"])


@in_no_time
async def test_edt_13_the_second_of_two_agents_in_the_same_lines_gets_a_conflict(tmp_path) -> None:
    room = Room(tmp_path)
    one, two = room.agent, Agent(room)
    await one.read()
    await two.read()
    told = await asyncio.gather(
        one.tried({"old": " + 1", "new": " + 2"}), two.tried({"old": " + 1", "new": " + 3"})
    )
    assert sorted(problem is None for problem in told) == [False, True]
    assert room.text == SOURCE.replace(" + 1", " + 2" if told[0] is None else " + 3")


@in_no_time
async def test_edt_13_the_second_of_two_agents_in_a_closed_file_gets_a_conflict(tmp_path) -> None:
    room = Room(tmp_path, is_open=False)
    one, two = room.agent, Agent(room)
    await one.read()
    await two.read()
    told = await asyncio.gather(
        one.tried({"old": " + 1", "new": " + 2"}), two.tried({"old": " + 1", "new": " + 3"})
    )
    assert sorted(problem is None for problem in told) == [False, True]
    assert room.on_disk == SOURCE.replace(" + 1", " + 2" if told[0] is None else " + 3")


@pytest.mark.parametrize("kind", KINDS, ids=names(KINDS))
@in_no_time
async def test_edt_15_an_edit_is_one_labelled_undo_step_and_undo_restores_the_text(
    tmp_path, kind
) -> None:
    room = Room(tmp_path, kind)
    await room.agent.read()
    await room.agent.edit(MEND, LAST)
    assert room.buffer.undo == [SOURCE]
    assert [params.label for params in room.editor.sent] == [f"Indwell: edit {NAME}"]
    room.editor.desk.undo(room.buffer)
    room.editor.desk.tell()
    assert room.text == SOURCE
    assert "2\t    return sum(items) + 1\n" in await room.agent.read()
    room.editor.desk.redo(room.buffer)
    room.editor.desk.tell()
    assert "2\t    return sum(items)\n" in await room.agent.read()


@in_no_time
async def test_edt_15_an_edit_after_an_undo_does_not_bring_back_the_undone_text(
    tmp_path,
) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    await room.agent.edit()
    room.editor.desk.undo(room.buffer)
    await room.agent.tried({"old": "sum(items)\n", "new": "sum(items, 0)\n"})
    assert room.text == SOURCE  # the line to edit is not what the agent expects


def spaced(text: str) -> str:
    """Return the text as a formatter that puts spaces around ``*`` leaves it."""
    return text.replace("items*2", "items * 2")


@in_no_time
async def test_edt_22_a_formatters_change_of_an_edit_is_reported_and_read(tmp_path) -> None:
    room = Room(tmp_path, PLAIN.behaving(formats_after_edit=True))
    room.editor.desk.formatter = spaced
    await room.agent.read()
    told = await room.agent.edit({"old": "sum(items) + 1", "new": "sum(items*2)"})
    assert "read_file it" in told
    assert room.text == SOURCE.replace("sum(items) + 1", "sum(items * 2)")
    assert "return sum(items * 2)" in await room.agent.read()
    assert len(room.editor.sent) == 1


@in_no_time
async def test_edt_22_format_on_save_is_read_at_the_next_read(tmp_path) -> None:
    room = Room(tmp_path, PLAIN.behaving(formats_on_save=True))
    room.editor.desk.formatter = spaced
    await room.agent.read()
    await room.agent.edit({"old": "sum(items) + 1", "new": "sum(items*2)"})
    room.editor.desk.save(room.buffer)
    assert "return sum(items * 2)" in await room.agent.read()
    assert room.on_disk == SOURCE.replace("sum(items) + 1", "sum(items * 2)")


@in_no_time
async def test_edt_22_an_edit_reverted_by_a_formatter_is_not_repeated_endlessly(tmp_path) -> None:
    room = Room(tmp_path, VSCODE.behaving(formats_after_edit=True))
    room.editor.desk.formatter = lambda _text: SOURCE
    await room.agent.read()
    told = await room.agent.tried()
    assert room.text == SOURCE
    assert len(room.editor.sent) <= 3
    assert told is not None or room.agent.seen.text(room.path) != room.text
