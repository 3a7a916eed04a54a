from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path

import pytest

from indwell.errors import EditRefused, ToolError
from indwell.files.contents.atomic import write_atomic
from support.platforms import posix_only

if sys.platform != "win32":
    import resource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_an_atomic_write_replaces_the_file_and_leaves_no_other_file(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    write_atomic(root / "a", b"new", [root])
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"new"}


@posix_only("modes")
def test_an_atomic_write_keeps_the_mode(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    (root / "a").chmod(0o751)
    write_atomic(root / "a", b"new", [root])
    assert (root / "a").stat().st_mode & 0o7777 == 0o751


def test_an_atomic_write_keeps_extended_attributes(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    try:
        os.setxattr(root / "a", "user.origin", b"here")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes on this file system")
    write_atomic(root / "a", b"new", [root])
    assert os.getxattr(root / "a", "user.origin") == b"here"


@posix_only("symlinks")
def test_a_link_is_followed_and_stays_a_link(root: Path) -> None:
    (root / "real").write_bytes(b"old")
    (root / "link").symlink_to("real")
    write_atomic(root / "link", b"new", [root])
    assert (root / "link").is_symlink()
    assert (root / "real").read_bytes() == b"new"


@posix_only("symlinks")
def test_a_link_out_of_the_root_is_not_written_through(root: Path) -> None:
    (root / "w").mkdir()
    (root / "outside").write_bytes(b"old")
    (root / "w" / "link").symlink_to("../outside")
    with pytest.raises(ToolError, match="is outside the workspace"):
        write_atomic(root / "w" / "link", b"new", [root / "w"])
    assert (root / "outside").read_bytes() == b"old"


def test_writing_a_hard_link_keeps_both_names_on_one_file(root: Path) -> None:
    (root / "a").write_bytes(b"old and longer")
    (root / "b").hardlink_to(root / "a")
    write_atomic(root / "a", b"new", [root])
    assert (root / "b").read_bytes() == b"new"
    assert (root / "a").samefile(root / "b")


def test_a_read_only_file_is_refused_in_plain_words(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    (root / "a").chmod(0o444)
    with pytest.raises(ToolError, match="is read-only"):
        write_atomic(root / "a", b"new", [root])
    assert (root / "a").read_bytes() == b"old"


def test_an_atomic_write_creates_missing_folders_only_with_parents(root: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        write_atomic(root / "x" / "y" / "a", b"new", [root])
    write_atomic(root / "x" / "y" / "a", b"new", [root], parents=True)
    assert (root / "x" / "y" / "a").read_bytes() == b"new"


def test_creating_a_file_fails_if_the_file_exists(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    with pytest.raises(EditRefused, match="exists already"):
        write_atomic(root / "a", b"new", [root], create=True)
    assert (root / "a").read_bytes() == b"old"


def test_a_file_with_unexpected_content_is_not_overwritten(root: Path) -> None:
    (root / "a").write_bytes(b"the user's")
    with pytest.raises(EditRefused, match="changed while it was being edited"):
        write_atomic(root / "a", b"new", [root], expected=b"old")
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"a": b"the user's"}


def test_a_file_deleted_before_the_write_is_not_created_again(root: Path) -> None:
    with pytest.raises(EditRefused, match="does not exist any more"):
        write_atomic(root / "a", b"new", [root], expected=b"old")
    assert list(root.iterdir()) == []


def test_a_folder_or_the_root_is_not_a_file(root: Path) -> None:
    (root / "sub").mkdir()
    for path in (root, root / "sub"):
        with pytest.raises(ToolError, match="is a folder; name a file in it"):
            write_atomic(path, b"new", [root])


def test_a_file_where_a_folder_should_be_is_reported(root: Path) -> None:
    (root / "a").write_bytes(b"old")
    with pytest.raises(ToolError, match="is not a folder"):
        write_atomic(root / "a" / "b", b"new", [root], parents=True)


@posix_only("kernel")
@pytest.mark.parametrize("is_hard_linked", [False, True])
def test_a_write_without_disk_space_leaves_the_file_unchanged(
    root: Path, *, is_hard_linked: bool
) -> None:
    (root / "a").write_bytes(b"old")
    if is_hard_linked:
        (root / "b").hardlink_to(root / "a")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # EFBIG replaces the error of a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(ToolError, match=os.strerror(errno.EFBIG)):
            write_atomic(root / "a", b"x" * 20_000, [root])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    names = {"a", "b"} if is_hard_linked else {"a"}
    assert {path.name: path.read_bytes() for path in root.iterdir()} == dict.fromkeys(names, b"old")
