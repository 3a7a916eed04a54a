"""Notifications in an impossible order (EDT-16)."""

from __future__ import annotations

import pytest

from indwell.lsp.wire import sync
from support.room import MENDED, MINE, NAME, SOURCE, Room, in_no_time

HERE = sync.Range(start=sync.Position(0, 0), end=sync.Position(0, 0))


def document(room: Room):
    found = room.editor.documents.get(room.path.as_uri())
    assert found is not None
    return found


@in_no_time
async def test_edt_16_the_last_of_two_opens_counts(tmp_path) -> None:
    room = Room(tmp_path)
    room.type_text(0)
    await room.agent.read()
    # the client opens the document again without closing it: version 1, as on disk
    room.editor.open(room.path)
    assert (document(room).text, document(room).version) == (SOURCE, 1)
    assert "mine" not in await room.agent.read()
    await room.agent.edit()
    assert room.text == MENDED


@in_no_time
async def test_edt_16_changes_before_the_open_or_after_the_close_are_ignored(tmp_path) -> None:
    room = Room(tmp_path, is_open=False)
    documents, uri = room.editor.documents, room.path.as_uri()
    documents.change(uri, 7, [sync.TextChange(text="x", range=HERE)])
    documents.saved(uri)
    documents.close(uri)
    assert documents.get(uri) is None
    assert "def total" in await room.agent.read()
    room.editor.open(room.path)
    room.editor.desk.close(room.buffer)
    documents.change(uri, 2, [sync.TextChange(text="x")])
    documents.saved(uri)
    await room.agent.edit()
    assert room.on_disk == MENDED


@pytest.mark.parametrize("version", [2, 1, -3], ids=["the same", "older", "negative"])
@in_no_time
async def test_edt_16_after_versions_in_a_wrong_order_a_document_is_not_edited_until_reopened(
    tmp_path, version
) -> None:
    room = Room(tmp_path)
    room.type_text(0)
    documents = room.editor.documents
    documents.change(room.buffer.uri, version, [sync.TextChange(text="?", range=HERE)])
    assert "impossible order" in await room.agent.read()
    assert "impossible order" in await room.agent.refused()
    assert (room.text, room.editor.sent, room.on_disk) == (MINE + SOURCE, [], SOURCE)
    await room.editor.workspace.settle()
    assert room.on_disk == SOURCE
    room.editor.desk.close(room.buffer)
    room.editor.open(room.path)
    await room.agent.read()
    await room.agent.edit()
    assert room.text == MENDED


@in_no_time
async def test_edt_16_a_whole_text_ends_the_stale_state_of_a_document(tmp_path) -> None:
    room = Room(tmp_path)
    room.type_text(0)
    room.editor.documents.change(room.buffer.uri, 1, [sync.TextChange(text="?", range=HERE)])
    room.editor.desk.rewrite(room.buffer, "# new\n" + SOURCE)
    assert document(room).text == room.text
    assert "impossible" not in await room.agent.read()
    await room.agent.edit()
    assert room.text == "# new\n" + MENDED


@in_no_time
async def test_edt_16_repeated_saves_and_closes_are_harmless(tmp_path) -> None:
    room = Room(tmp_path)
    documents, uri = room.editor.documents, room.path.as_uri()
    documents.saved(uri)
    documents.saved(uri)
    documents.close(uri)
    documents.close(uri)
    assert documents.get(uri) is None
    assert NAME in str(room.path)
    assert "def total" in await room.agent.read()
