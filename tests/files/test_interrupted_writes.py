"""A killed process's write is undone at the next use of the file, and only then (PER-13).

An undo file in the private folder is used only for its own file; files of a project are never used.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from indwell.errors import ToolError
from indwell.files.append_log import list_names
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.in_place import new_journal, undo_path
from indwell.files.contents.new_file import known_name, usable
from indwell.files.contents.reading import read_bytes
from support.platforms import posix_only

pytestmark = posix_only("kernel")

if sys.platform != "win32":
    import fcntl

OLD, NEW = b"old text " * 20_000, b"new and longer text " * 15_000
LIMIT_B = 1 << 20


class Room(NamedTuple):
    """A project with one file, and the private folder."""

    root: Path
    private: Path

    @property
    def path(self) -> Path:
        return self.root / "file"

    @property
    def undo(self) -> Path:
        return undo_path(self.private, self.path)

    def read(self) -> bytes:
        return read_bytes(self.path, [self.root], LIMIT_B, private=self.private)

    def write(self, name: str, data: bytes) -> None:
        write_atomic(self.root / name, data, [self.root], private=self.private)

    def kept(self) -> dict[str, bytes]:
        names = [name for name in list_names(self.private) if name != "key"]
        return {name: (self.private / name).read_bytes() for name in names}

    def cut_off(self, stands: bytes, *, old: bytes = OLD, new: bytes = NEW) -> None:
        """Create the file as a killed writer left it, and its undo file."""
        self.path.write_bytes(old)
        target, made = os.open(self.path, os.O_RDWR), os.memfd_create("new")
        os.write(made, new)
        journal = new_journal(self.private, self.path)
        journal.fill(target, made)
        os.ftruncate(target, 0)
        os.pwrite(target, stands, 0)
        journal.close()
        os.close(target)
        os.close(made)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "w").mkdir()
    private = usable(tmp_path / "state" / "undo")
    assert private is not None
    return Room(tmp_path / "w", private)


@pytest.mark.parametrize("how", ["read", "write"])
@pytest.mark.parametrize(
    "stands",
    [
        NEW[:1] + OLD[1:],
        NEW[:70_000] + OLD[70_000:],
        NEW[: len(OLD) - 1] + OLD[-1:],
        OLD + bytes(len(NEW) - len(OLD)),  # space was reserved, but nothing was written
        NEW[:250_000] + bytes(len(NEW) - 250_000),
    ],
)
def test_per_13_a_half_overwritten_file_is_restored(room: Room, stands: bytes, how: str) -> None:
    room.cut_off(stands)
    if how == "read":
        assert room.read() == OLD
    else:
        write_atomic(room.path, b"next", [room.root], expected=OLD, private=room.private)
    assert (list_names(room.root), room.kept()) == (("file",), {})


def test_per_13_a_shorter_text_followed_by_the_old_end_is_restored(room: Room) -> None:
    room.cut_off(OLD + NEW[len(OLD) :], old=NEW, new=OLD)
    assert (room.read() == NEW, room.kept()) == (True, {})


def test_a_half_overwritten_file_is_restored_only_when_that_file_is_used(room: Room) -> None:
    room.cut_off(NEW[:70_000] + OLD[70_000:])
    room.write("other", b"x")
    assert (room.path.read_bytes() == OLD, len(room.kept())) == (False, 1)


@pytest.mark.parametrize("stands", [OLD, NEW])
def test_the_undo_file_of_a_complete_file_is_removed(room: Room, stands: bytes) -> None:
    room.cut_off(stands)
    assert (room.read() == stands, room.kept()) == (True, {})


@pytest.mark.parametrize("how", ["read", "write"])
@pytest.mark.parametrize(
    "stands",
    [b"what the user wrote since", OLD[:-1] + b"!", b"", NEW[:70_000] + OLD[70_000:] + b"!"],
)
def test_the_undo_text_of_a_file_changed_by_others_is_kept_and_reported_once(
    room: Room, stands: bytes, how: str
) -> None:
    room.cut_off(stands)
    use = {"read": room.read, "write": lambda: room.write("file", b"next")}[how]
    with pytest.raises(ToolError, match="its text from before that edit is kept in") as said:
        use()
    ((name, data),) = room.kept().items()
    assert (str(room.private / name) in str(said.value), data == OLD) == (True, True)
    assert room.read() == stands
    room.write("file", b"next")
    assert (room.read(), list(room.kept())) == (b"next", [name])


def test_the_old_text_is_kept_when_the_file_was_replaced_or_removed_since(room: Room) -> None:
    torn = NEW[:100] + OLD[100:]
    room.cut_off(torn)
    (room.root / "fresh").write_bytes(torn)
    (room.root / "fresh").replace(room.path)
    with pytest.raises(ToolError, match="changed by others"):
        room.read()
    assert room.read() == torn
    room.cut_off(torn)
    room.path.unlink()
    with pytest.raises(ToolError, match="changed by others"):
        room.write("file", b"next")
    assert list(room.kept().values()) == [OLD, OLD]


def test_an_undo_file_never_replaces_another_undo_file(room: Room) -> None:
    room.cut_off(NEW[:100] + OLD[100:])
    with pytest.raises(ToolError, match="another edit of it is in progress"):
        new_journal(room.private, room.path)
    assert (room.read() == OLD, room.kept()) == (True, {})


@pytest.mark.parametrize("size_b", [0, 1, 31, 32, 40_000])
def test_an_incomplete_undo_file_is_removed_and_its_file_stays_unchanged(
    room: Room, size_b: int
) -> None:
    room.cut_off(OLD)
    os.truncate(room.undo, size_b)
    assert (room.read() == OLD, room.kept()) == (True, {})


@pytest.mark.parametrize("sizes", [b"\xff" * 16, b"\xff" * 8 + bytes(8), bytes(16)])
def test_invalid_sizes_in_an_undo_file_are_ignored(room: Room, sizes: bytes) -> None:
    room.cut_off(NEW[:100] + OLD[100:])
    with room.undo.open("r+b") as undo:
        undo.seek(-16, os.SEEK_END)
        undo.write(sizes)
    room.write("file", b"next")
    assert (room.read(), room.kept()) == (b"next", {})


def test_a_file_that_only_has_the_name_of_an_undo_file_is_not_touched(room: Room) -> None:
    room.path.write_bytes(b"text")
    outside = room.private / "outside"
    outside.write_bytes(b"outside")
    room.undo.symlink_to(outside)
    assert room.read() == b"text"
    room.undo.unlink()
    os.mkfifo(room.undo)
    assert room.read() == b"text"
    with pytest.raises(ToolError, match="it is not an undo file of Indwell"):
        room.write("file", b"next")
    assert (outside.read_bytes(), room.path.read_bytes()) == (b"outside", b"text")


def test_a_reader_does_not_wait_for_ever_for_a_living_writer(room: Room) -> None:
    torn = NEW[:70_000] + OLD[70_000:]
    room.cut_off(torn)
    with room.undo.open("rb") as undo:
        fcntl.flock(undo, fcntl.LOCK_EX)
        assert room.read() == torn
    assert room.read() == OLD


def test_a_private_folder_that_others_may_write_is_not_used(room: Room) -> None:
    torn = NEW[:70_000] + OLD[70_000:]
    room.cut_off(torn)
    room.private.chmod(0o777)
    assert (room.read() == torn, usable(room.private)) == (True, None)
    room.private.chmod(0o700)
    link = room.private.with_name("link")
    link.symlink_to(room.private)
    assert usable(link) is None


def test_an_undo_file_inside_a_project_is_not_used(room: Room) -> None:
    room.cut_off(NEW[:1] + OLD[1:])
    name = room.undo.name
    planted = {name: room.undo.read_bytes(), ".indwell-0123456789abcdef.undo": b'{"name":"6100"}\n'}
    room.undo.unlink()
    for one, data in planted.items():
        (room.root / one).write_bytes(data)
    assert room.read() == NEW[:1] + OLD[1:]
    room.write("other", b"x")
    assert {one: (room.root / one).read_bytes() for one in planted} == planted


@pytest.mark.parametrize(
    "name", [".indwell-0123456789abcdef", ".indwell-notes", ".indwell-" + "0" * 32]
)
def test_a_partial_file_with_a_name_like_ours_is_not_removed(room: Room, name: str) -> None:
    (room.root / f"{name}.tmp").write_bytes(b"the user's")
    room.write("next", b"")
    assert (room.root / f"{name}.tmp").read_bytes() == b"the user's"


def own(room: Room, root: Path) -> str:
    folder = os.open(root, os.O_RDONLY)
    try:
        name = known_name(folder, room.private)
    finally:
        os.close(folder)
    assert name is not None
    return name


def test_per_13_a_partial_temporary_file_is_removed_by_the_next_write_in_its_folder(
    room: Room,
) -> None:
    (room.root / own(room, room.root)).write_bytes(b"half")
    room.write("next", b"")
    assert list_names(room.root) == ("next",)


def test_our_temporary_name_differs_by_folder_and_user(room: Room, tmp_path: Path) -> None:
    (room.root / "deeper").mkdir()
    theirs = usable(tmp_path / "theirs")
    assert theirs is not None
    names = {
        own(room, room.root),
        own(room, room.root / "deeper"),
        own(Room(room.root, theirs), room.root),
    }
    assert len(names) == 3
    assert own(room, room.root) in names


def test_a_folder_with_indwells_temporary_name_is_not_removed(room: Room) -> None:
    name = own(room, room.root)
    (room.root / name).mkdir()
    room.write("next", b"")
    assert list_names(room.root) == (name, "next")
