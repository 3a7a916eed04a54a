"""Review from the turn to the verdict: the real server, and the fake editor as each client."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from support.editing import Home, editing
from support.fake_editor.clients import CLIENTS
from support.loopback_endpoint import LoopbackEndpoint
from support.reviewing import (
    AFTER,
    BEFORE,
    act,
    changed,
    titles,
    turn,
    until_marked,
)

EACH = pytest.mark.parametrize("kind", CLIENTS, ids=[kind.name for kind in CLIENTS])


@pytest.fixture
def home(tmp_path) -> Home:
    home = Home(tmp_path)
    home.write("work.txt", BEFORE)
    return home


@EACH
async def test_each_client_reviews_pending_changes_before_and_after_a_restart(home, kind) -> None:
    other = home.write("other.txt", BEFORE)
    script = [*turn(), *turn("other.txt", (2, 20)), *turn("work.txt", (9,))]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, profile=kind) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        await editor.ask("go on")
        await until_marked(editor, buffer, (4, 5), (16, 17), (28, 29))
        assert buffer.text == AFTER

        # The user rejects one of three hunks as one undo step, accepts one, and types.
        n_steps = len(buffer.undo)
        done = await act(editor, buffer, 16, "Reject this change")
        assert (done["verdict"], len(done["hunks"]), done["kept"]) == ("reject", 1, [])
        assert buffer.text == changed(4, 26)
        assert len(buffer.undo) == n_steps + 1
        assert editor.labels[-1] == "Indwell: reject in work.txt"
        await until_marked(editor, buffer, (4, 5), (27, 28))
        editor.type_text(buffer, 0, 0, "mine é😀\n")
        await until_marked(editor, buffer, (5, 6), (28, 29))
        done = await act(editor, buffer, 5, "Accept this change")
        assert (done["verdict"], len(done["hunks"])) == ("accept", 1)
        await until_marked(editor, buffer, (28, 29))
        assert buffer.text == "mine é😀\n" + changed(4, 26)

        # Two more turns follow; the file of one turn is not open.
        await editor.ask("the other one")
        assert other.read_text(encoding="utf-8") == changed(2, 20)
        await editor.wait_until(lambda: other.as_uri() in editor.marks.problems)
        await editor.ask("and this")
        await until_marked(editor, buffer, (11, 12), (29, 30))
        assert await titles(editor, buffer, 11) == [
            "Accept this change",
            "Reject this change",
            "Accept all changes in this file (2)",
            "Reject all changes in this file (2)",
            "Accept all changes of this session (4 in 2 files)",
            "Reject all changes of this session (4 in 2 files)",
            "Show the changes as a diff",
        ]
        editor.save(buffer)
        await editor.heard()

    # Pending changes survive a restart of server and editor, even before a file is opened.
    async with editing(home, profile=kind) as editor:
        await editor.wait_until(lambda: len(editor.marks.problems) == 2)
        buffer = editor.open(home.workspace / "work.txt")
        await until_marked(editor, buffer, (11, 12), (29, 30))
        if kind.asks_for_lenses:
            lenses = await editor.code_lenses(buffer)
            assert [one.command.title for one in lenses][:6] == [
                "2 changes by Indwell",
                "Accept all in this file",
                "Reject all in this file",
                "Accept",
                "Reject",
                "Turn 3 of another session, +2 −1",
            ]
        assert await titles(editor, buffer, 11) == [
            "Accept this change",
            "Reject this change",
            "Accept all changes in this file (2)",
            "Reject all changes in this file (2)",
            "Accept all pending changes (4 in 2 files)",
            "Reject all pending changes (4 in 2 files)",
            "Show the changes as a diff",
        ]

        # The user rejects a file, then all other changes; text that the user typed stays.
        await act(editor, buffer, 29, "Reject all changes in this file")
        assert buffer.text == "mine é😀\n" + changed(4)
        await until_marked(editor, buffer)
        assert await titles(editor, buffer, 1) == [
            "Accept all pending changes (2)",
            "Reject all pending changes (2)",
        ]
        done = await act(editor, buffer, 1, "Reject all pending changes")
        assert (len(done["hunks"]), done["kept"]) == (2, [])
        assert other.read_text(encoding="utf-8") == BEFORE
        await editor.wait_until(lambda: not editor.marks.problems)
        assert await titles(editor, buffer, 1) == []


async def test_a_reject_is_saved_to_disk_but_text_typed_by_the_user_stays_unsaved(home) -> None:
    other = home.write("other.txt", BEFORE)
    script = [*turn(), *turn("other.txt", (2, 20))]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "save")) as editor,
    ):
        saved = editor.open(home.workspace / "work.txt")
        typed = editor.open(other)
        await editor.ask("go on")
        await editor.ask("the other one")
        for buffer in (saved, typed):
            editor.save(buffer)
        await until_marked(editor, saved, (4, 5), (16, 17), (28, 29))
        editor.type_text(typed, 0, 0, "mine\n")
        await editor.heard()
        on_disk = other.read_text(encoding="utf-8")

        await act(editor, saved, 16, "Reject this change")
        assert saved.path.read_text(encoding="utf-8") == saved.text == changed(4, 26)
        await until_marked(editor, typed, (3, 4), (22, 23))
        await act(editor, typed, 3, "Reject this change")
        assert typed.text == "mine\n" + changed(20)
        assert other.read_text(encoding="utf-8") == on_disk
    home.logs()


async def test_pending_changes_follow_renamed_files_and_folders(home) -> None:
    async with (
        LoopbackEndpoint([*turn()]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "save")) as editor,
    ):
        old, new = home.workspace / "work.txt", home.workspace / "other.txt"
        buffer = editor.open(old)
        await editor.ask("go on")
        editor.save(buffer)
        await until_marked(editor, buffer, (4, 5), (16, 17), (28, 29))

        def renamed(source: Path, target: Path) -> None:
            files = [types.FileRename(old_uri=source.as_uri(), new_uri=target.as_uri())]
            editor.client.workspace_did_rename_files(types.RenameFilesParams(files=files))

        editor.close(buffer)
        old.rename(new)
        buffer = editor.open(new)
        renamed(old, new)
        await until_marked(editor, buffer, (4, 5), (16, 17), (28, 29))
        await editor.wait_until(lambda: not editor.marks.problems.get(old.as_uri()))

        (home.workspace / "folder").mkdir()
        editor.close(buffer)
        moved = new.rename(home.workspace / "folder" / "other.txt")
        moved.parent.rename(home.workspace / "place")
        renamed(new, moved)
        renamed(moved.parent, home.workspace / "place")
        buffer = editor.open(home.workspace / "place" / "other.txt")
        await until_marked(editor, buffer, (4, 5), (16, 17), (28, 29))
        await act(editor, buffer, 16, "Reject this change")
        assert buffer.path.read_text(encoding="utf-8") == changed(4, 26)
    home.logs()
