"""The promises of the Workspace interface, tested with each implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.errors import EditRefused, ToolError
from indwell.workspace.base import AppliedChange, Settlement, Snapshot, TextStamp, Workspace, digest
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.large import ByteSplice, Large
from support.memory_workspace import MemoryWorkspace

FILES = {"a.txt": "one\r\ntwo", "src/main.py": "pass\n"}


@pytest.fixture(params=["disk", "memory"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    if request.param == "memory":
        return MemoryWorkspace(FILES, root=tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return DiskWorkspace([tmp_path])


async def test_a_read_file_has_a_stamp_of_its_text(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    assert await workspace.read(path) == Snapshot(
        path=workspace.roots[0] / "a.txt", text="one\r\ntwo", stamp=TextStamp(digest("one\r\ntwo"))
    )


def test_a_path_may_be_relative_absolute_or_a_uri(workspace: Workspace) -> None:
    path = workspace.roots[0] / "src" / "main.py"
    assert [workspace.resolve(p) for p in ("src/main.py", str(path), path.as_uri())] == [path] * 3


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/../../x", "~/x", "a\0b", ""])
def test_an_edit_outside_the_workspace_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolError):
        workspace.resolve(path)


def test_a_sibling_folder_with_the_same_beginning_is_outside_the_workspace(
    workspace: Workspace,
) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve(f"{workspace.roots[0]}-evil/x")


async def test_a_missing_file_is_reported_with_similar_names(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"'src/mian.py' does not exist; close to it: main.py"):
        await workspace.read(workspace.resolve("src/mian.py"))


async def test_a_missing_folder_is_reported(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="'none/x.py' does not exist"):
        await workspace.read(workspace.resolve("none/x.py"))


async def test_a_folder_is_reported_with_its_entries(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"'src' is a folder; it holds main.py"):
        await workspace.read(workspace.resolve("src"))
    with pytest.raises(ToolError, match=r"'\.' is a folder; it holds a.txt, src/"):
        await workspace.read(workspace.resolve("."))


async def test_a_file_can_be_changed_after_a_read(workspace: Workspace) -> None:
    base = await workspace.read(workspace.resolve("a.txt"))
    change = await workspace.write(base.path, base, "one\r\n2", label="edit")
    after = TextStamp(digest("one\r\n2"))
    assert change == AppliedChange(
        path=base.path, before="one\r\ntwo", after="one\r\n2", stamp=after
    )
    assert await workspace.read(base.path) == Snapshot(base.path, "one\r\n2", after)


async def test_a_file_is_created_with_its_parent_folders(workspace: Workspace) -> None:
    path = workspace.resolve("new/deep/b.txt")
    change = await workspace.write(path, None, "b\n", label="create")
    assert change == AppliedChange(
        path=path, before=None, after="b\n", stamp=TextStamp(digest("b\n"))
    )
    assert (await workspace.read(path)).text == "b\n"


async def test_creating_a_file_never_overwrites_a_file(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    with pytest.raises(EditRefused, match="exists already"):
        await workspace.write(path, None, "new", label="create")
    assert (await workspace.read(path)).text == "one\r\ntwo"


async def test_a_write_to_a_folder_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="is a folder; name a file in it"):
        await workspace.write(workspace.resolve("src"), None, "new", label="create")


async def test_a_change_from_an_old_text_is_refused(workspace: Workspace) -> None:
    base = await workspace.read(workspace.resolve("a.txt"))
    await workspace.write(base.path, base, "the user's", label="somebody else")
    with pytest.raises(EditRefused, match="changed"):
        await workspace.write(base.path, base, "mine", label="edit")
    assert (await workspace.read(base.path)).text == "the user's"


async def test_a_workspace_without_buffers_has_no_unsaved_text(workspace: Workspace) -> None:
    assert (workspace.unsaved(), await workspace.settle()) == ({}, Settlement())


async def test_a_large_file_is_examined_and_changed_by_its_bytes(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    seen = await workspace.within(path, lambda large: (large.index.n_lines, large.read(3, 4)))
    assert seen == (2, b"\r\ntw")

    def plan(large: Large) -> tuple[Large, int]:
        return large.spliced([ByteSplice(5, 8, b"2")]), large.size_b

    stamp, size_b = await workspace.splice(path, plan, label="edit")
    assert size_b == 8
    assert (await workspace.read(path)).text == "one\r\n2"
    assert await workspace.within(path, lambda large: large.index.digest) == stamp.digest


async def test_a_failed_splice_changes_no_file(workspace: Workspace) -> None:
    def plan(large: Large) -> tuple[Large, None]:
        raise ToolError("not like this")

    path = workspace.resolve("a.txt")
    with pytest.raises(ToolError, match="not like this"):
        await workspace.splice(path, plan, label="edit")
    assert (await workspace.read(path)).text == "one\r\ntwo"
