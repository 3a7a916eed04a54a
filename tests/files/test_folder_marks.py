"""The fingerprint of a folder changes as soon as a file in the folder changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.files.listing import changed_since, mark_of
from support.platforms import posix_only


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_bytes(b"x\n")
    (tmp_path / "b.py").write_bytes(b"y\n")
    for name in (".git", "node_modules", "pkg/__pycache__"):
        (tmp_path / name).mkdir()
    return tmp_path


def aged(path: Path, text: str) -> None:
    """Write another text of the same length, with a later time."""
    path.write_bytes(text.encode())
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: aged(folder / "pkg" / "a.py", "z\n"),
        lambda folder: (folder / "new.py").write_bytes(b""),
        lambda folder: (folder / "b.py").unlink(),
        lambda folder: (folder / "b.py").rename(folder / "pkg" / "b.py"),
        lambda folder: (folder / ".ruff.toml").write_bytes(b""),
    ],
)
def test_any_change_of_a_file_changes_the_folder_mark(
    folder: Path, change: Callable[[Path], object]
) -> None:
    before = mark_of(folder)
    assert before == mark_of(folder) != ""
    change(folder)
    assert mark_of(folder) != before


def test_temporary_files_of_editors_do_not_change_the_mark(folder: Path) -> None:
    before = mark_of(folder)
    for name in (".git/index", "node_modules/x.js", "pkg/__pycache__/a.pyc", ".b.py.swp"):
        (folder / name).write_bytes(b"x")
    assert mark_of(folder) == before


def test_a_file_counts_as_changed_if_its_bytes_or_path_changed(folder: Path) -> None:
    file = folder / "b.py"
    now = file.stat().st_ctime_ns
    assert changed_since(file, now)
    assert not changed_since(file, now + 10**9)
    os.utime(file, ns=(now + 10**10, now + 10**10))
    assert changed_since(file, now + 10**9)
    assert changed_since(folder / "gone.py", now)


@posix_only("symlinks")
def test_a_folder_with_too_many_entries_has_no_mark_and_links_are_not_followed(
    folder: Path,
) -> None:
    (folder / "loop").symlink_to(folder)
    assert mark_of(folder, most=3)
    assert mark_of(folder, most=2) == ""
