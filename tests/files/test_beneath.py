from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files.beneath import PathBeneath, check_path, locate, open_place
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import FolderEntry, list_folder
from support.platforms import posix_only

LIMIT_B = 1_000


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "w-evil"
    folder.mkdir()
    (folder / "secret").write_bytes(b"secret")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").write_bytes(b"inside")
    return folder


def test_a_file_beneath_a_root_can_be_read(root: Path) -> None:
    assert read_bytes(root / "sub" / "file", [root], LIMIT_B) == b"inside"


def test_a_path_is_reported_by_its_root_and_names(root: Path) -> None:
    assert locate(root / "sub" / ".." / "new", [root]) == PathBeneath(root=root, parts=("new",))


def test_a_sibling_whose_name_begins_like_the_root_is_outside(root: Path, outside: Path) -> None:
    with pytest.raises(ToolError, match="is outside the workspace"):
        read_bytes(outside / "secret", [root], LIMIT_B)


@pytest.mark.parametrize("path", ["../w-evil/secret", "sub/../../w-evil/secret", "/etc/passwd"])
def test_a_path_that_climbs_out_is_refused(root: Path, outside: Path, path: str) -> None:
    with pytest.raises(ToolError, match="is outside the workspace"):
        read_bytes(root / path, [root], LIMIT_B)


@posix_only("symlinks")
def test_a_link_out_of_the_root_is_refused_and_its_target_named(root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside)
    with pytest.raises(ToolError, match=r"leads to '.*w-evil/secret'\) is outside"):
        read_bytes(root / "link" / "secret", [root], LIMIT_B)


@posix_only("symlinks")
def test_a_link_within_the_root_is_followed(root: Path) -> None:
    (root / "link").symlink_to("sub")
    assert read_bytes(root / "link" / "file", [root], LIMIT_B) == b"inside"


@posix_only("symlinks")
def test_a_folder_swapped_for_a_link_after_the_check_is_not_followed(
    root: Path, outside: Path
) -> None:
    (root / "sub" / "secret").write_bytes(b"decoy")
    place = locate(root / "sub" / "secret", [root])
    (root / "sub").rename(root / "gone")
    (root / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="link that changed"):
        open_place(place, os.O_RDONLY)


@posix_only("symlinks")
def test_a_file_swapped_for_a_link_after_the_check_is_not_followed(
    root: Path, outside: Path
) -> None:
    place = locate(root / "sub" / "file", [root])
    (root / "sub" / "file").unlink()
    (root / "sub" / "file").symlink_to(outside / "secret")
    with pytest.raises(ToolError, match="symbolic link that changed"):
        open_place(place, os.O_RDONLY)


@posix_only("symlinks")
def test_no_race_with_a_link_leads_out_of_the_root(root: Path, outside: Path) -> None:
    (root / "sub" / "secret").write_bytes(b"decoy")
    (root / "evil").symlink_to(outside)
    flips = threading.Event()

    def flip() -> None:
        while not flips.is_set():
            (root / "sub").rename(root / "kept")
            (root / "evil").rename(root / "sub")
            (root / "sub").rename(root / "evil")
            (root / "kept").rename(root / "sub")

    flipper = threading.Thread(target=flip)
    flipper.start()
    try:
        read = {_read_or_refused(root) for _ in range(3_000)}
    finally:
        flips.set()
        flipper.join()
    assert read <= {b"decoy", b"refused"}


def _read_or_refused(root: Path) -> bytes:
    try:
        return read_bytes(root / "sub" / "secret", [root], LIMIT_B)
    except ToolError:
        return b"refused"


@posix_only("symlinks")
def test_reading_a_circular_link_is_an_error(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match="leads nowhere"):
        read_bytes(root / "loop", [root], LIMIT_B)


@posix_only("mkfifo")
def test_a_pipe_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="is a pipe, socket or device"):
        read_bytes(root / "pipe", [root], LIMIT_B)


@posix_only("kernel")
def test_a_device_is_refused() -> None:
    with pytest.raises(ToolError, match="is a pipe, socket or device"):
        read_bytes(Path("/dev/zero"), [Path("/dev")], LIMIT_B)


def test_a_folder_is_not_a_file(root: Path) -> None:
    with pytest.raises(ToolError, match="is a folder"):
        read_bytes(root / "sub", [root], LIMIT_B)


def test_a_file_over_the_limit_is_not_read(root: Path) -> None:
    (root / "big").write_bytes(b"x" * (LIMIT_B + 1))
    with pytest.raises(ToolError, match="larger than the 1,000 bytes"):
        read_bytes(root / "big", [root], LIMIT_B)


@posix_only("kernel")
def test_a_file_that_hides_its_size_is_still_bounded() -> None:
    proc = Path("/proc")
    if not proc.is_dir():
        pytest.skip("needs /proc, whose files say they are empty")
    with pytest.raises(ToolError, match="larger than the 10 bytes"):
        read_bytes(proc / str(os.getpid()) / "environ", [proc], 10)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("~root/x", "not expanded"),
        ("x" * 300, "too long"),
        ("x/" * 3_000, "too long"),
        pytest.param("\ud800", "no path can hold", marks=posix_only("bytes")),
    ],
)
def test_an_invalid_path_is_refused_in_plain_words(path: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        check_path(path)


@posix_only("symlinks")
def test_a_folder_listing_does_not_follow_links(root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside)
    (root / "a").write_bytes(b"")
    assert list_folder(root, [root]) == (
        FolderEntry("a", is_folder=False),
        FolderEntry("link", is_folder=False),
        FolderEntry("sub", is_folder=True),
    )
