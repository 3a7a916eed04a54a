"""The editor deletes an open file with its buffer, but never a buffer with another text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types

from indwell.errors import EditRefused, TextMoved
from indwell.lsp.messages.features import ClientFeatures, features_of
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.workspace.disk import DiskWorkspace
from support.stub_editor import StubEditor

Result = types.ApplyWorkspaceEditResult
TEXT = "made\n"


class Room:
    """An editor with an open file that the agent created."""

    def __init__(self, folder: Path, way: Callable[[Path], Awaitable[Result | None]]) -> None:
        self.root = folder.resolve() / "work"
        self.root.mkdir()
        self.path = self.root / "a.py"
        self.path.write_bytes(TEXT.encode())
        self.editor = StubEditor(self.path, TEXT)
        self.editor.features = ClientFeatures(delete_files=True)
        self.editor.behave = lambda _edit: way(self.path)
        disk = DiskWorkspace([self.root], private=folder.resolve() / "undo")
        self.workspace = EditorWorkspace(
            self.editor.documents, self.editor, disk, apply_timeout_s=0.05
        )

    async def remove(self) -> Path | None:
        base = await self.workspace.read(self.path)
        return await self.workspace.remove(self.path, base, label="Indwell: reject")


async def deletes(path: Path) -> Result:
    path.unlink()
    return Result(applied=True)


async def does_nothing(_path: Path) -> Result:
    return Result(applied=True)


async def knows_no_such_thing(_path: Path) -> Result:
    raise RequestError("delete is not supported", -32601)


async def says_no(_path: Path) -> Result:
    return Result(applied=False, failure_reason="the user said no")


@pytest.mark.parametrize("way", [deletes, does_nothing, knows_no_such_thing])
async def test_a_deleted_file_leaves_a_copy(tmp_path, way) -> None:
    room = Room(tmp_path, way)
    kept = await room.remove()
    assert not room.path.exists()
    assert kept is not None
    assert kept.read_bytes() == TEXT.encode()
    ((edit, label),) = room.editor.sent
    (operation,) = edit.document_changes
    assert (operation.kind, operation.uri) == ("delete", room.path.as_uri())
    assert label == "Indwell: reject"


async def test_a_file_stays_if_the_editor_refuses_its_deletion(tmp_path) -> None:
    room = Room(tmp_path, says_no)
    with pytest.raises(EditRefused, match=r"refused to delete 'a.py' \(the user said no\)"):
        await room.remove()
    assert room.path.exists()


async def test_an_editor_without_file_deletion_is_not_asked_to_delete_a_file(tmp_path) -> None:
    room = Room(tmp_path, deletes)
    room.editor.features = ClientFeatures()
    await room.remove()
    assert not room.path.exists()
    assert room.editor.sent == []


async def test_a_file_with_a_changed_buffer_is_not_deleted(tmp_path) -> None:
    room = Room(tmp_path, deletes)
    base = await room.workspace.read(room.path)
    room.editor.type_text(0, 0, "mine\n")
    with pytest.raises(TextMoved, match="was changed in the editor"):
        await room.workspace.remove(room.path, base, label="reject")
    assert room.path.exists()
    assert room.editor.sent == []


async def test_a_file_with_changed_disk_text_is_not_deleted(tmp_path) -> None:
    room = Room(tmp_path, deletes)
    room.path.write_bytes(b"somebody else's\n")
    with pytest.raises(TextMoved, match="has another text on disk than in the editor"):
        await room.remove()
    assert room.path.read_bytes() == b"somebody else's\n"


async def test_deleting_a_file_keeps_a_copy_of_the_buffers_unsaved_text(tmp_path) -> None:
    room = Room(tmp_path, deletes)
    room.editor.type_text(0, 0, "more\n")
    kept = await room.remove()
    assert not room.path.exists()
    assert kept is not None
    assert kept.read_bytes() == b"more\nmade\n"


def test_only_an_editor_that_declares_deletion_deletes_files() -> None:
    declared = {"workspace": {"workspaceEdit": {"resourceOperations": ["create", "delete"]}}}
    assert features_of(declared).delete_files
    assert not features_of({}).delete_files
