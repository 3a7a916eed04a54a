"""Changes by commands to files whose editor buffer still has the old text."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.review.checkpoints.coverage import Coverage
from indwell.review.copies import Copies
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import COPIES, rewind_files
from support.ledgers import ledger_in
from support.near_editor import NearEditor


class Room:
    """An editor with one open file; ``told`` has the messages to the user."""

    def __init__(self, root: Path, ledger: ReviewLedger) -> None:
        self.path = root / "a.txt"
        self.path.write_bytes(b"one\ntwo\n")
        self.ledger = ledger
        self.editor = NearEditor(root)
        self.buffer = self.editor.open(self.path)
        self.told: list[str] = []
        copies = Copies(ledger.folder / COPIES)
        self.coverage = Coverage(
            self.editor.workspace, ledger, copies, secret=lambda: (), hide=lambda text: text
        )

    async def run(self) -> None:
        """Let a command change the file on disk, which the editor does not reload."""
        me = Actor("s1", 1)
        async with self.coverage.around(me, "c", accepted=lambda: False, tell=self.told.append):
            self.path.write_bytes(b"one\n2\n")


@pytest.fixture
async def room(tmp_path: Path) -> Room:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    return Room(root, await ledger_in(tmp_path.resolve(), root))


async def test_a_command_changing_a_file_with_unsaved_text_is_reported_and_recorded_on_reload(
    room: Room,
) -> None:
    room.editor.type_text(room.buffer, 0, 0, "mine\n")
    room.editor.desk.tell()
    await room.run()
    assert len(room.told) == 1
    assert "a.txt' on disk, and the editor has other, unsaved text of it" in room.told[0]
    assert room.ledger.hunks(room.path) == ()
    assert room.ledger.text(room.path) == "mine\none\ntwo\n"
    room.ledger.sync(room.path, "one\n2\n")
    assert [one.new for one in room.ledger.hunks(room.path)] == [("2\n",)]


async def test_a_rewind_skips_and_names_a_file_whose_buffer_is_older_than_the_disk(
    room: Room,
) -> None:
    await room.run()
    assert room.told == []
    done = await rewind_files(room.ledger, room.editor.workspace, "s1", 0)
    assert (done.hunks, [path for path, _ in done.failed]) == ((), [room.path])
    assert "reload the file" in done.failed[0][1]
    assert room.path.read_bytes() == b"one\n2\n"
    assert (await rewind_files(room.ledger, room.editor.workspace, "s1", 1)).failed == ()
    room.path.write_bytes(b"one\ntwo\n")  # another program reverted the change on disk
    assert (await rewind_files(room.ledger, room.editor.workspace, "s1", 0)).failed == ()
