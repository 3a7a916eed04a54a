"""What a killed process of ours left: a half-made file goes, a half-written one gets its text back.

Nothing that stands in a project is believed. The half-made file has a name that only we can give
(``own_names``); the undo file of a half-written one lies in the private folder (``journal``), and
is used for that very file, by its path and inode, and only while its bytes are a mixture of the old
and the new ones.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from indwell.errors import EditRefused, ToolError
from indwell.files.beneath import Place, parent_folder
from indwell.files.in_place import NotPutBack, open_for_both, pour
from indwell.files.journal import Journal, Told, left_journal, undo_path
from indwell.files.one_writer import WAIT_S, wait_locked
from indwell.files.own_names import known_name, usable

READ_WAIT_S = 1.0  # a reader's patience with a writer; then it reads what is there
_PIECE_B = 1 << 16


def free_name(folder: int | None, private: Path | None) -> str | None:
    """Our name in the open ``folder``, which the caller holds locked, after removing what has it.

    None if there is no such name, or it cannot be had.
    """
    own = known_name(folder, private)
    if own is None:
        return None
    try:
        kind = os.stat(own, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(kind.st_mode) or kind.st_uid != os.geteuid():
            return None
        os.unlink(own, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        return None
    return own


def put_right(place: Place, private: Path | None) -> None:
    """Before a file is read: wait until it is overwritten, or undo what was left half-way.

    One look at the private folder if all is well, as nearly always. If the system does not let it
    be put right, it is read as it stands, and the undo file waits for the next time.

    Raises:
        ToolError: It was half-written and then changed by others; said once, see ``settle``.
    """
    # Asked for each file that is read.
    if private is None or not place.parts or not os.path.lexists(undo_path(private, place.path)):
        return
    if usable(private) is None:
        return
    with parent_folder(place) as (folder, name), contextlib.suppress(OSError, EditRefused):
        settle(place.path, name, folder, private, wait_s=READ_WAIT_S)


def settle(
    path: Path, name: str, folder: int | None, private: Path, *, wait_s: float = WAIT_S
) -> None:
    """Bring an edit in place of ``path`` to an end that a dead process did not.

    Args:
        path: The file's resolved path.
        name: Its name in the open ``folder``.
        folder: The folder's descriptor.
        private: The private folder.
        wait_s: Seconds to wait for living ones.

    Raises:
        EditRefused: A living process is in the middle of it.
        ToolError: The file holds neither text, nor a mixture of them: whoever changed it has
            decided. The old text is set aside for good, which is said this once.
        NotPutBack: The system does not take the old text; the undo file stays.
        OSError: It refuses something else; the undo file stays.
    """
    journal = left_journal(private, path, wait_s=wait_s)
    if journal is None:
        return
    try:
        told = journal.told()
        if told is None:  # never whole: nothing was overwritten yet
            journal.discard()
            return
        with _opened(name, folder) as target:
            if target is not None:
                wait_locked(target, path, wait_s=wait_s)  # another of its names may be written
                if _is_settled(target, journal, told):
                    journal.discard()
                    return
        kept = journal.set_aside(told.old_b)
    finally:
        journal.close()
    raise ToolError(
        f"{str(path)!r} was changed by others after an edit of it was cut off half-way; it stays "
        f"as it is, its text from before that edit is kept in {str(kept)!r}, and nothing was done "
        "now; tell the user, and go on"
    )


@contextlib.contextmanager
def _opened(name: str, folder: int | None) -> Iterator[int | None]:
    """The regular file of that name, for reading and writing; None if there is none."""
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        yield None
        return
    if not stat.S_ISREG(kind.st_mode):
        yield None
        return
    target = open_for_both(name, folder)
    try:
        yield target
    finally:
        os.close(target)


def _is_settled(target: int, journal: Journal, told: Told) -> bool:
    """Is the old or the new text there? A mixture of them is put right first."""
    holds = _holds(target, journal.descriptor, told)
    assert journal.place is not None
    if holds == "mixture" and os.fstat(target).st_ino == told.inode:
        try:
            pour(journal.descriptor, 0, told.old_b, target)
        except OSError as error:
            raise NotPutBack(error, journal.place, comes_back=True) from error
        return True
    return holds in {"old", "new"}


def _holds(target: int, undo: int, told: Told) -> Literal["old", "new", "mixture", "other"]:
    """What is in the open file?"""
    size = os.fstat(target).st_size
    if size not in {told.old_b, told.new_b, max(told.old_b, told.new_b)}:
        return "other"
    is_old, is_new = size == told.old_b, size == told.new_b
    for at in range(0, size, _PIECE_B):
        length = min(_PIECE_B, size - at)
        piece = os.pread(target, length, at)
        old = os.pread(undo, max(0, min(length, told.old_b - at)), at)
        new = os.pread(undo, max(0, min(length, told.new_b - at)), told.old_b + at)
        is_old, is_new = is_old and piece == old, is_new and piece == new
        padded = old.ljust(length, b"\0")  # space that was reserved and not written yet
        if piece not in {padded, new} and not _is_mixed(piece, padded, new):
            return "other"
    if is_old or is_new:
        return "old" if is_old else "new"
    return "mixture"


def _is_mixed(piece: bytes, old: bytes, new: bytes) -> bool:
    return all(
        byte == old[index] or (index < len(new) and byte == new[index])
        for index, byte in enumerate(piece)
    )
