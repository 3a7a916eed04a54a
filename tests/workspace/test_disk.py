from __future__ import annotations

import asyncio
import codecs
import os
from pathlib import Path

import pytest

from indwell.errors import EditRefused, ToolError
from indwell.workspace.disk import DiskWorkspace


@pytest.fixture
def workspace(tmp_path: Path) -> DiskWorkspace:
    return DiskWorkspace([tmp_path])


async def edit(workspace: DiskWorkspace, name: str, old: str, new: str) -> bytes:
    base = await workspace.read(workspace.resolve(name))
    await workspace.write(base.path, base, base.text.replace(old, new), label="edit")
    return base.path.read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\rb\nc", b"a\r\nnew\rb\nc"),
        (codecs.BOM_UTF8 + b"old\n", codecs.BOM_UTF8 + b"new\n"),
        (
            codecs.BOM_UTF16_LE + "old é\r\n".encode("utf-16-le"),
            codecs.BOM_UTF16_LE + "new é\r\n".encode("utf-16-le"),
        ),
        (
            codecs.BOM_UTF16_BE + "old\n".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "new\n".encode("utf-16-be"),
        ),
    ],
)
async def test_encoding_mark_and_line_ends_stay(
    workspace: DiskWorkspace, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "a").write_bytes(before)
    assert await edit(workspace, "a", "old", "new") == after


async def test_a_file_of_another_encoding_is_read_but_not_written(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9 old\n")
    assert not (await workspace.read(tmp_path / "a")).lossless
    with pytest.raises(EditRefused, match="neither UTF-8 nor UTF-16"):
        await edit(workspace, "a", "old", "new")
    assert (tmp_path / "a").read_bytes() == b"caf\xe9 old\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x7fELF\0", "no text but a binary file of 5 bytes"),
        (b"\x89PNG\r\n\x1a\n", "no text but a PNG image of 8 bytes"),
    ],
)
async def test_what_is_no_text_is_said(
    workspace: DiskWorkspace, tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ToolError, match=said):
        await workspace.read(tmp_path / "a")


async def test_a_name_is_found_in_the_form_that_the_disk_has(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "cafe\u0301.txt").write_bytes(b"x")
    assert workspace.resolve("caf\u00e9.txt") == tmp_path / "cafe\u0301.txt"
    assert workspace.resolve("ne\u0301w.txt") == tmp_path / "n\u00e9w.txt"


async def test_a_link_out_is_refused_however_it_is_reached(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve("link/passwd")
    with pytest.raises(ToolError, match="outside the workspace"):
        await workspace.read(tmp_path / "link" / "passwd")


async def test_half_a_character_is_refused(workspace: DiskWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ToolError, match="half of a surrogate pair"):
        await edit(workspace, "a", "old", "\ud83d")
    assert (tmp_path / "a").read_bytes() == b"old"


async def test_a_pipe_is_refused_without_waiting(workspace: DiskWorkspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="is a pipe"):
        await workspace.read(tmp_path / "pipe")


async def test_a_cancelled_write_has_happened_or_not_when_it_returns(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    base = await workspace.read(tmp_path / "a")
    task = asyncio.create_task(workspace.write(base.path, base, "new", label="edit"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    standing = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    await asyncio.to_thread(lambda: None)
    assert standing in ({"a": b"old"}, {"a": b"new"})
    assert standing == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
