"""A file is deleted only if it is unchanged since the read, and a copy of its bytes is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.user_files import delete_exactly
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.platforms import posix_only

LATIN = "größer\r\n".encode("latin-1")


@pytest.fixture
def room(tmp_path: Path) -> tuple[DiskWorkspace, Path, Path]:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    (root / "a.txt").write_bytes(LATIN)
    private = tmp_path.resolve() / "undo"
    return DiskWorkspace([root], private=private), root / "a.txt", private


@posix_only("modes")
async def test_the_copy_of_a_removed_file_is_readable_only_by_the_user(room) -> None:
    workspace, path, private = room
    kept = await workspace.remove(path, await workspace.read(path), label="reject")
    assert not path.exists()
    assert kept is not None
    assert (kept.parent, kept.read_bytes()) == (private, LATIN)
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_a_file_with_another_text_is_not_deleted(room) -> None:
    workspace, path, _ = room
    base = await workspace.read(path)
    path.write_bytes(b"the user's\n")
    with pytest.raises(TextMoved, match="changed on disk since it was read"):
        await workspace.remove(path, base, label="reject")
    assert path.read_bytes() == b"the user's\n"


async def test_a_missing_file_cannot_be_deleted(room) -> None:
    workspace, path, _ = room
    base = await workspace.read(path)
    path.unlink()
    with pytest.raises(ToolError, match="does not exist"):
        await workspace.remove(path, base, label="reject")


async def test_without_a_copy_no_file_is_deleted(room) -> None:
    workspace, path, private = room
    base = await workspace.read(path)
    private.write_bytes(b"a file in its place")
    with pytest.raises(ToolError, match=r"no copy of .* could be kept"):
        await workspace.remove(path, base, label="reject")
    assert path.exists()


@posix_only("symlinks")
async def test_a_link_in_place_of_a_file_to_delete_is_not_followed(room, tmp_path) -> None:
    workspace, path, _ = room
    base = await workspace.read(path)
    elsewhere = tmp_path / "outside.txt"
    elsewhere.write_bytes(LATIN)
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(ToolError):
        await workspace.remove(path, base, label="reject")
    assert elsewhere.exists()
    assert path.is_symlink()


@posix_only("mkfifo")
def test_a_pipe_is_not_deleted(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="is not a regular file"):
        delete_exactly(tmp_path.resolve() / "pipe", [tmp_path], b"")
    with pytest.raises(EditRefused, match="does not exist any more"):
        delete_exactly(tmp_path.resolve() / "none", [tmp_path], b"")


async def test_deleting_in_a_memory_workspace_compares_the_buffer() -> None:
    workspace = MemoryWorkspace({"a.txt": "old"}, unsaved={"a.txt": "new"})
    path = workspace.resolve("a.txt")
    base = await workspace.read(path)
    workspace.buffers[path] = "mine"
    with pytest.raises(TextMoved):
        await workspace.remove(path, base, label="reject")
    await workspace.remove(path, await workspace.read(path), label="reject")
    assert (workspace.files, workspace.buffers) == ({}, {})
