"""FS-08: an edit of a file's text keeps mode, access list, attributes, names and owner."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files.append_log import list_names
from indwell.files.contents.atomic import write_atomic
from support.platforms import posix_only

ACCESS = "system.posix_acl_access"
OTHER, SELF = 12_345, 12_346  # no user or group has these ids


def access_list(*, user: int) -> bytes:
    """Return an access list (linux/posix_acl_xattr.h): one more ``user`` may read; mode 0640."""
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), (2, 4, user), (4, 0, nobody), (16, 4, nobody), (32, 0, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def write(path: Path) -> None:
    write_atomic(path, b"new", [path.parent], expected=b"old")
    assert path.read_bytes() == b"new"
    assert [name for name in list_names(path.parent) if name.startswith(".")] == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_bytes(b"old")
    return made


@pytest.fixture
def open_path() -> Iterator[Path]:
    """Yield a file in a folder that other users can reach, unlike pytest's own folders."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make files of another user")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "file"
        made.write_bytes(b"old")
        made.parent.chmod(0o755)
        yield made


@contextmanager
def as_somebody() -> Iterator[None]:
    """Run as an ordinary user, because root may do everything."""
    os.setegid(SELF)
    os.seteuid(SELF)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@posix_only("modes")
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664, 0o2755, 0o4711])
def test_fs_08_an_edit_keeps_the_mode(path: Path, mode: int) -> None:
    path.chmod(mode)
    write(path)
    assert path.stat().st_mode & 0o7777 == mode


def test_fs_08_an_edit_keeps_the_access_list_and_other_attributes(path: Path) -> None:
    given = access_list(user=OTHER)
    try:
        os.setxattr(path, "user.origin", b"here")
        os.setxattr(path, ACCESS, given)
    except (AttributeError, OSError):
        pytest.skip("no extended attributes on this file system")
    inode = path.stat().st_ino
    write(path)
    assert path.stat().st_ino != inode  # the file was replaced, not overwritten
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == {
        "user.origin": b"here",
        ACCESS: given,
    }


def test_fs_08_an_edit_adds_no_default_access_list_of_the_folder_to_a_file(path: Path) -> None:
    try:
        os.setxattr(path.parent, "system.posix_acl_default", access_list(user=OTHER))
    except (AttributeError, OSError):
        pytest.skip("no access lists on this file system")
    write(path)
    assert os.listxattr(path) == []
    write_atomic(path.with_name("new"), b"new", [path.parent])
    assert os.listxattr(path.with_name("new")) == [ACCESS]  # any new file there gets it


@posix_only("modes")
def test_fs_08_a_hard_link_stays_one_file_with_both_names(path: Path) -> None:
    path.write_bytes(b"old")
    path.chmod(0o751)
    path.with_name("other").hardlink_to(path)
    inode = path.stat().st_ino
    write(path)
    told = path.with_name("other").stat()
    assert (told.st_ino, told.st_nlink, told.st_mode & 0o777) == (inode, 2, 0o751)
    assert path.with_name("other").read_bytes() == b"new"


@posix_only("symlinks")
def test_fs_08_a_link_stays_a_link(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.name)
    write(link)
    assert (link.readlink(), path.read_bytes()) == (Path("file"), b"new")


@posix_only("owners")
def test_fs_08_an_edit_keeps_another_owner(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file to another user")
    os.chown(path, OTHER, OTHER)
    inode = path.stat().st_ino
    write(path)
    told = path.stat()
    assert (told.st_ino, told.st_uid, told.st_gid) == (inode, OTHER, OTHER)


@posix_only("owners")
def test_fs_08_an_edit_keeps_a_group_that_we_may_set(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file to another group")
    os.chown(path, -1, OTHER)
    path.chmod(0o660)
    write(path)
    assert (path.stat().st_gid, path.stat().st_mode & 0o777) == (OTHER, 0o660)


@posix_only("owners")
def test_fs_08_a_file_of_a_foreign_group_is_written_in_place_to_keep_the_group(
    open_path: Path,
) -> None:
    open_path.parent.chmod(0o777)
    os.chown(open_path, SELF, OTHER)
    open_path.chmod(0o660)
    inode = open_path.stat().st_ino
    with as_somebody():
        write(open_path)
    told = open_path.stat()
    assert (told.st_ino, told.st_gid, told.st_mode & 0o777) == (inode, OTHER, 0o660)


@posix_only("owners")
def test_fs_08_a_file_in_a_read_only_folder_is_written_in_place(
    open_path: Path,
) -> None:
    os.chown(open_path, SELF, SELF)
    inode = open_path.stat().st_ino
    with as_somebody():
        write(open_path)
        with pytest.raises(ToolError, match="denies permission"):
            write_atomic(open_path.with_name("new"), b"new", [open_path.parent])
    assert open_path.stat().st_ino == inode


@posix_only("modes")
def test_fs_08_a_file_that_we_may_not_write_is_refused(open_path: Path) -> None:
    open_path.parent.chmod(0o777)
    with as_somebody(), pytest.raises(ToolError, match="denies permission"):
        write_atomic(open_path, b"new", [open_path.parent])
    assert list(list_names(open_path.parent)) == ["file"]
    assert open_path.read_bytes() == b"old"
