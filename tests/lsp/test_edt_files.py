"""Files that are closed, unsaved, changed by others, new, or many (EDT-08 to EDT-12, 14, 18)."""

from __future__ import annotations

from time import process_time

import pytest
from lsprotocol import types

from indwell.errors import ToolError
from indwell.workspace.base import Settlement, digest
from support.fake_editor.clients import CLIENTS, KATE, NEOVIM_07, NEOVIM_11, VSCODE
from support.fake_editor.profiles import PLAIN
from support.platforms import posix_only
from support.room import MEND, MENDED, MINE, NAME, SOURCE, Room, in_no_time
from tools.calling import Agent as WholeAgent

MAKERS = [
    kind
    for kind in CLIENTS
    if "create"
    in kind.capabilities.get("workspace", {}).get("workspaceEdit", {}).get("resourceOperations", ())
]
NAMES = [kind.name for kind in MAKERS]


@in_no_time
async def test_edt_08_a_file_closed_since_is_edited_on_disk(tmp_path) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    room.editor.desk.close(room.buffer)
    await room.agent.edit()
    assert (room.on_disk, room.editor.sent) == (MENDED, [])


@in_no_time
async def test_edt_08_no_edit_restores_discarded_unsaved_text(tmp_path) -> None:
    room = Room(tmp_path)
    room.type_text(0)
    await room.agent.read()
    room.editor.desk.close(room.buffer)
    await room.agent.tried()
    assert MINE not in room.on_disk
    assert room.on_disk in {SOURCE, MENDED}
    assert "mine" not in await room.agent.read()


@pytest.mark.parametrize("opens", [True, False], ids=["opens it again", "drops the edit"])
@in_no_time
async def test_edt_08_a_file_closed_during_an_edit_is_edited_exactly_once(tmp_path, opens) -> None:
    room = Room(tmp_path)
    await room.agent.read()

    async def close(_edit: types.WorkspaceEdit) -> None:
        room.editor.desk.close(room.buffer)
        room.editor.desk.behaviour = PLAIN.behaving(takes=opens).behaviour

    room.editor.moments.before = close
    problem = await room.agent.tried()
    there = room.text if opens else room.on_disk
    assert there == (MENDED if problem is None else SOURCE) or (opens and there == MENDED)
    assert {room.on_disk, there} <= {SOURCE, MENDED}
    assert "def total" in await room.agent.read()


@in_no_time
async def test_edt_08_a_deleted_closed_file_is_not_created_again(tmp_path) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    room.editor.desk.close(room.buffer)
    room.path.unlink()
    assert NAME in await room.agent.refused()
    assert not room.path.exists()


@in_no_time
async def test_edt_08_an_open_buffer_is_edited_even_if_its_file_was_renamed_on_disk(
    tmp_path,
) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    room.path.rename(room.path.with_name("renamed.py"))
    await room.agent.edit()
    assert room.text == MENDED
    assert not room.path.exists()
    assert (room.folder / "renamed.py").read_text(encoding="utf-8") == SOURCE
    assert "on disk" in await room.agent.read()


async def test_edt_09_unsaved_text_is_read_and_found_and_command_results_name_it(tmp_path) -> None:
    (tmp_path / "work").mkdir()
    room = Room(tmp_path / "work")
    room.type_text(0, "UNSAVED = 1\n")
    agent = WholeAgent(room.editor.workspace, tmp_path / "spill")
    assert "UNSAVED = 1" in (await agent.call("read_file", path=NAME)).text
    found = (await agent.call("grep", pattern="UNSAVED|def total")).text
    assert "UNSAVED = 1" in found
    assert "unsaved" in found.replace("UNSAVED", "") or "not saved" in found
    ran = (await agent.call("bash", command=f"head -1 {NAME}")).text
    assert "def total(items):" in ran
    assert NAME in ran
    assert "not saved" in ran or "unsaved" in ran
    assert room.on_disk == SOURCE


@posix_only("shell")
async def test_edt_09_commands_see_a_buffer_that_only_the_agent_changed(tmp_path) -> None:
    (tmp_path / "work").mkdir()
    room = Room(tmp_path / "work")
    agent = WholeAgent(room.editor.workspace, tmp_path / "spill")
    await agent.call("read_file", path=NAME)
    await agent.call("edit_file", path=NAME, edits=[MEND])
    ran = (await agent.call("bash", command=f"sed -n 2p {NAME}")).text
    assert "    return sum(items)\n" in ran + "\n"
    assert "+ 1" not in ran
    assert (room.on_disk, room.text) == (MENDED, MENDED)


