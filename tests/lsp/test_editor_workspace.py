from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from lsprotocol import types

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.wire import sync
from indwell.lsp.workspace.editor_workspace import STALE, EditorWorkspace
from indwell.workspace.base import AppliedChange, Settlement, Snapshot, TextStamp, digest
from indwell.workspace.disk import DiskWorkspace
from support.stub_editor import StubEditor

BEFORE, AFTER = "one\ntwo\n", "one\n2\n"
TOP = sync.Range(start=sync.Position(0, 0), end=sync.Position(0, 0))


class Room:
    """A workspace with one file on disk, which is open in an editor."""

    def __init__(
        self,
        folder: Path,
        text: str = BEFORE,
        *,
        buffer: str | None = None,
        apply_timeout_s: float = 0.05,
    ) -> None:
        self.path = folder.resolve() / "a.py"
        self.path.write_bytes(text.encode())
        self.editor = StubEditor(self.path, text if buffer is None else buffer)
        self.workspace = EditorWorkspace(
            self.editor.documents,
            self.editor,
            DiskWorkspace([folder]),
            apply_timeout_s=apply_timeout_s,
        )

    async def edit(self, text: str = AFTER) -> AppliedChange:
        base = await self.workspace.read(self.path)
        return await self.workspace.write(self.path, base, text, label="x")

    @property
    def on_disk(self) -> str:
        return self.path.read_bytes().decode()


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


async def test_an_unsaved_buffer_takes_precedence_over_the_disk(room) -> None:
    room.editor.type_text(0, 3, "ONE")
    text = "ONE\ntwo\n"
    assert await room.workspace.read(room.path) == Snapshot(
        path=room.path, text=text, stamp=TextStamp(digest(text), 2), origin="buffer", unsaved=True
    )
    assert room.workspace.unsaved() == {room.path: text}
    assert room.on_disk == BEFORE


async def test_a_closed_file_is_read_and_written_on_disk(room) -> None:
    other = room.path.with_name("b.py")
    other.write_bytes(b"x = 1\r\n")
    base = await room.workspace.read(other)
    assert base == Snapshot(path=other, text="x = 1\r\n", stamp=TextStamp(digest("x = 1\r\n")))
    await room.workspace.write(other, base, "x = 2\r\n", label="x")
    assert (other.read_bytes(), room.editor.sent) == (b"x = 2\r\n", [])


async def test_an_edit_of_an_open_file_does_not_change_the_disk(room) -> None:
    await room.edit()
    assert (room.editor.text, room.on_disk) == (AFTER, BEFORE)


async def test_a_file_is_created_on_disk_with_its_folders(room) -> None:
    new = room.workspace.resolve("deep/er/new.py")
    assert await room.workspace.write(new, None, "x\n", label="x") == AppliedChange(
        path=new, before=None, after="x\n", stamp=TextStamp(digest("x\n"))
    )
    assert new.read_bytes() == b"x\n"


async def test_an_open_file_is_not_created_again(room) -> None:
    with pytest.raises(EditRefused, match="'a.py' is open in the editor already; read and edit it"):
        await room.workspace.write(room.path, None, "x", label="x")
    assert (room.editor.text, room.on_disk) == (BEFORE, BEFORE)


async def test_an_edit_of_a_buffer_that_changed_since_is_refused(room) -> None:
    base = await room.workspace.read(room.path)
    room.editor.type_text(0, 0, "#")
    with pytest.raises(EditRefused) as caught:
        await room.workspace.write(room.path, base, AFTER, label="x")
    assert str(caught.value) == (
        "'a.py' was changed in the editor meanwhile; nothing was edited; read_file it again"
    )
    assert (room.editor.text, room.editor.sent) == ("#" + BEFORE, [])


async def test_edt_04_an_edit_applied_late_is_not_made_twice(room) -> None:
    room.editor.behave = room.editor.ignores
    base = await room.workspace.read(room.path)
    with pytest.raises(EditRefused, match="did not answer"):
        await room.workspace.write(room.path, base, AFTER, label="x")
    room.editor.take(room.editor.sent[0][0])  # the edit comes late, and its version still fits
    room.editor.behave = room.editor.applies
    with pytest.raises(TextMoved, match="changed in the editor meanwhile"):
        await room.workspace.write(room.path, base, AFTER, label="x")
    assert (room.editor.text, len(room.editor.sent)) == (AFTER, 1)
    assert await room.workspace.late_edits() == (room.path,)


