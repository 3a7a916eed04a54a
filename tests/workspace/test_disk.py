from __future__ import annotations

import asyncio
import codecs
import hashlib
import os
from pathlib import Path

import pytest

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.contents.in_place import new_journal
from indwell.files.contents.new_file import usable
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only


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
async def test_an_edit_keeps_encoding_byte_order_mark_and_line_ends(
    workspace: DiskWorkspace, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "a").write_bytes(before)
    assert await edit(workspace, "a", "old", "new") == after


async def test_utf_16_with_half_a_unit_can_be_read_but_not_written(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    data = codecs.BOM_UTF16_LE + b"o\0l\0d\0\n"
    (tmp_path / "a").write_bytes(data)
    assert not (await workspace.read(tmp_path / "a")).lossless
    with pytest.raises(EditRefused, match="is not valid utf-16-le"):
        await edit(workspace, "a", "old", "new")
    assert (tmp_path / "a").read_bytes() == data


async def test_the_nearest_editorconfig_declares_the_encoding(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".editorconfig").write_bytes(b"root = true\n[*]\ncharset = utf-16le\n")
    (tmp_path / "src" / ".editorconfig").write_bytes(b"[*.txt]\ncharset = latin1\n")
    (tmp_path / "src" / "a.txt").write_bytes(b"old \xe9\n")
    assert await edit(workspace, "src/a.txt", "old", "\u00f6") == b"\xf6 \xe9\n"
    path = workspace.resolve("src/b.txt")
    await workspace.write(path, None, "\u00e9", label="create")
    assert path.read_bytes() == b"\xe9"
    path = workspace.resolve("new/c.md")
    await workspace.write(path, None, "\u00e9", label="create")
    assert path.read_bytes() == codecs.BOM_UTF16_LE + b"\xe9\0"


async def test_a_guessed_encoding_stays_the_same_between_two_edits(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    text = "\u043f\u0440\u043e\u0432\u0435\u0440\u043a\u0430 old\n"
    (tmp_path / "a").write_bytes(text.encode("cp1251"))
    assert (await workspace.read(tmp_path / "a")).text == text
    # A first reader would take the remaining bytes for cp1252.
    after = await edit(workspace, "a", "\u0440\u043e\u0432\u0435\u0440\u043a\u0430", "x")
    assert after == "\u043fx old\n".encode("cp1251")
    assert (await workspace.read(tmp_path / "a")).text == "\u043fx old\n"
    assert (await DiskWorkspace([tmp_path]).read(tmp_path / "a")).text == "\u00efx old\n"


async def test_edt_13_parallel_writers_of_one_file_take_turns_and_only_one_succeeds(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    base = await workspace.read(tmp_path / "a")
    told = await asyncio.gather(
        *(workspace.write(base.path, base, f"new {n}", label="edit") for n in range(8)),
        return_exceptions=True,
    )
    assert [isinstance(one, TextMoved) for one in told].count(False) == 1
    winner = next(n for n, one in enumerate(told) if not isinstance(one, TextMoved))
    assert (tmp_path / "a").read_bytes() == f"new {winner}".encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x7fELF\0", "not a text but a binary file of 5 bytes"),
        (b"\x89PNG\r\n\x1a\n", "not a text but a PNG image of 8 bytes"),
    ],
)
async def test_a_file_that_is_not_text_is_reported(
    workspace: DiskWorkspace, tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ToolError, match=said):
        await workspace.read(tmp_path / "a")


async def test_a_file_name_resolves_to_the_unicode_form_on_disk(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "cafe\u0301.txt").write_bytes(b"x")
    assert workspace.resolve("caf\u00e9.txt") == tmp_path / "cafe\u0301.txt"
    assert workspace.resolve("ne\u0301w.txt") == tmp_path / "n\u00e9w.txt"


@posix_only("symlinks")
async def test_a_link_out_of_the_workspace_is_refused_by_every_path(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve("link/passwd")
    with pytest.raises(ToolError, match="outside the workspace"):
        await workspace.read(tmp_path / "link" / "passwd")


async def test_text_with_half_a_character_is_refused(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ToolError, match="half of a surrogate pair"):
        await edit(workspace, "a", "old", "\ud83d")
    assert (tmp_path / "a").read_bytes() == b"old"


@posix_only("mkfifo")
async def test_a_pipe_is_refused_without_waiting(workspace: DiskWorkspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="is a pipe"):
        await workspace.read(tmp_path / "pipe")


async def test_a_cancelled_write_is_complete_or_not_begun_when_the_call_returns(
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


@posix_only("kernel")
async def test_per_13_a_half_finished_write_is_undone_at_the_next_read(
    tmp_path: Path,
) -> None:
    private = usable(tmp_path / "undo")
    path = tmp_path / "w" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old text\n")
    new = os.memfd_create("new")
    os.write(new, b"new text\n")
    with path.open("r+b") as file:
        journal = new_journal(private, path)
        journal.fill(file.fileno(), new)
        file.write(b"n")  # writes as far as the killed process came
    os.close(new)
    journal.close()
    snapshot = await DiskWorkspace([path.parent], private=private).read(path)
    assert (snapshot.text, path.read_bytes()) == ("old text\n", b"old text\n")


async def test_a_file_of_the_project_is_never_mistaken_for_an_unfinished_write(
    tmp_path: Path,
) -> None:
    target, notes = tmp_path / "package.json", tmp_path / "notes.txt"
    target.write_bytes(b"{1}\n")
    notes.write_bytes(b"notes\n")
    head = f'{{"indwell_undo":1,"name":"{target.name.encode().hex()}",'
    head += f'"inode":{target.stat().st_ino},"old_b":4,"new_b":4}}\n'
    planted = {
        f".indwell-{hashlib.blake2b(target.name.encode(), digest_size=8).hexdigest()}.undo": head,
        f".indwell-{hashlib.blake2b(notes.name.encode(), digest_size=8).hexdigest()}.undo": head,
        ".indwell-0000000000000001.undo": '{"indwell_undo":1,"name":"6100","inode":1}\n',
        ".indwell-0123456789abcdef.tmp": "the user's",
    }
    for name, text in planted.items():
        (tmp_path / name).write_bytes(f"{text}{{2}}\n?1}}\n".encode())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    workspace = DiskWorkspace([tmp_path], private=tmp_path.with_name("undo"))
    for name in ("notes.txt", "package.json"):
        await workspace.read(tmp_path / name)
    await workspace.write(tmp_path / "new", None, "x\n", label="new")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert after == before | {"new": b"x\n"}
