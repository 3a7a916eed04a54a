from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.files.quarantine import put_link
from indwell.files.system.stub_folders import hold_stub, is_stub, make_stub, remove_stub
from indwell.files.watch.tree import Tree
from support.platforms import posix_only


def wanted(path: str) -> bool:
    return path.rpartition("/")[2].startswith("w")


def paths(tree: Tree) -> set[str]:
    return {one.path for one in tree.look().found}


def test_a_tree_finds_only_wanted_files_and_skips_excluded_folders(
    tmp_path: Path,
) -> None:
    for name in ("w1", "a/w2", "a/b/w3", "node_modules/w4", "node_modules/x/w5", "a/other"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    tree = Tree(tmp_path, wanted, {"node_modules"})
    assert paths(tree) == {"w1", "a/w2", "a/b/w3", "node_modules/w4"}


def wait_until_lists_are_kept(root: Path) -> None:
    """Wait until a scan of ``root`` lists no folder; recently changed folders are listed."""
    listed: list[str] = []
    tree = Tree(root, lambda path: bool(listed.append(path)))  # type: ignore[func-returns-value]
    tree.look()
    end = time.monotonic() + 20
    while listed:
        assert time.monotonic() < end, f"listed at each look: {listed}"
        time.sleep(0.01)
        listed.clear()
        tree.look()


def test_a_tree_lists_only_changed_folders_again(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    listed = []
    tree = Tree(tmp_path, lambda path: listed.append(path) or wanted(path))  # type: ignore[func-returns-value]
    assert paths(tree) == set()
    wait_until_lists_are_kept(tmp_path)
    paths(tree)
    listed.clear()
    assert (paths(tree), listed) == (set(), [])
    (tmp_path / "a" / "b" / "w").write_bytes(b"")
    assert (paths(tree), listed) == ({"a/b/w"}, ["a/b/w"])
    (tmp_path / "a" / "b" / "w").unlink()
    assert paths(tree) == set()


@posix_only("symlinks")
def test_links_are_reported_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "w1").symlink_to("/etc")
    (tmp_path / "folder").symlink_to(tmp_path)
    found = Tree(tmp_path, wanted).look().found
    assert [(one.path, one.leads_to, one.is_folder) for one in found] == [("w1", "/etc", False)]


def test_a_file_with_changed_content_has_another_stamp(tmp_path: Path) -> None:
    (tmp_path / "w1").write_bytes(b"a")
    tree = Tree(tmp_path, wanted)
    before = tree.look().found[0]
    (tmp_path / "w1").write_bytes(b"ab")
    assert tree.look().found[0].stamp != before.stamp


def test_other_names_of_a_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "w1").write_bytes(b"")
    (tmp_path / "a" / "other").hardlink_to(tmp_path / "w1")
    tree = Tree(tmp_path, wanted)
    found = tree.look().found
    assert {path: one.path for path, one in tree.other_names(found).items()} == {"a/other": "w1"}


def test_beyond_the_limit_the_deepest_folders_are_left_out_and_reported(tmp_path: Path) -> None:
    (tmp_path / "w0").write_bytes(b"")
    for number in range(25):
        (tmp_path / f"f{number:05}").mkdir()
    (tmp_path / "f00000" / "deep").mkdir()
    seen = Tree(tmp_path, wanted, most_folders=20).look()
    assert ([one.path for one in seen.found], seen.is_whole) == (["w0"], False)


def test_known_files_are_checked_by_name_if_there_are_too_many_folders(tmp_path: Path) -> None:
    (tmp_path / "z" / "deep").mkdir(parents=True)
    for name in ("z/deep/w", "z/deep/w-gone"):
        (tmp_path / name).write_bytes(b"")
    tree = Tree(tmp_path, wanted, most_folders=20)
    assert paths(tree) == {"z/deep/w", "z/deep/w-gone"}
    for number in range(25):
        (tmp_path / f"f{number:05}").mkdir()
    (tmp_path / "z" / "deep" / "w-gone").unlink()
    for _ in range(2):
        seen = tree.look()
        assert ({one.path for one in seen.found}, seen.is_whole) == ({"z/deep/w"}, False)


@posix_only("owners")
@pytest.mark.parametrize("mode", [0o000, 0o311, 0o644])
def test_an_unreadable_folder_is_reported_and_its_known_entries_are_kept(mode: int) -> None:
    said = as_nobody(CLOSED, f"{mode:o}")
    assert said.split("\n") == ["['closed/w']", "['closed/w'] ('closed',)", "['closed/w'] ()"]