@in_no_time
async def test_edt_09_a_rich_editor_saves_before_a_command(tmp_path) -> None:
    room = Room(tmp_path, VSCODE, extensions=("save",))
    room.type_text(0)
    assert await room.editor.workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == MINE + SOURCE


@in_no_time
async def test_edt_10_an_outside_change_under_unsaved_text_is_reported_and_kept(
    tmp_path,
) -> None:
    room = Room(tmp_path)
    workspace = room.editor.workspace
    room.type_text(0)
    await room.agent.read()
    room.path.write_bytes(b"theirs\n")
    assert await workspace.changed_under_buffers() == (room.path,)
    assert await workspace.changed_under_buffers() == ()  # the change is reported only once
    assert "changed" in await room.agent.read()
    await room.agent.edit()
    assert await workspace.settle() == Settlement(stale=(room.path,))
    assert (room.text, room.on_disk) == (MINE + MENDED, "theirs\n")
    room.path.write_bytes(b"theirs again\n")
    assert await workspace.changed_under_buffers() == (room.path,)


@in_no_time
async def test_edt_10_indwells_own_writes_do_not_count_as_outside_changes(tmp_path) -> None:
    room = Room(tmp_path)
    workspace = room.editor.workspace
    await room.agent.read()
    await room.agent.edit()
    assert await workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == MENDED
    assert await workspace.changed_under_buffers() == ()
    room.editor.desk.save(room.buffer)
    assert await workspace.changed_under_buffers() == ()


