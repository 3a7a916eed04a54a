"""EDT-09, EDT-10: differences between disk and buffer are reported, and no file is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.files.listing import FileState
from indwell.lsp.wire import sync
from indwell.lsp.workspace.editor_workspace import DiskAgreement, EditorWorkspace
from indwell.workspace.base import Settlement, Snapshot
from indwell.workspace.disk import DiskWorkspace
from support.stub_editor import StubEditor

BEFORE, AFTER, THEIRS = "one\ntwo\n", "one\n2\n", "theirs\n"
NEWER = (
    "the file on disk is newer than the editor's text: somebody else has changed it; the editor's "
    "text is shown"
)
GONE = "the file is not on disk any more; the editor's text is shown"


class CountingDisk(DiskWorkspace):
    """Counts how often a file is read."""

    n_reads = 0

    async def read(self, path: Path) -> Snapshot:
        self.n_reads += 1
        return await super().read(path)


class Room:
    """A file on disk, and the buffer that shows the file."""

    def __init__(self, folder: Path, text: str = BEFORE, *, buffer: str | None = None) -> None:
        self.path = folder.resolve() / "a.py"
        self.path.write_bytes(text.encode())
        self.editor = StubEditor(self.path, text if buffer is None else buffer)
        self.disk = CountingDisk([folder])
        self.workspace = EditorWorkspace(
            self.editor.documents, self.editor, self.disk, apply_timeout_s=1
        )

    async def edit(self, text: str = AFTER) -> None:
        base = await self.workspace.read(self.path)
        await self.workspace.write(self.path, base, text, label="x")

    async def notes(self) -> tuple[str, ...]:
        return (await self.workspace.read(self.path)).notes

    async def changed(self) -> tuple[Path, ...]:
        return await self.workspace.changed_under_buffers()

    @property
    def on_disk(self) -> str:
        return self.path.read_bytes().decode()


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


async def test_edt_09_unsaved_text_is_read_from_the_buffer_and_not_reported_as_a_disk_change(
    room,
) -> None:
    room.editor.type_text(0, 3, "ONE")
    read = await room.workspace.read(room.path)
    assert (read.text, read.unsaved, read.notes) == ("ONE\ntwo\n", True, ())
    assert (await room.changed(), room.on_disk) == ((), BEFORE)


@pytest.mark.parametrize("dirty", [False, True])
async def test_edt_10_an_outside_disk_change_is_reported_once_and_noted_at_each_read(
    room, dirty
) -> None:
    if dirty:
        room.editor.type_text(0, 3, "ONE")
    text = room.editor.text
    room.path.write_bytes(THEIRS.encode())
    assert await room.changed() == (room.path,)
    assert await room.changed() == ()
    assert await room.notes() == (NEWER,)
    assert (room.editor.text, room.on_disk) == (text, THEIRS)
    room.path.write_bytes(b"again\n")
    assert await room.changed() == (room.path,)


async def test_edt_10_a_change_of_the_same_length_within_the_same_moment_is_seen(room) -> None:
    room.path.write_bytes(b"one\ntw1\n")
    assert await room.changed() == (room.path,)
    stat = room.path.stat()
    room.path.write_bytes(b"one\ntw2\n")
    os.utime(room.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert await room.changed() == (room.path,)


async def test_edt_10_the_disk_is_not_overwritten_when_a_command_is_about_to_run(room) -> None:
    await room.edit()
    room.path.write_bytes(THEIRS.encode())
    assert await room.workspace.settle() == Settlement(stale=(room.path,))
    assert (room.on_disk, room.editor.text) == (THEIRS, AFTER)


async def test_edt_10_indwells_writes_and_the_editors_saves_are_not_reported(room) -> None:
    await room.edit()
    await room.workspace.settle()
    assert (room.on_disk, await room.changed(), await room.notes()) == (AFTER, (), ())
    room.editor.type_text(0, 3, "ONE")
    await room.editor.save((room.editor.document.uri,))
    assert (room.on_disk, await room.changed()) == ("ONE\n2\n", ())


async def test_edt_10_a_reloaded_buffer_agrees_with_the_disk_and_is_clean(room) -> None:
    room.path.write_bytes(THEIRS.encode())
    room.editor.type_text(0, len(BEFORE), THEIRS)  # VS Code reloads by a change without a save
    assert room.editor.document.dirt == "user"
    assert (await room.changed(), await room.notes()) == ((), ())
    assert room.editor.document.dirt == "clean"


async def test_edt_10_a_touched_but_unchanged_file_is_not_reported(room) -> None:
    assert await room.changed() == ()
    room.path.write_bytes(BEFORE.encode())
    assert await room.changed() == ()


async def test_edt_10_a_deleted_file_is_reported(room) -> None:
    room.path.unlink()
    assert (await room.changed(), await room.changed()) == ((room.path,), ())
    assert await room.notes() == (GONE,)


@pytest.mark.parametrize("shown", ["", "\n"])
async def test_a_file_that_is_not_saved_yet_is_not_reported(tmp_path, shown) -> None:
    room = Room(tmp_path, buffer=shown)
    room.path.unlink()
    assert (await room.changed(), await room.notes()) == ((), ())


async def test_a_binary_file_causes_no_note_about_the_buffer(room) -> None:
    room.path.write_bytes(b"\0\1\2")
    assert (await room.changed(), await room.notes()) == ((), ())


async def test_a_file_with_unchanged_stat_is_not_read_again(room) -> None:
    state = FileState(seen=(1, 2, 3, 4), is_certain=True)
    agreement = DiskAgreement(room.disk, look=lambda _path: state)
    for _ in range(3):
        assert await agreement.note(room.editor.document, room.path) == ""
        assert await agreement.changed((room.editor.document,)) == ()
    assert room.disk.n_reads == 1


async def test_a_file_with_a_very_recent_change_time_is_read_again(room) -> None:
    state = FileState(seen=(1, 2, 3, 4), is_certain=False)
    agreement = DiskAgreement(room.disk, look=lambda _path: state)
    await agreement.note(room.editor.document, room.path)
    await agreement.note(room.editor.document, room.path)
    assert room.disk.n_reads == 2


async def test_a_save_during_a_disk_check_is_not_reported(room) -> None:
    room.editor.type_text(0, 3, "ONE")

    class SlowDisk(DiskWorkspace):
        async def read(self, path: Path) -> Snapshot:
            # the read returns the old text, and then the editor saves
            seen = await super().read(path)
            room.editor.type_text(0, 3, "TWO")
            await room.editor.save((room.editor.document.uri,))
            room.editor.type_text(0, 3, "SIX")
            return seen

    agreement = DiskAgreement(SlowDisk([room.path.parent]))
    assert await agreement.note(room.editor.document, room.path) == ""


async def test_a_closed_document_is_forgotten(room) -> None:
    await room.changed()
    room.editor.documents.close(room.editor.document.uri)
    room.path.write_bytes(THEIRS.encode())
    assert await room.changed() == ()


async def test_a_buffer_without_carriage_returns_agrees_with_a_crlf_file_and_keeps_crlf(
    tmp_path,
) -> None:
    """Emacs shows every buffer with line feeds only."""
    room = Room(tmp_path, "one\r\ntwo\r\n", buffer=BEFORE)
    assert (await room.changed(), await room.notes()) == ((), ())
    await room.edit()
    assert await room.workspace.settle() == Settlement(saved=(room.path,))
    assert room.on_disk == "one\r\n2\r\n"


async def test_documents_that_are_not_files_are_left_out(room) -> None:
    room.editor.documents.open(sync.OpenedDocument("untitled:Untitled-1", "python", 1, "x"))
    assert await room.changed() == ()
