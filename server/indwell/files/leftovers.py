"""What a killed process of ours left in a folder: half-made files go, half-written ones go back.

Whoever holds the folder's lock runs this before its own write, or before reading a file that has an
undo file. Nobody living has such files then: each is made and gone within one hold of the lock
(``one_writer``).
"""

from __future__ import annotations

import contextlib
import os
import re
import stat

import msgspec

from indwell.errors import ToolError
from indwell.files.beneath import Place, parent_folder
from indwell.files.fresh import SUFFIX
from indwell.files.in_place import FIRST_LINE_LIMIT_B, Undo, open_for_both, pour, undo_name
from indwell.files.one_writer import lock_now, one_writer

_OURS = re.compile(r"\.indwell-[0-9a-f]{16}(\.tmp|\.undo)")
READ_WAIT_S = 1.0  # a reader's patience with a writer; then it reads what is there
_PIECE_B = 1 << 16
_LOOK = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


def tidy(folder: int) -> None:
    """Remove what our dead left in the open ``folder``, which the caller holds locked.

    Only regular files of this user under names of our pattern are touched. What cannot be tidied
    stays for the next time.
    """
    names: list[str] = []
    with contextlib.suppress(OSError):  # a folder that may be written and not listed
        names = os.listdir(folder)
    for name in names:
        ours = _OURS.fullmatch(name) if name.startswith(".indwell-") else None
        if ours is None:
            continue
        with contextlib.suppress(OSError):
            if _is_own(name, folder) and (ours[1] == SUFFIX or _settle(name, folder)):
                os.unlink(name, dir_fd=folder)


def put_right(place: Place) -> None:
    """Before a file is read: wait until it is overwritten, or undo what was left half-way.

    One look at the disk if all is well, as nearly always. If it cannot be put right, it is read as
    it stands.
    """
    if not place.parts:
        return
    *folders, name = place.parts
    # Asked for each file that is read; a Path would take twice as long.
    undo = os.path.join(place.root, *folders, undo_name(name))  # noqa: PTH118
    if not os.path.lexists(undo):
        return
    with (
        contextlib.suppress(OSError, ToolError),
        parent_folder(place) as (folder, _),
        one_writer(folder, place.path, wait_s=READ_WAIT_S) as is_alone,
    ):
        if is_alone and folder is not None:
            tidy(folder)


def _is_own(name: str, folder: int) -> bool:
    kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return stat.S_ISREG(kind.st_mode) and kind.st_uid == os.geteuid()


def _settle(name: str, folder: int) -> bool:
    """Put back the old bytes of a file that was half overwritten; True if the undo file is done."""
    undo = os.open(name, _LOOK, dir_fd=folder)
    try:
        line, _, _ = os.pread(undo, FIRST_LINE_LIMIT_B, 0).partition(b"\n")
        try:
            head = msgspec.json.decode(line, type=Undo)
            old_name = os.fsdecode(bytes.fromhex(head.name))
        except (msgspec.DecodeError, ValueError):
            return False  # not as we write them
        if head.indwell_undo != 1 or "/" in old_name:
            return False
        try:
            target = open_for_both(old_name, folder)
        except FileNotFoundError:
            return True
        try:
            if os.fstat(target).st_ino != head.inode:
                return True  # replaced since: whoever did so has decided
            if not lock_now(target):
                return False  # somebody writes it by another of its names
            if _is_torn(target, undo, len(line) + 1, head):
                pour(undo, len(line) + 1, head.old_b, target)
        finally:
            os.close(target)
    finally:
        os.close(undo)
    return True


def _is_torn(target: int, undo: int, first: int, head: Undo) -> bool:
    """Does the file hold a mixture of the old and the new bytes, and nothing that others wrote?"""
    size = os.fstat(target).st_size
    if size not in {head.old_b, head.new_b, max(head.old_b, head.new_b)}:
        return False
    is_old, is_new = size == head.old_b, size == head.new_b
    for at in range(0, size, _PIECE_B):
        length = min(_PIECE_B, size - at)
        piece = os.pread(target, length, at)
        old = os.pread(undo, max(0, min(length, head.old_b - at)), first + at)
        new = os.pread(undo, max(0, min(length, head.new_b - at)), first + head.old_b + at)
        is_old, is_new = is_old and piece == old, is_new and piece == new
        padded = old.ljust(length, b"\0")  # space that was reserved and not written yet
        if piece not in {padded, new} and not _is_mixed(piece, padded, new):
            return False
    return not is_old and not is_new


def _is_mixed(piece: bytes, old: bytes, new: bytes) -> bool:
    return all(
        byte == old[index] or (index < len(new) and byte == new[index])
        for index, byte in enumerate(piece)
    )