async def test_edt_07_edits_of_one_file_are_sent_one_after_the_other(room) -> None:
    base = await room.workspace.read(room.path)
    held = asyncio.Event()

    async def slowly(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        await held.wait()
        return await room.editor.applies(edit)

    room.editor.behave = slowly
    first, second = (
        asyncio.create_task(room.workspace.write(room.path, base, text, label="x"))
        for text in (AFTER, "other\n")
    )
    await room.editor.was_sent.wait()
    await asyncio.sleep(0)
    assert len(room.editor.sent) == 1
    held.set()
    assert (await first).after == AFTER
    with pytest.raises(TextMoved, match="was changed in the editor meanwhile"):
        await second
    assert (room.editor.text, len(room.editor.sent)) == (AFTER, 1)


async def test_edt_13_edits_of_different_files_do_not_wait_for_each_other(tmp_path) -> None:
    room = Room(tmp_path, apply_timeout_s=60)
    room.editor.behave = room.editor.ignores
    editing = asyncio.create_task(room.edit())
    await room.editor.was_sent.wait()
    other = room.path.with_name("b.py")
    await room.workspace.write(other, None, "x\n", label="x")
    assert not editing.done()
    editing.cancel()
    await asyncio.wait({editing})


async def test_edt_13_the_second_of_two_editors_of_a_closed_file_reads_again(tmp_path) -> None:
    room = Room(tmp_path)
    other = room.path.with_name("b.py")
    other.write_bytes(BEFORE.encode())
    base = await room.workspace.read(other)
    writes = (room.workspace.write(other, base, text, label="x") for text in (AFTER, "other\n"))
    first, second = await asyncio.gather(*writes, return_exceptions=True)
    assert (first.after, type(second), other.read_text(encoding="utf-8")) == (
        AFTER,
        TextMoved,
        AFTER,
    )


async def test_edt_08_a_file_renamed_in_the_editor_is_not_written_at_its_old_path(room) -> None:
    base = await room.workspace.read(room.path)
    room.editor.documents.close(room.editor.document.uri)
    room.path.rename(room.path.with_name("renamed.py"))
    with pytest.raises(ToolError, match="'a.py' does not exist"):
        await room.workspace.write(room.path, base, AFTER, label="x")
    assert (room.path.exists(), room.editor.sent) == (False, [])


async def test_edt_08_a_file_opened_since_is_edited_in_its_buffer(tmp_path) -> None:
    room = Room(tmp_path)
    room.editor.documents.close(room.editor.document.uri)
    base = await room.workspace.read(room.path)
    assert base.origin == "disk"
    room.editor.open_again()
    assert (await room.workspace.write(room.path, base, AFTER, label="x")).after == AFTER
    assert (room.editor.text, room.on_disk) == (AFTER, BEFORE)


async def test_edt_16_a_stale_document_is_marked_and_not_edited_until_reopened(
    room,
) -> None:
    room.editor.documents.change(
        room.editor.document.uri, 0, [sync.TextChange(text="#", range=TOP)]
    )
    base = await room.workspace.read(room.path)
    assert (base.text, base.notes) == ("#" + BEFORE, (STALE,))
    with pytest.raises(EditRefused, match="closed it and opened it again") as caught:
        await room.workspace.write(room.path, base, AFTER, label="x")
    assert not isinstance(caught.value, TextMoved)
    room.editor.open_again()
    assert (await room.edit()).after == AFTER
    assert (await room.workspace.read(room.path)).notes == ()


async def test_edt_16_a_stale_text_is_never_put_on_disk(room) -> None:
    await room.edit()
    room.editor.documents.change(room.editor.document.uri, 0, [])
    room.editor.document.dirt = "agent"
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert room.on_disk == BEFORE


async def test_per_10_after_a_crash_the_buffer_shows_whether_a_pending_edit_was_applied(
    room,
) -> None:
    """The requesting process has ended; the editor applies the edit or not, and opens it again."""
    base = await room.workspace.read(room.path)
    room.editor.behave = room.editor.ignores
    asking = asyncio.create_task(room.workspace.write(room.path, base, AFTER, label="x"))
    await room.editor.was_sent.wait()
    asking.cancel()
    await asyncio.wait({asking})
    room.editor.take(room.editor.sent[0][0])
    again = StubEditor(room.path, room.editor.text)
    workspace = EditorWorkspace(
        again.documents, again, DiskWorkspace([room.path.parent]), apply_timeout_s=1
    )
    now = await workspace.read(room.path)
    assert (now.text, now.stamp.digest != base.stamp.digest) == (AFTER, True)
    with pytest.raises(TextMoved):
        await workspace.write(room.path, base, AFTER, label="x")
    assert (again.text, again.sent) == (AFTER, [])


async def test_a_file_closed_since_is_edited_on_disk(room) -> None:
    base = await room.workspace.read(room.path)
    room.editor.documents.close(room.editor.document.uri)
    await room.workspace.write(room.path, base, AFTER, label="x")
    assert (room.on_disk, room.editor.sent) == (AFTER, [])


async def test_a_file_that_was_closed_without_saving_is_not_edited_blindly(room) -> None:
    room.editor.type_text(0, 3, "ONE")
    base = await room.workspace.read(room.path)
    room.editor.documents.close(room.editor.document.uri)
    with pytest.raises(EditRefused, match="changed on disk since it was read"):
        await room.workspace.write(room.path, base, "ONE\n2\n", label="x")
    assert room.on_disk == BEFORE


async def test_without_unsaved_text_nothing_is_saved_before_a_command(room) -> None:
    assert await room.workspace.settle() == Settlement()


async def test_a_buffer_changed_only_by_the_agent_is_saved_before_a_command(room) -> None:
    await room.edit()
    assert await room.workspace.settle() == Settlement(saved=(room.path,))
    assert (room.on_disk, room.workspace.unsaved()) == (AFTER, {})
    await room.edit("one\n3\n")
    assert await room.workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == "one\n3\n"


async def test_a_crlf_file_goes_to_disk_byte_for_byte(tmp_path) -> None:
    room = Room(tmp_path, "one\r\ntwo\r\n")
    await room.edit("one\r\n2\r\n")
    await room.workspace.settle()
    assert room.path.read_bytes() == b"one\r\n2\r\n"


@pytest.mark.parametrize("first", ["user", "agent"])
async def test_the_user_s_unsaved_text_never_goes_to_disk(room, first) -> None:
    if first == "user":
        room.editor.type_text(0, 3, "ONE")
        await room.edit("ONE\n2\n")
    else:
        await room.edit()
        room.editor.type_text(0, 3, "ONE")
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert (room.on_disk, room.editor.text) == (BEFORE, "ONE\n2\n")


async def test_an_editor_with_save_support_saves_unsaved_text_on_request(room) -> None:
    room.editor.features = ClientFeatures(experimental=frozenset({"save"}))
    room.editor.type_text(0, 3, "ONE")
    assert await room.workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == "ONE\ntwo\n"


async def test_a_rich_editor_that_does_not_save_leaves_the_user_s_text_unsaved(room) -> None:
    room.editor.features = ClientFeatures(experimental=frozenset({"save"}))

    async def saves_nothing(_uris: tuple[str, ...]) -> tuple[str, ...]:
        return ()

    room.editor.save = saves_nothing
    room.editor.type_text(0, 3, "ONE")
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert room.on_disk == BEFORE


async def test_unsaved_text_from_before_the_editor_was_started_never_goes_to_disk(tmp_path) -> None:
    """Editors restore unsaved buffers; such a document is opened with text of the user."""
    room = Room(tmp_path, buffer="ONE\ntwo\n")
    await room.edit("ONE\n2\n")
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert room.on_disk == BEFORE


async def test_a_file_that_somebody_else_changed_on_disk_is_not_overwritten(room) -> None:
    await room.edit()
    room.path.write_bytes(b"theirs\n")
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert (room.on_disk, room.editor.text) == ("theirs\n", AFTER)


async def test_a_file_that_vanished_from_disk_does_not_keep_commands_from_running(room) -> None:
    await room.edit()
    room.path.unlink()
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert not room.path.exists()


async def test_a_save_makes_buffer_and_disk_agree_again(room) -> None:
    room.editor.type_text(0, 3, "ONE")
    await room.editor.save((room.editor.document.uri,))
    await room.edit("ONE\n2\n")
    assert await room.workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == "ONE\n2\n"


async def test_open_documents_outside_the_workspace_are_refused(tmp_path) -> None:
    (tmp_path / "in").mkdir()
    room = Room(tmp_path)
    inside = EditorWorkspace(
        room.editor.documents, room.editor, DiskWorkspace([tmp_path / "in"]), apply_timeout_s=1
    )
    with pytest.raises(ToolError, match="outside the workspace"):
        inside.resolve("../a.py")
    assert msgspec.structs.astuple(await inside.settle()) == ((), ())
