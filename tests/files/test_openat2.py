"""Both ways of opening below a folder, openat2 and Python's walk, give the same results."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indwell.files import beneath
from indwell.files.beneath import walk_below
from support.platforms import posix_only

pytestmark = posix_only("descriptors")

Way = Callable[..., int]


def by_the_kernel(folder: int, parts: list[str], flags: int, mode: int = 0o666) -> int:
    return beneath.open_at(folder, "/".join(parts) or ".", flags, mode)


@pytest.fixture(
    params=[
        pytest.param(
            by_the_kernel,
            marks=pytest.mark.skipif(not beneath.works(), reason="this kernel has no openat2"),
        ),
        walk_below,
    ]
)
def below(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "w" / "a" / "b").mkdir(parents=True)
    (tmp_path / "w" / "a" / "b" / "file").write_bytes(b"inside")
    (tmp_path / "w" / "link-to-folder").symlink_to("a")
    (tmp_path / "w" / "link-to-file").symlink_to("a/b/file")
    folder = os.open(tmp_path / "w", os.O_RDONLY)
    yield folder
    os.close(folder)


def refused(below: Way, root: int, *parts: str, flags: int = os.O_RDONLY) -> str:
    with pytest.raises(OSError, match=".") as caught:
        os.close(below(root, list(parts), flags))
    return errno.errorcode[caught.value.errno or 0]


def read(below: Way, root: int, *parts: str) -> bytes:
    file = below(root, list(parts), os.O_RDONLY)
    try:
        return os.read(file, 100)
    finally:
        os.close(file)


def test_openat2_opens_a_file_below_a_folder(below: Way, root: int) -> None:
    assert read(below, root, "a", "b", "file") == b"inside"


def test_openat2_opens_the_folder_itself(below: Way, root: int) -> None:
    again = below(root, [], os.O_RDONLY | os.O_DIRECTORY)
    assert os.path.sameopenfile(again, root)
    os.close(again)


def test_no_link_is_followed_in_any_part_of_a_path(below: Way, root: int) -> None:
    assert refused(below, root, "link-to-file") == "ELOOP"
    assert refused(below, root, "link-to-folder", "b", "file") in {"ELOOP", "ENOTDIR"}
    assert refused(below, root, "link-to-folder", flags=os.O_DIRECTORY) in {"ELOOP", "ENOTDIR"}


def test_a_missing_name_and_a_file_used_as_a_folder_give_different_errors(
    below: Way, root: int
) -> None:
    assert refused(below, root, "a", "no", "file") == "ENOENT"
    assert refused(below, root, "a", "b", "file", "file") == "ENOTDIR"


def test_openat2_creates_a_file_with_the_requested_mode(below: Way, root: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    old = os.umask(0o022)
    try:
        file = below(root, ["a", "new"], flags, 0o664)
    finally:
        os.umask(old)
    assert os.fstat(file).st_mode & 0o7777 == 0o644
    os.close(file)
    assert refused(below, root, "a", "new", flags=flags) == "EEXIST"


def test_a_file_name_that_is_not_utf_8_is_opened(below: Way, root: int, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    try:
        (tmp_path / "w" / name).write_bytes(b"inside")
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    assert read(below, root, name) == b"inside"


def test_no_descriptor_is_left_open(below: Way, root: int) -> None:
    listing = Path("/proc/self/fd")
    if not listing.is_dir():
        pytest.skip("needs /proc to count descriptors")
    before = len(list(listing.iterdir()))
    for _ in range(20):
        read(below, root, "a", "b", "file")
        refused(below, root, "a", "no", "file")
        refused(below, root, "link-to-folder", "b", "file")
    assert len(list(listing.iterdir())) == before


@pytest.mark.skipif(not beneath.works(), reason="this kernel has no openat2")
def test_openat2_refuses_parent_folders_and_magic_links(root: int) -> None:
    for path in ("../w/a/b/file", "/etc/passwd", "a/../../w/a"):
        with pytest.raises(OSError, match="cross-device") as caught:
            beneath.open_at(root, path, os.O_RDONLY)
        assert caught.value.errno == errno.EXDEV
    proc = os.open("/proc/self", os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="symbolic") as caught:
            beneath.open_at(proc, "cwd/etc", os.O_RDONLY)
    finally:
        os.close(proc)


@pytest.mark.skipif(not beneath.works(), reason="this kernel has no openat2")
def test_renames_of_other_files_do_not_make_openat2_fail(root: int, tmp_path: Path) -> None:
    is_over = threading.Event()
    (tmp_path / "x").mkdir()

    def rename() -> None:
        while not is_over.is_set():
            (tmp_path / "x").rename(tmp_path / "y")
            (tmp_path / "y").rename(tmp_path / "x")

    renamer = threading.Thread(target=rename)
    renamer.start()
    try:
        for _ in range(3_000):
            os.close(beneath.open_at(root, "a/../a/b/file", os.O_RDONLY))
    finally:
        is_over.set()
        renamer.join()
