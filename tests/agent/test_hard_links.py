"""FS-08: changing a file with several hard links needs a question, because one may be protected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.workspace.disk import DiskWorkspace
from support.session import a_world, asks, call, says

READ = asks(call("read_file", "r1", path="notes.txt"))
EDIT = asks(call("edit_file", "e1", path="notes.txt", edits=[{"old": "one", "new": "two"}]))


@pytest.mark.parametrize(("answer", "text"), [("no", "one\n"), ("once", "two\n")])
async def test_fs_08_a_hard_link_to_a_protected_file_needs_a_question(
    tmp_path: Path, answer: str, text: str
) -> None:
    root = tmp_path / "work"
    (root / ".git").mkdir(parents=True)
    config = root / ".git" / "config"
    config.write_bytes(b"one\n")
    os.link(config, root / "notes.txt")
    script = [READ, EDIT, says("Done.")]
    async with a_world(
        tmp_path, script, workspace=DiskWorkspace([root]), answers=[answer]
    ) as world:
        await world.turn()
        [question] = world.approver.questions
        assert "has other names (hard links)" in question.reason
        assert (
            config.read_text(encoding="utf-8"),
            (root / "notes.txt").read_text(encoding="utf-8"),
        ) == (text, text)


async def test_a_file_without_hard_links_is_edited_without_a_question(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.txt").write_bytes(b"one\n")
    script = [READ, EDIT, says("Done.")]
    async with a_world(tmp_path, script, workspace=DiskWorkspace([root])) as world:
        await world.turn()
        assert world.approver.questions == []
        assert (root / "notes.txt").read_text(encoding="utf-8") == "two\n"
