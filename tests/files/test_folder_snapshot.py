"""A snapshot of all files of a folder."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from indwell.files.watch.snapshot import FolderListing, facts_of, take_census
from support.platforms import posix_only

NUMBERS = st.integers(min_value=-(1 << 66), max_value=1 << 66)


def census_of(root: Path, shut: tuple[str, ...] = ()) -> dict[str, FolderListing]:
    return dict(take_census(str(root), shut=shut, most_files=1_000).folders)


@posix_only("mkfifo")
def test_each_file_and_link_is_listed_with_its_facts_from_the_system(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one.txt").write_bytes(b"one")
    (tmp_path / "a" / "two").write_bytes(b"")
    (tmp_path / "a" / "b" / "link").symlink_to("nowhere")
    os.utime(tmp_path / "one.txt", (-86_400, -86_400))  # this is before 1970
    os.mkfifo(tmp_path / "a" / "pipe")
    seen = {at: one.by_name() for at, one in census_of(tmp_path).items()}
    assert seen == {
        "": {"one.txt": facts_of((tmp_path / "one.txt").lstat())},
        "a": {"two": facts_of((tmp_path / "a" / "two").lstat())},
        "a/b": {"link": facts_of((tmp_path / "a" / "b" / "link").lstat())},
    }


def test_the_census_of_a_folder_changes_only_if_the_folder_changes(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    for at in ("one", "a/two", "a/three"):
        (tmp_path / at).write_bytes(b"x")
    before = census_of(tmp_path)
    assert census_of(tmp_path) == before
    (tmp_path / "a" / "two").write_bytes(b"yy")
    after = census_of(tmp_path)
    assert after[""] == before[""]
    assert after["a"] != before["a"]


def test_excluded_names_and_paths_are_left_out(tmp_path: Path) -> None:
    for at in (".git/x", "a/.git/x", ".indwell/chats/x", ".indwell/y", "a/chats/z"):
        (tmp_path / at).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / at).touch()
    seen = census_of(tmp_path, (".git", ".indwell/chats"))
    assert {at: one.names for at, one in seen.items() if one.names} == {
        ".indwell": ("y",),
        "a/chats": ("z",),
    }


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS))
def test_stat_numbers_of_any_size_fit_into_a_listing(
    told: tuple[int, int, int, int, int],
) -> None:
    """Numbers of files above 2⁶³, and times after 2262, cause no failure."""
    names = ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode")
    found = cast("os.stat_result", SimpleNamespace(**dict(zip(names, told, strict=True))))
    facts = facts_of(found)
    assert all(-(1 << 63) <= one < 1 << 63 for one in facts)
    assert all((one - other) % (1 << 64) == 0 for one, other in zip(facts, told, strict=True))
