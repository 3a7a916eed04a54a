"""Files are moved out of the workspace from any folder, with any name, and completely."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from indwell.files.quarantine import MOST_DEPTH, NotRemoved, Quarantine, restore_access
from support import another_disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no command is held on Windows")


@pytest.fixture
def quarantine(tmp_path: Path) -> Quarantine:
    return Quarantine(tmp_path / "state" / "quarantine", (tmp_path / "w",))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w" / "a").mkdir(parents=True)
    return tmp_path / "w"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Quarantine]:
    """Yield a quarantine whose folder is on another file system."""
    with another_disk.elsewhere(tmp_path) as folder:
        yield Quarantine(folder, (tmp_path / "w",))


def test_the_quarantine_works_if_its_file_names_exist_already(
    root: Path, quarantine: Quarantine
) -> None:
    for number in range(1_200):
        (root / "a" / f"{f'{number}-' if number else ''}quarantined-x.txt").touch()
    for text in ("one", "two"):
        (root / "a" / "x").write_bytes(text.encode())
        where = quarantine.take(root, "a/x", "quarantined-x.txt")
        assert isinstance(where, Path)
        assert where.read_text(encoding="utf-8") == text
        assert not where.is_relative_to(root)
        assert (where.parent / "from.txt").read_text(encoding="utf-8") == f"{root}/a/x\n"
        assert stat.S_IMODE(where.parent.stat().st_mode) == 0o700


def test_a_missing_file_is_distinguished_from_one_that_cannot_be_moved(root: Path) -> None:
    (root / "file").touch()
    blocked = Quarantine(root / "state", (root, Path(tempfile.gettempdir()).resolve()))
    assert blocked.take(root, "a/x", "x") is None
    assert blocked.take(root, "gone/x", "x") is None
    (root / "a" / "x").touch()
    with pytest.raises(OSError, match="no private folder outside the workspace"):
        blocked.take(root, "a/x", "x")
    assert (root / "a" / "x").exists()


def test_quarantined_files_never_go_to_a_state_folder_inside_the_workspace(root: Path) -> None:
    (root / "x").touch()
    spare = root.parent / "spare"
    spare.mkdir()
    where = Quarantine(root / "state", (root,), spare_in=spare).take(root, "x", "x")
    assert isinstance(where, Path)
    assert where.is_relative_to(spare)


def test_the_quarantine_follows_no_link_on_the_way_to_a_file(
    root: Path, quarantine: Quarantine
) -> None:
    (root / "real").mkdir()
    (root / "real" / "x").write_bytes(b"kept")
    (root / "link").symlink_to(root / "real")
    with pytest.raises(OSError, match="irectory"):
        quarantine.take(root, "link/x", "x")
    assert (root / "real" / "x").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444, 0o555])
def test_folder_modes_do_not_prevent_quarantine_for_an_ordinary_user(mode: int) -> None:
    """Root may open a folder with any mode, so the test runs as another user."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, f"{mode:o}"],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server")},
    )
    assert done.stdout.split() == ["evil", "evil", "evil", "[]", "True"]


CLOSED = """
import os, pathlib, sys, tempfile
from indwell.files.quarantine import Quarantine, restore_access
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with tempfile.TemporaryDirectory() as name:
    above = pathlib.Path(name).resolve()
    root, mode = above / "w", int(sys.argv[1], 8)
    quarantine = Quarantine(above / "state", (root,))
    (root / "a" / "b" / ".idea").mkdir(parents=True)
    for path in (".npmrc", "a/b/.nvim.lua", "a/b/.idea/x"):
        (root / path).write_text("evil")
    for path in (root / "a" / "b" / ".idea", root / "a" / "b", root / "a", root):
        path.chmod(mode)
    for path in (".npmrc", "a/b/.nvim.lua", "a/b/.idea"):
        where = quarantine.take(root, path, "safe")
        print((where / "x" if path.endswith("idea") else where).read_text())
    print([one for one in (root / "a" / "b").iterdir()])
    root.chmod(0)
    print(restore_access(root, "a/b") and list(root.iterdir()) == [root / "a"])
"""


def test_quarantine_copies_all_content_to_another_file_system(
    root: Path, elsewhere: Quarantine
) -> None:
    plant = root / "a" / ".idea"
    (plant / "deep" / "er").mkdir(parents=True)
    (plant / "deep" / "x").write_bytes(b"evil")
    (plant / "deep" / "x").chmod(0)
    (plant / "out").symlink_to("/etc")
    os.mkfifo(plant / "pipe")
    (plant / "also").hardlink_to(plant / "deep" / "x")
    (plant / "deep").chmod(0o555)
    where = elsewhere.take(root, "a/.idea", "safe")
    assert isinstance(where, Path)
    assert list((root / "a").iterdir()) == []
    assert (where / "deep" / "x").read_text(encoding="utf-8") == "evil"
    assert (where / "also").read_text(encoding="utf-8") == "evil"
    assert (where / "out").readlink() == Path("/etc")
    assert (where / "deep" / "er").is_dir()


def test_a_folder_that_cannot_be_moved_away_is_renamed_and_reported(
    root: Path, elsewhere: Quarantine
) -> None:
    deep = root / ".idea"
    for _ in range(MOST_DEPTH + 2):
        deep /= "d"
    deep.mkdir(parents=True)
    left = elsewhere.take(root, ".idea", "safe")
    assert isinstance(left, NotRemoved)
    assert (root / ".idea").exists() is False
    assert (root / left.at).is_dir()
    assert left.at.startswith("quarantined-")
    assert left.why == "it contains too many files to be copied elsewhere"
    assert elsewhere.take(root, left.at, "safe") == left
    assert list(elsewhere.home().iterdir()) == []  # no part of the folder was moved


def test_restoring_folder_permissions_follows_no_link(root: Path) -> None:
    (root / "real").mkdir(mode=0o500)
    (root / "real").chmod(0o500)
    (root / "link").symlink_to("real")
    assert not restore_access(root, "link")
    assert stat.S_IMODE((root / "real").stat().st_mode) == 0o500
    assert restore_access(root, "real")
    assert stat.S_IMODE((root / "real").stat().st_mode) == 0o700


def test_no_empty_folder_is_left_among_temporary_files(root: Path, tmp_path: Path) -> None:
    deep = root / ".idea"
    for _ in range(MOST_DEPTH + 2):
        deep /= "d"
    deep.mkdir(parents=True)
    with another_disk.elsewhere(tmp_path) as folder:
        spare = Quarantine(None, (root,), spare_in=folder)
        assert isinstance(spare.take(root, ".idea", "safe"), NotRemoved)
        assert list(folder.iterdir()) == []
        (root / "b").touch()
        where = spare.take(root, "b", "safe")
        assert isinstance(where, Path)
        assert where.exists()
