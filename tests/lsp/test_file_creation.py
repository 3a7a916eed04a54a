"""EDT-11, EDT-14: a capable editor creates new files, only once, and never over other files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types

from indwell.errors import EditRefused, ToolError
from indwell.files.spelling import plain_path
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.workspace.base import AppliedChange, TextStamp, digest
from indwell.workspace.disk import DiskWorkspace
from support.stub_editor import StubEditor

Result = types.ApplyWorkspaceEditResult
Way = Callable[[Path], Awaitable[Result | None]]
TEXT = "x = 1\n"


class Room:
    """An editor that creates files, with another open file."""

    def __init__(self, folder: Path, way: Way, features: ClientFeatures | None = None) -> None:
        self.path = folder.resolve() / "new.py"
        self.editor = StubEditor(folder.resolve() / "a.py", "")
        self.editor.features = ClientFeatures(create_files=True) if features is None else features
        self.editor.behave = lambda edit: way(_path(edit))
        self.workspace = EditorWorkspace(
            self.editor.documents, self.editor, DiskWorkspace([folder]), apply_timeout_s=0.05
        )

    async def write(self, text: str = TEXT) -> AppliedChange:
        return await self.workspace.write(self.path, None, text, label="Indwell: write new.py")

    async def refused(self) -> str:
        with pytest.raises(ToolError) as caught:
            await self.write()
        return str(caught.value)


def _path(edit: types.WorkspaceEdit) -> Path:
    (operation,) = edit.document_changes
    return Path(plain_path(operation.uri))


async def makes(path: Path) -> Result:
    path.touch(exist_ok=False)
    return Result(applied=True)


async def does_nothing(_path: Path) -> Result:
    return Result(applied=True)


async def says_nothing(_path: Path) -> Result:
    await asyncio.Event().wait()
    raise AssertionError


async def makes_and_says_nothing(path: Path) -> Result:
    path.touch(exist_ok=False)
    return await says_nothing(path)


async def fails(_path: Path) -> Result:
    raise RequestError("create is not supported", -32601)


async def answers_null(_path: Path) -> None:
    """Answer with a null result."""


async def fills(path: Path) -> Result:
    path.write_bytes(b"# a template\n")
    return Result(applied=True)


async def refuses(_path: Path) -> Result:
    return Result(applied=False, failure_reason="read-only folder")


async def test_edt_11_the_editor_creates_the_file_and_the_disk_gets_the_text(tmp_path) -> None:
    room = Room(tmp_path, makes)
    assert await room.write() == AppliedChange(
        path=room.path, before=None, after=TEXT, stamp=TextStamp(digest(TEXT))
    )
    options = types.CreateFileOptions(ignore_if_exists=True)
    operation = types.CreateFile(uri=room.path.as_uri(), options=options)
    assert room.editor.sent == [
        (types.WorkspaceEdit(document_changes=[operation]), "Indwell: write new.py")
    ]
    assert room.path.read_text(encoding="utf-8") == TEXT


async def test_edt_11_a_file_creation_is_annotated_if_the_editor_shows_annotations(
    tmp_path,
) -> None:
    room = Room(tmp_path, makes, ClientFeatures(create_files=True, annotations=True))
    await room.write()
    ((edit, _),) = room.editor.sent
    assert edit.document_changes[0].annotation_id == "indwell"
    assert list(edit.change_annotations) == ["indwell"]


@pytest.mark.parametrize(
    "way", [does_nothing, says_nothing, makes_and_says_nothing, fails, answers_null]
)
async def test_edt_11_a_file_that_the_editor_does_not_create_is_created_once_on_disk(
    tmp_path, way
) -> None:
    room = Room(tmp_path, way)
    assert (await room.write()).after == TEXT
    assert (room.path.read_text(encoding="utf-8"), len(room.editor.sent)) == (TEXT, 1)
    is_silent = way in (says_nothing, makes_and_says_nothing)
    assert room.editor.withdrawn == ([room.editor.sent[0][0]] if is_silent else [])


async def test_edt_11_a_refused_creation_is_not_repeated_on_disk(tmp_path) -> None:
    room = Room(tmp_path, refuses)
    assert await room.refused() == "the editor refused to create 'new.py' (read-only folder)"
    assert not room.path.exists()


async def test_edt_11_an_editor_without_file_creation_is_not_asked_to_create_a_file(
    tmp_path,
) -> None:
    room = Room(tmp_path, makes, ClientFeatures())
    await room.write()
    assert (room.path.read_text(encoding="utf-8"), room.editor.sent) == (TEXT, [])


async def test_edt_11_a_file_in_a_new_folder_is_created_on_disk(tmp_path) -> None:
    room = Room(tmp_path, makes)
    room.path = room.path.parent / "new" / "deep.py"
    await room.write()
    assert (room.path.read_text(encoding="utf-8"), room.editor.sent) == (TEXT, [])


async def test_edt_11_a_new_file_that_the_editor_opens_at_once_gets_its_text_in_the_buffer(
    tmp_path,
) -> None:
    async def makes_and_opens(path: Path) -> Result:
        path.touch(exist_ok=False)
        room.editor.path, room.editor.text = path, ""
        room.editor.behave = room.editor.applies
        room.editor.open_again()
        return Result(applied=True)

    room = Room(tmp_path, makes_and_opens)
    assert await room.write() == AppliedChange(
        path=room.path, before=None, after=TEXT, stamp=TextStamp(digest(TEXT), 2)
    )
    assert (room.editor.text, room.path.read_text(encoding="utf-8")) == (TEXT, "")


@pytest.mark.parametrize(("proposed", "kept"), [("a\r\nb\r\n", "a\nb\n"), ("a\nb\n", "a\r\nb\r\n")])
async def test_an_editor_that_opens_the_new_file_may_have_line_ends_of_its_own(
    tmp_path, proposed: str, kept: str
) -> None:
    async def makes_and_opens(path: Path) -> Result:
        path.touch(exist_ok=False)
        room.editor.path, room.editor.text = path, ""
        room.editor.behave = applies_in_its_way
        room.editor.open_again()
        return Result(applied=True)

    async def applies_in_its_way(_edit: types.WorkspaceEdit) -> Result:
        room.editor.type_text(0, 0, kept)
        return Result(applied=True)

    room = Room(tmp_path, makes_and_opens)
    change = await room.write(proposed)
    assert change == AppliedChange(
        path=room.path, before=None, after=kept, stamp=TextStamp(digest(kept), 2)
    )


async def test_edt_14_creating_an_existing_file_is_refused_before_the_editor_is_asked(
    tmp_path,
) -> None:
    room = Room(tmp_path, makes)
    room.path.write_bytes(b"theirs\n")
    assert "exists already" in await room.refused()
    assert (room.path.read_text(encoding="utf-8"), room.editor.sent) == ("theirs\n", [])


async def test_edt_14_a_new_file_filled_by_another_program_is_not_overwritten(tmp_path) -> None:
    room = Room(tmp_path, fills)
    with pytest.raises(EditRefused, match="not empty although it is new"):
        await room.write()
    assert room.path.read_text(encoding="utf-8") == "# a template\n"


async def test_edt_14_a_file_that_appears_before_the_editors_answer_is_kept(tmp_path) -> None:
    async def is_too_late(path: Path) -> Result:
        path.write_bytes(b"theirs\n")
        return await says_nothing(path)

    room = Room(tmp_path, is_too_late)
    with pytest.raises(EditRefused):
        await room.write()
    assert room.path.read_text(encoding="utf-8") == "theirs\n"


async def test_edt_19_a_stop_withdraws_a_file_creation(tmp_path) -> None:
    room = Room(tmp_path, says_nothing)
    writing = asyncio.create_task(room.write())
    await room.editor.was_sent.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert room.editor.withdrawn == [room.editor.sent[0][0]]
    assert not room.path.exists()


async def test_text_that_no_file_can_hold_leaves_no_empty_file_behind(tmp_path) -> None:
    room = Room(tmp_path, makes)
    with pytest.raises(ToolError, match="half of a surrogate pair"):
        await room.write("\ud83d")
    assert (room.path.exists(), room.editor.sent) == (False, [])


async def test_text_that_the_project_s_encoding_cannot_hold_says_that_the_file_is_empty(
    tmp_path,
) -> None:
    (tmp_path / ".editorconfig").write_bytes(b"[*]\ncharset = latin1\n")
    room = Room(tmp_path, makes)
    with pytest.raises(ToolError, match="the editor has made the file, and it is empty"):
        await room.write("x = '€'\n")
    assert room.path.read_text(encoding="utf-8") == ""


async def test_an_untitled_document_of_equal_name_is_not_the_new_file(tmp_path) -> None:
    room = Room(tmp_path, makes)
    room.editor.documents.open(sync.OpenedDocument("untitled:new.py", "python", 1, ""))
    await room.write()
    assert room.path.read_text(encoding="utf-8") == TEXT
