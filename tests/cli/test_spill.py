"""Texts that compaction shortened are on disk under their name, written once, never mixed up."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from indwell.errors import SessionError
from indwell.secrets import mark
from indwell.wiring.spill import SpillFolder
from support.platforms import posix_only


async def test_an_existing_spilled_text_is_not_written_again(tmp_path: Path) -> None:
    spill = SpillFolder(tmp_path)
    path = await spill.keep_as("transcript-0001-a.txt", "what was said")
    os.utime(tmp_path, ns=(0, 0))
    assert await spill.keep_as(path.name, "what was said") == path
    assert tmp_path.stat().st_mtime_ns == 0, "a file was made in the folder"
    assert path.read_text(encoding="utf-8") == "what was said"


@pytest.mark.parametrize("other", ["what was", "what was said!", "what was sent", ""])
async def test_a_spill_name_that_has_another_text_is_refused(tmp_path: Path, other: str) -> None:
    spill = SpillFolder(tmp_path)
    path = await spill.keep_as("a.txt", "what was said")
    with pytest.raises(SessionError, match="could not be kept"):
        await spill.keep_as("a.txt", other)
    assert path.read_text(encoding="utf-8") == "what was said"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@posix_only("symlinks")
async def test_a_spilled_text_is_not_written_through_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SessionError):
        await SpillFolder(tmp_path).keep_as("a.txt", "what was said")
    assert not (tmp_path / "elsewhere").exists()


async def test_two_concurrent_spills_of_one_text_create_one_file(tmp_path: Path) -> None:
    text = "what was said\n" * 5_000
    for number in range(10):
        spill = SpillFolder(tmp_path)
        name = f"a-{number}.txt"
        kept = await asyncio.gather(*(spill.keep_as(name, text) for _ in range(8)))
        assert set(kept) == {tmp_path / name}
    assert len(list(tmp_path.iterdir())) == 10
    assert all(one.read_text(encoding="utf-8") == text for one in tmp_path.iterdir())


async def test_late_writes_of_a_stopped_turn_do_not_disturb_the_next_turn(tmp_path: Path) -> None:
    spill = SpillFolder(tmp_path)
    for number in range(10):
        text = f"line {number}\n" * 100_000
        first = asyncio.ensure_future(spill.keep_as(f"{number}.txt", text))
        await asyncio.sleep(0)
        first.cancel()
        path = await spill.keep_as(f"{number}.txt", text)
        assert await read_when_replaced(path) == text


async def read_when_replaced(path: Path) -> str:
    """Read a file; on Windows a late write may be replacing it, which takes a moment."""
    async with asyncio.timeout(20):
        while True:
            try:
                return path.read_text(encoding="utf-8")
            except PermissionError:
                await asyncio.sleep(0.01)


async def test_a_failed_spill_leaves_no_partial_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(SessionError):
        await SpillFolder(tmp_path).keep_as("a.txt", "what was said")
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


async def test_a_spilled_text_has_no_secret_even_if_the_secret_was_learned_later(
    tmp_path: Path,
) -> None:
    said = "the words of the user: hunter2hunter2\n"
    unaware = SpillFolder(tmp_path)
    aware = SpillFolder(tmp_path, hide=lambda text: text.replace("hunter2hunter2", mark("key")))
    path = await aware.keep_as("words-1.txt", said)
    assert path.read_text(encoding="utf-8") == f"the words of the user: {mark('key')}\n"
    assert await unaware.keep_as("words-1.txt", said) == path
    old = await unaware.keep_as("words-2.txt", said)
    assert await aware.keep_as("words-2.txt", said) == old
    with pytest.raises(SessionError):
        await aware.keep_as("words-2.txt", "other words")