@in_no_time
async def test_edt_10_an_editor_that_loads_the_file_again_is_not_a_conflict(tmp_path) -> None:
    room = Room(tmp_path, VSCODE)
    room.path.write_bytes(("# theirs\n" + SOURCE).encode())
    room.editor.desk.noticed_disk()
    assert room.text == "# theirs\n" + SOURCE
    assert await room.editor.workspace.changed_under_buffers() == ()
    await room.agent.read()
    await room.agent.edit()
    assert room.text == "# theirs\n" + MENDED
    assert await room.editor.workspace.settle() == Settlement(saved=(room.path,))


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *(one.name for one in CLIENTS)])
@in_no_time
async def test_edt_11_a_closed_file_is_edited_on_disk_and_not_opened(tmp_path, kind) -> None:
    room = Room(tmp_path, kind, is_open=False)
    await room.agent.read()
    await room.agent.edit()
    assert room.on_disk == MENDED
    assert (room.editor.sent, dict(room.editor.desk.buffers)) == ([], {})


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *(one.name for one in CLIENTS)])
@in_no_time
async def test_edt_11_a_capable_editor_creates_a_new_file_exactly_once(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    new = room.folder / "new.py"
    await room.agent.call("write_file", path="new.py", content="NEW = 1\n")
    assert new.read_bytes() == b"NEW = 1\n"
    made = [params.edit.document_changes for params in room.editor.sent]
    if kind in MAKERS:
        ((operation,),) = made
        assert isinstance(operation, types.CreateFile)
        assert operation.options is not None
        assert (operation.uri, operation.options.overwrite) == (new.as_uri(), None)
    else:
        assert made == []
    assert {path.name for path in room.folder.iterdir()} == {"new.py", NAME}


@in_no_time
async def test_edt_11_a_file_that_the_editor_refuses_is_not_created_on_disk(tmp_path) -> None:
    room = Room(tmp_path, VSCODE.behaving(takes=False, reason="read-only folder"))
    with pytest.raises(ToolError, match="read-only folder"):
        await room.agent.call("write_file", path="new.py", content="NEW = 1\n")
    assert not (room.folder / "new.py").exists()


@in_no_time
async def test_edt_12_the_edits_of_one_call_are_applied_all_together_or_not_at_all(
    tmp_path,
) -> None:
    room = Room(tmp_path)
    await room.agent.read()
    told = await room.agent.refused(MEND, {"old": "no such text", "new": "x"})
    assert "edit 2 of 2" in told
    assert "no edit was made" in told
    assert (room.text, room.editor.sent, room.buffer.undo) == (SOURCE, [], [])


@in_no_time
async def test_edt_12_edits_of_several_files_are_reported_and_undone_per_file(tmp_path) -> None:
    room = Room(tmp_path)
    other = room.folder / "other.py"
    other.write_bytes(SOURCE.encode())
    second = room.editor.open(other)
    for name in (NAME, "other.py"):
        await room.agent.read(name)
    assert (await room.agent.edit(name=NAME)).startswith(f"edited {NAME}: +1 −1")
    room.editor.desk.behaviour = PLAIN.behaving(takes=False, reason="read-only").behaviour
    told = await room.agent.refused(name="other.py")
    assert told == "the editor refused the edit (read-only); the text of 'other.py' is untouched"
    assert (room.text, second.text) == (MENDED, SOURCE)
    assert (room.buffer.undo, second.undo) == ([SOURCE], [])


@pytest.mark.parametrize("is_open", [True, False])
@in_no_time
async def test_edt_14_an_existing_unread_file_is_not_overwritten(tmp_path, is_open) -> None:
    room = Room(tmp_path, VSCODE, is_open=is_open)
    with pytest.raises(ToolError, match="has not been read yet"):
        await room.agent.call("write_file", path=NAME, content="over\n")
    assert (room.on_disk, room.editor.sent) == (SOURCE, [])


@pytest.mark.parametrize("kind", MAKERS, ids=NAMES)
@in_no_time
async def test_edt_14_a_file_that_appears_during_its_creation_is_kept(tmp_path, kind) -> None:
    """Neovim empties an existing file, unless the edit says ``ignoreIfExists``."""
    room = Room(tmp_path, kind)
    new = room.folder / "new.py"

    async def somebody_makes_it(_edit: types.WorkspaceEdit) -> None:
        new.write_bytes(b"theirs\n")

    room.editor.moments.before = somebody_makes_it
    with pytest.raises(ToolError, match="new.py"):
        await room.agent.call("write_file", path="new.py", content="ours\n")
    assert new.read_bytes() == b"theirs\n"


@pytest.mark.parametrize("kind", [KATE, PLAIN], ids=["kate", "plain"])
@in_no_time
async def test_edt_14_an_open_unsaved_file_is_not_created_again(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    room.path.unlink()
    with pytest.raises(ToolError):
        await room.agent.call("write_file", path=NAME, content="over\n")
    assert room.text == SOURCE
    assert not room.path.exists()


@pytest.mark.parametrize("kind", [NEOVIM_07, NEOVIM_11], ids=["0.7", "0.11"])
def test_edt_14_the_fake_neovim_empties_an_existing_file_like_the_real_neovim(
    tmp_path, kind
) -> None:
    room = Room(tmp_path, kind, is_open=False)
    room.editor.desk.create(room.path, empty=True)
    assert room.on_disk == ""


@in_no_time
async def test_edt_18_a_large_rewrite_is_few_edits_and_fast(tmp_path) -> None:
    lines = [f"value_{number} = {number}\n" for number in range(400_000)]  # it is 10 MB
    text = "".join(lines)
    room = Room(tmp_path, text=text)
    # the agent has read the whole text, which has 200 pages
    room.agent.seen.record(room.path, digest(text), text)
    started = process_time()
    wanted = [f"# {line}" if number % 100 == 0 else line for number, line in enumerate(lines)]
    await room.agent.call("write_file", path=NAME, content="".join(wanted))
    assert process_time() - started < 20
    assert room.text == "".join(wanted)
    ((change,),) = [params.edit.document_changes for params in room.editor.sent]
    assert len(change.edits) <= 1_000


@in_no_time
async def test_edt_18_a_hundred_files_are_a_hundred_small_edits(tmp_path) -> None:
    room = Room(tmp_path)
    paths = [room.folder / f"file{number}.py" for number in range(100)]
    for path in paths:
        path.write_bytes(SOURCE.encode())
        room.editor.open(path)
    started = process_time()
    for path in paths:
        await room.agent.read(path.name)
        await room.agent.edit(name=path.name)
    assert process_time() - started < 10
    assert {room.editor.desk.buffers[path.as_uri()].text for path in paths} == {MENDED}
    assert [len(params.edit.document_changes or ()) for params in room.editor.sent] == [1] * 100
    assert {path.read_text(encoding="utf-8") for path in paths} == {SOURCE}
