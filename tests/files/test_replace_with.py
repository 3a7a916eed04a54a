"""A file too large for memory is replaced through descriptors, also in one step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.contents.atomic import replace_with
from indwell.files.contents.reading import opened_beneath
from indwell.files.system.copying import copy_all, copy_range, write_all
from support.platforms import posix_only


def write_new(descriptor: int) -> None:
    write_all(descriptor, b"new")


def names(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_bytes(b"old")
    return made


@posix_only("modes")
def test_the_file_gets_the_bytes_that_the_callback_writes(tmp_path: Path, path: Path) -> None:
    path.chmod(0o640)
    replace_with(path, [tmp_path], write_new, unchanged=path.stat())
    assert (names(tmp_path), path.stat().st_mode & 0o777) == ({"file": b"new"}, 0o640)


@pytest.mark.parametrize("is_hard_linked", [False, True])
def test_unchanged_parts_are_copied_from_descriptor_to_descriptor(
    tmp_path: Path, path: Path, *, is_hard_linked: bool
) -> None:
    path.write_bytes(b"head " * 100_000 + b"MIDDLE" + b" tail" * 100_000)
    if is_hard_linked:
        (tmp_path / "other").hardlink_to(path)
    with opened_beneath(path, [tmp_path]) as old:

        def write(descriptor: int) -> None:
            copy_range(old.descriptor, descriptor, 0, 500_000)
            write_all(descriptor, b"centre")
            copy_range(old.descriptor, descriptor, 500_006, old.stat.st_size - 500_006)

        replace_with(path, [tmp_path], write, unchanged=old.stat)
    assert path.read_bytes() == b"head " * 100_000 + b"centre" + b" tail" * 100_000
    assert set(names(tmp_path)) == ({"file", "other"} if is_hard_linked else {"file"})


@pytest.mark.parametrize("is_hard_linked", [False, True])
def test_a_file_that_changed_before_the_replacement_is_not_replaced(
    tmp_path: Path, path: Path, *, is_hard_linked: bool
) -> None:
    if is_hard_linked:
        (tmp_path / "other").hardlink_to(path)
    unchanged = path.stat()
    path.write_bytes(b"the user's")
    with pytest.raises(TextMoved, match="changed while it was being edited"):
        replace_with(path, [tmp_path], write_new, unchanged=unchanged)
    assert path.read_bytes() == b"the user's"


@pytest.mark.parametrize("by_rename", [False, True])
def test_a_file_that_changes_during_the_write_is_not_replaced(
    tmp_path: Path, path: Path, *, by_rename: bool
) -> None:
    def write(descriptor: int) -> None:
        write_new(descriptor)
        target = tmp_path / "theirs" if by_rename else path
        target.write_bytes(b"the user's")
        target.replace(path)

    with pytest.raises(TextMoved, match="changed while it was being edited"):
        replace_with(path, [tmp_path], write, unchanged=path.stat())
    assert names(tmp_path) == {"file": b"the user's"}


def test_a_deleted_file_is_not_created_again(tmp_path: Path, path: Path) -> None:
    unchanged = path.stat()
    path.unlink()
    with pytest.raises(EditRefused, match="does not exist any more"):
        replace_with(path, [tmp_path], write_new, unchanged=unchanged)
    assert names(tmp_path) == {}


@pytest.mark.parametrize("error", [KeyError("a bug"), ToolError("no"), KeyboardInterrupt()])
def test_an_exception_in_the_callback_propagates_and_leaves_no_file(
    tmp_path: Path, path: Path, error: BaseException
) -> None:
    def write(descriptor: int) -> None:
        write_new(descriptor)
        raise error

    with pytest.raises(type(error)):
        replace_with(path, [tmp_path], write, unchanged=path.stat())
    assert names(tmp_path) == {"file": b"old"}


@posix_only("kernel")
def test_an_open_file_has_its_stat_values_and_is_closed_at_the_end(
    tmp_path: Path, path: Path
) -> None:
    with opened_beneath(path, [tmp_path]) as opened:
        assert (opened.path, opened.stat.st_size) == (path, 3)
        assert os.pread(opened.descriptor, 2, 1) == b"ld"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened.descriptor)


@posix_only("mkfifo")
def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, said in {"pipe": "a pipe", "folder": "a folder", "no": "does not exist"}.items():
        with (
            pytest.raises(ToolError, match=f"{name}' (is )?{said}"),
            opened_beneath(tmp_path / name, [tmp_path]),
        ):
            pass


@posix_only("kernel")
def test_a_copy_between_file_systems_falls_back_to_read_and_write(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    source, target = (os.memfd_create("source"), os.open(tmp_path / "t", os.O_RDWR | os.O_CREAT))
    try:
        write_all(source, b"0123456789" * 300_000)
        copy_all(source, target)
        assert os.pread(target, 20, 2_999_980) == b"0123456789" * 2
        with pytest.raises(OSError, match="became shorter"):
            copy_range(source, target, 2_999_999, 2)
    finally:
        os.close(source)
        os.close(target)
