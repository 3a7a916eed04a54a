"""Forged objects, packs, indexes and graphs in git's store are reported and need an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.bounds.git.entries import GitEntries
from support.forging import CHECKED_OUT, EVIL, LOADED, WAYS, forge
from support.git_shell import run
from support.platforms import posix_only

pytestmark = posix_only("git")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Create a repository with a protected file of the user, in loose objects."""
    work = (tmp_path / "work").resolve()
    work.mkdir()
    run(work, f"git init -q -b main; mkdir .github; echo old > {LOADED}; echo a > a.txt")
    run(work, "git add -A; git commit -qm first; echo b > a.txt; git commit -qam second")
    return work


@pytest.mark.parametrize("way", WAYS)
async def test_a_forged_file_in_gits_store_is_reported(work: Path, way: str) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    forge(work, way)
    if way in CHECKED_OUT:  # check that the forged file really changes git's content
        run(work, f"rm {LOADED} .git/index; git checkout -q -f HEAD")
        assert (work / LOADED).read_bytes() == EVIL
    found = await entries.look()
    assert {one.kind for one in found} >= {"store"}, found
    assert entries.unchecked == tuple(one.words for one in found if one.kind == "store")
    assert "'.git/" in entries.unchecked[0] or "'store/" in entries.unchecked[0]
    await entries.begin()
    await entries.look()
    assert entries.unchecked, "another command changes nothing"


async def test_a_forged_git_object_is_reported_until_removed(work: Path) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    forge(work, "a loose object")
    (found,) = await entries.look()
    assert found.words.endswith("its content does not match its name")
    Path(found.inner).unlink()
    run(work, f"git hash-object -w {LOADED}")
    assert await entries.look() == ()
    assert entries.waiting == ()


HARMLESS = {
    "a commit": "echo c > a.txt; git commit -qam c",
    "packing": "git gc -q",
    "a graph and an index of packs": (
        "git repack -q; git commit-graph write --reachable --split; git multi-pack-index write"
    ),
    "a fetch": (
        "git init -q ../far; cd ../far; echo x > x; git add x; git commit -qm x; cd ../work;"
        " git -c fetch.unpackLimit=1 fetch -q ../far HEAD"
    ),
    "what git does not read": "echo x > .git/objects/pack/tmp_pack_x; touch .git/objects/info/x",
}


@pytest.mark.parametrize("what", HARMLESS)
async def test_files_written_by_git_are_not_reported(work: Path, what: str) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    run(work, HARMLESS[what])
    assert await entries.look() == ()


async def test_invalid_or_unreadable_object_files_are_reported(work: Path) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    folder = work / ".git" / "objects" / "00"
    folder.mkdir(exist_ok=True)  # the folder exists if a hash of the commit begins with 00
    (folder / ("a" * 38)).write_bytes(b"no object")
    (folder / ("b" * 38)).mkdir()
    (folder / ("c" * 38)).symlink_to(work / "a.txt")
    (folder / ("d" * 38)).symlink_to(work / "nowhere")
    told = "\n".join(one.words for one in await entries.look())
    assert [name in told for name in ("a" * 38, "b" * 38, "c" * 38, "d" * 38)] == [
        True, False, True, False,
    ]  # fmt: skip
