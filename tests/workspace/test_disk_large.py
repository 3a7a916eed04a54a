from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from indwell.errors import TextMoved, TooLarge, ToolError
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.large import LARGE_B, ByteSplice, Large, page_of
from support.platforms import posix_only

LINE = b"%09d a line of a large file, long enough that not many are needed for it\n"
N_LINES = LARGE_B // len(LINE % 0) + 2


@pytest.fixture
def workspace(tmp_path: Path) -> DiskWorkspace:
    (tmp_path / "a").write_bytes(b"".join(LINE % number for number in range(N_LINES)))
    return DiskWorkspace([tmp_path])


def second_line(large: Large) -> tuple[str, int]:
    page = page_of(large, 1, 1, line_b=100, total_b=100)
    return page.lines[0].text[:9], page.n_lines


async def splice(workspace: DiskWorkspace, path: Path, *splices: ByteSplice) -> str:
    stamp, told = await workspace.splice(
        path, lambda large: (large.spliced(splices), large.index.digest), label="edit"
    )
    assert stamp.digest != told
    return stamp.digest


async def test_a_large_file_is_examined_without_reading_it_completely(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    with pytest.raises(TooLarge, match=r"'a' has 8,388,\d+ bytes, more than the 8,388,608"):
        await workspace.read(tmp_path / "a")
    assert await workspace.within(tmp_path / "a", second_line) == ("000000001", N_LINES)


@posix_only("modes")
async def test_a_large_file_is_changed_byte_for_byte(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.chmod(0o640)
    before = path.read_bytes()
    at, size = 5_000_000, len(before)
    digest = await splice(
        workspace,
        path,
        ByteSplice(0, 0, b"<"),
        ByteSplice(at, at + 3, b"\xff"),
        ByteSplice(size, size, b">"),
    )
    assert path.read_bytes() == b"<" + before[:at] + b"\xff" + before[at + 3 :] + b">"
    assert path.stat().st_mode & 0o777 == 0o640
    assert await workspace.within(path, lambda large: large.index.digest) == digest


async def test_an_edit_of_a_large_file_keeps_its_hard_links(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    await splice(workspace, tmp_path / "b", ByteSplice(0, 9, b"first"))
    assert (tmp_path / "a").read_bytes().startswith(b"first a line")
    assert (tmp_path / "a").samefile(tmp_path / "b")


async def test_a_large_file_that_changes_before_its_replacement_is_not_replaced(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    def plan(large: Large) -> tuple[Large, None]:
        with (tmp_path / "a").open("ab") as file:
            file.write(b"the user's line\n")
        return large.spliced([ByteSplice(0, 1, b"")]), None

    with pytest.raises(TextMoved):
        await workspace.splice(tmp_path / "a", plan, label="edit")
    data = (tmp_path / "a").read_bytes()
    assert data.startswith(b"000000000 a line")
    assert data.endswith(b"the user's line\n")


async def test_the_lines_of_a_large_file_are_counted_again_only_after_a_change(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    first = await workspace.within(tmp_path / "a", lambda large: large.index)
    assert await workspace.within(tmp_path / "a", lambda large: large.index) is first
    with (tmp_path / "a").open("ab") as file:
        file.write(b"one more\n")
    again = await workspace.within(tmp_path / "a", lambda large: large.index)
    assert again.n_lines == first.n_lines + 1


async def test_a_cancelled_search_ends_before_the_cancellation_continues(
    workspace: DiskWorkspace, tmp_path: Path
) -> None:
    begun, may_go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def look(large: Large) -> None:
        begun.set()
        assert may_go_on.wait(10)
        try:
            large.read(0, 1)
        finally:
            ended.set()

    task = asyncio.create_task(workspace.within(tmp_path / "a", look))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\xff\xfea\0", "is UTF-16 text of 9,000,000 bytes, too much to be read at once"),
        (b"\x7fELF\0", "is not a text but a binary file of 9,000,000 bytes"),
    ],
)
async def test_a_large_file_without_byte_lines_is_reported(
    tmp_path: Path, head: bytes, said: str
) -> None:
    with (tmp_path / "b").open("wb") as file:
        file.write(head)
        os.ftruncate(file.fileno(), 9_000_000)
    with pytest.raises(ToolError, match=said) as told:
        await DiskWorkspace([tmp_path]).read(tmp_path / "b")
    assert not isinstance(told.value, TooLarge)
