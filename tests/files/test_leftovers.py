"""What a killed process of ours left is put right by the next write into the folder (PER-13)."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from indwell.files import read_bytes, write_atomic
from indwell.files.append_log import list_names
from indwell.files.in_place import Undo, undo_name
from indwell.files.one_writer import one_writer

NAME = ".indwell-0123456789abcdef"
OLD, NEW = b"old text " * 20_000, b"new and longer text " * 15_000


def next_write(root: Path) -> None:
    write_atomic(root / "next", b"", [root])
    (root / "next").unlink()


def an_undo(root: Path, stands: bytes, *, old: bytes = OLD, new: bytes = NEW) -> Path:
    """A file as a killed writer left it, and its undo file beside it."""
    path = root / "file"
    path.write_bytes(stands)
    name = path.name.encode().hex()
    head = Undo(1, name, path.stat().st_ino, len(old), len(new))
    (root / undo_name(path.name)).write_bytes(msgspec.json.encode(head) + b"\n" + old + new)
    return path


def test_per_13_a_half_made_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.tmp").write_bytes(b"half")
    next_write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", [".indwell-notes.tmp", f"{NAME}.tmp.bak", f"x{NAME}.tmp", f"{NAME}0.tmp", f"{NAME}.old"]
)
def test_a_file_of_another_name_is_not_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"the user's")
    next_write(tmp_path)
    assert (tmp_path / name).read_bytes() == b"the user's"


def test_a_folder_a_link_and_another_users_file_are_not_ours(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.tmp").mkdir()
    (tmp_path / f"{NAME[:-1]}0.tmp").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"the user's")
    names = {"file", f"{NAME}.tmp", f"{NAME[:-1]}0.tmp"}
    if os.geteuid() == 0:
        (tmp_path / f"{NAME[:-1]}1.tmp").write_bytes(b"")
        os.chown(tmp_path / f"{NAME[:-1]}1.tmp", 12_345, 12_345)
        names.add(f"{NAME[:-1]}1.tmp")
    next_write(tmp_path)
    assert set(list_names(tmp_path)) == names


@pytest.mark.parametrize(
    "stands",
    [
        NEW[:1] + OLD[1:],
        NEW[:70_000] + OLD[70_000:],
        NEW[: len(OLD) - 1] + OLD[-1:],
        OLD + bytes(len(NEW) - len(OLD)),  # space was reserved, nothing written
        NEW[:250_000] + bytes(len(NEW) - 250_000),
    ],
)
def test_per_13_a_file_that_was_half_overwritten_is_as_it_was(
    tmp_path: Path, stands: bytes
) -> None:
    path = an_undo(tmp_path, stands)
    next_write(tmp_path)
    assert (path.read_bytes() == OLD, list(list_names(tmp_path))) == (True, ["file"])


def test_per_13_a_file_that_was_half_overwritten_is_put_right_before_it_is_read(
    tmp_path: Path,
) -> None:
    path = an_undo(tmp_path, NEW[:70_000] + OLD[70_000:])
    assert read_bytes(path, [tmp_path], 1 << 20) == OLD
    assert list_names(tmp_path) == ("file",)


def test_a_folder_that_stays_locked_does_not_keep_a_file_from_being_read(tmp_path: Path) -> None:
    path = an_undo(tmp_path, NEW[:70_000] + OLD[70_000:])
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with one_writer(folder, path):
            assert read_bytes(path, [tmp_path], 1 << 20) == NEW[:70_000] + OLD[70_000:]
    finally:
        os.close(folder)


def test_per_13_a_shorter_text_with_the_old_end_is_as_it_was(tmp_path: Path) -> None:
    path = an_undo(tmp_path, OLD + NEW[len(OLD) :], old=NEW, new=OLD)
    next_write(tmp_path)
    assert (path.read_bytes() == NEW, list(list_names(tmp_path))) == (True, ["file"])


@pytest.mark.parametrize("stands", [OLD, NEW, b"what the user wrote since", OLD[:-1] + b"!", b""])
def test_a_file_that_is_whole_or_somebody_elses_stays(tmp_path: Path, stands: bytes) -> None:
    path = an_undo(tmp_path, stands)
    next_write(tmp_path)
    assert (path.read_bytes() == stands, list(list_names(tmp_path))) == (True, ["file"])


def test_a_file_that_was_replaced_since_stays(tmp_path: Path) -> None:
    path = an_undo(tmp_path, NEW[:100] + OLD[100:])
    (tmp_path / "fresh").write_bytes(NEW[:100] + OLD[100:])
    (tmp_path / "fresh").replace(path)
    next_write(tmp_path)
    assert path.read_bytes() == NEW[:100] + OLD[100:]
    assert list(list_names(tmp_path)) == ["file"]


@pytest.mark.parametrize(
    "head", [b"", b"no json\n", b'{"indwell_undo":2,"name":"66","inode":1,"old_b":1,"new_b":1}\n']
)
def test_an_undo_file_that_is_not_as_we_write_them_is_left_alone(
    tmp_path: Path, head: bytes
) -> None:
    (tmp_path / f"{NAME}.undo").write_bytes(head)
    next_write(tmp_path)
    assert (tmp_path / f"{NAME}.undo").read_bytes() == head


def test_an_undo_file_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "w", tmp_path / "outside"
    root.mkdir()
    outside.write_bytes(b"ba")
    for name in ("../outside", str(outside)):
        head = Undo(1, name.encode().hex(), outside.stat().st_ino, 2, 2)
        (root / f"{NAME}.undo").write_bytes(msgspec.json.encode(head) + b"\n" + b"aa" + b"bb")
        next_write(root)
        assert outside.read_bytes() == b"ba"