CLOSED = """
import os, pathlib, sys, tempfile
from indwell.files.watch.tree import Tree
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with tempfile.TemporaryDirectory() as name:
    root = pathlib.Path(name)
    (root / "closed").mkdir()
    (root / "closed" / "w").write_text("")
    tree = Tree(root, lambda path: path.endswith("w"))
    print([one.path for one in tree.look().found])
    for mode in (int(sys.argv[1], 8), 0o755):
        (root / "closed").chmod(mode)
        seen = tree.look()
        print([one.path for one in seen.found], seen.unreadable)
"""


def as_nobody(program: str, *words: str) -> str:
    """Return the output of a program that runs without root's permissions."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server")},
    )
    return done.stdout.strip()


def test_a_folder_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert Tree(tmp_path / "gone", wanted).look().found == ()


@posix_only("symlinks")
def test_a_link_is_restored_only_if_its_name_is_free(tmp_path: Path) -> None:
    put_link(tmp_path, "link", "there")
    assert (tmp_path / "link").readlink() == Path("there")
    put_link(tmp_path, "link", "elsewhere")
    assert (tmp_path / "link").readlink() == Path("there")


@posix_only("descriptors")
def test_only_a_stub_folder_is_recognised_and_removed_as_a_stub(tmp_path: Path) -> None:
    stub, own = tmp_path / "stub", tmp_path / "own"
    own.mkdir()
    assert (make_stub(stub), make_stub(stub), make_stub(own)) == (True, True, False)
    assert (is_stub(stub), is_stub(own)) == (True, False)
    remove_stub(own)
    assert own.is_dir()
    (stub / "file").write_bytes(b"")
    remove_stub(stub)
    assert stub.is_dir()
    (stub / "file").unlink()
    remove_stub(stub)
    assert not stub.exists()
    assert make_stub(tmp_path / "gone" / "stub") is False


@posix_only("descriptors")
def test_a_stub_that_another_process_holds_is_not_removed(tmp_path: Path) -> None:
    stub = tmp_path / "stub"
    assert make_stub(stub)
    ours, theirs = hold_stub(stub), hold_stub(stub)  # a lock belongs to one open file
    remove_stub(stub, ours)
    assert is_stub(stub)
    remove_stub(stub, theirs)
    assert not stub.exists()
    assert hold_stub(stub) is None


@posix_only("owners")
def test_removing_a_tree_removes_unreadable_folders_of_the_same_user() -> None:
    assert as_nobody(REMOVING) == "True False"


REMOVING = """
import os, pathlib, shutil, sys, tempfile
from indwell.files.private import remove_own_tree
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
root = pathlib.Path(tempfile.mkdtemp())
(root / "a" / "b" / "c").mkdir(parents=True)
(root / "a" / "b").chmod(0)
(root / "a").chmod(0o500)
print(remove_own_tree(root), root.exists())
"""


@given(names=st.lists(st.sampled_from(["w", "a", "b", "c"]), max_size=4))
def test_a_second_scan_of_a_tree_finds_the_same_files(
    names: list[str], tmp_path_factory: object
) -> None:
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("t")))  # type: ignore[attr-defined]
    tree = Tree(folder, wanted)
    tree.look()
    at = folder
    for name in names:
        at /= name
        at.mkdir()
        assert {one.path for one in tree.look().found} == paths(Tree(folder, wanted))


def test_a_tree_scan_does_not_match_ordinary_names_one_by_one(tmp_path) -> None:
    """A scan of a large workspace takes little longer than reading its folders."""
    for folder in ("a", "a/b", "odd.d"):
        (tmp_path / folder).mkdir()
        for number in range(100):
            (tmp_path / folder / f"f{number}.py").touch()
        (tmp_path / folder / "odd").touch()
    judged: list[str] = []

    def is_wanted(path: str) -> bool:
        judged.append(path)
        return path.endswith("odd") or path == "odd.d/f7.py"

    tree = Tree(tmp_path, is_wanted, is_ordinary=lambda name: not name.startswith("odd"))
    found = {one.path for one in tree.look().found}
    assert found == {"a/odd", "a/b/odd", "odd.d/odd", "odd.d/f7.py"}
    assert len(judged) == 104  # all names in the folder with an unusual name, and three more


def test_two_concurrent_scans_read_each_folder_once(tmp_path) -> None:
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}" / "name.wanted").touch()
    wait_until_lists_are_kept(tmp_path)
    judged: list[str] = []
    is_begun = threading.Event()

    def is_wanted(path: str) -> bool:
        judged.append(path)
        is_begun.set()
        return path.endswith("wanted")

    tree = Tree(tmp_path, is_wanted)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(tree.look)
        is_begun.wait()
        second = pool.submit(tree.look)
    assert first.result() == second.result()
    assert len(judged) == 100
