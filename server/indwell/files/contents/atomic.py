"""Writes files atomically: afterwards, a file contains all old bytes or all new bytes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from indwell import edges
from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.beneath import PathBeneath, find, parent_folder, plain_os_errors
from indwell.files.contents.in_place import (
    NotPutBack,
    free_name,
    new_journal,
    open_for_both,
    overwrite,
    settle,
)
from indwell.files.contents.new_file import Fresh, usable
from indwell.files.contents.reading import read_regular
from indwell.files.locks import one_writer, wait_locked
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.access import is_users, same_readers
from indwell.files.system.copying import dress_like, write_all
from indwell.files.system.held_files import HeldOpen

_NO_NEW_FILES = frozenset({errno.EACCES, errno.EPERM})
# The file is a mount point, as is common in containers.
_NO_RENAME = frozenset({errno.EBUSY, errno.EXDEV})

Write = Callable[[int], None]


def write_atomic(
    path: Path,
    data: bytes,
    roots: Sequence[Path],
    *,
    parents: bool = False,
    expected: bytes | None = None,
    create: bool = False,
    resolved: bool = False,
    private: Path | None = None,
) -> Path:
    """Write ``data`` to the file at ``path`` beneath ``roots``; return the resolved path.

    Args:
        path: The file to write.
        data: All bytes of the file.
        roots: Folders that must contain the file.
        parents: Whether to create missing parent folders.
        expected: The bytes that the file must contain right before it is replaced.
        create: Whether the file must not exist yet.
        resolved: Whether the path was already resolved, and must contain no link now.
        private: A folder in the user's state, for undo files and for the key of temporary names.
            Without this folder, a killed write in place cannot be undone.

    Raises:
        TextMoved: The file no longer contains ``expected``.
        EditRefused: The file is gone, exists despite ``create``, or is locked by another process.
        ToolError: The path is outside ``roots``, read-only or not a regular file, or the system
            refuses.
    """
    with target_of(path, roots, private, parents=parents, resolved=resolved) as target:
        if create and target.old is not None:
            raise EditRefused(f"{quoted(path)} exists already; read_file it before changing it")
        if expected is not None and target.old is None:
            raise EditRefused(f"{quoted(path)} does not exist any more; nothing was written")
        edges.current().before_file_write(target.place.path, data)
        _replace(
            target,
            lambda descriptor: write_all(descriptor, data),
            lambda: check_bytes(target, expected),
            create=create,
        )
        return target.place.path


def replace_with(
    path: Path,
    roots: Sequence[Path],
    write: Write,
    *,
    unchanged: os.stat_result,
    private: Path | None = None,
) -> Path:
    """Replace an existing file with the output of ``write`` to a descriptor; return the path.

    The function is for files that are too large for memory; ``write`` may copy unchanged parts with
    ``copy_range``. If ``write`` raises an error, the file keeps its old content.

    Args:
        path: The file to replace.
        roots: Folders that must contain the file.
        write: Called with the descriptor of the new, empty file.
        unchanged: The file's stat when its text was read. Device, inode, size and modification time
            are compared before ``write`` and right before the file is replaced.
        private: The private folder; see ``write_atomic``.

    Raises:
        TextMoved: The file no longer matches ``unchanged``.
        EditRefused: The file is gone, or another process keeps it locked.
        ToolError: The path is outside ``roots``, read-only or not a regular file, or the system
            refuses.
    """
    with target_of(path, roots, private) as target:
        if target.old is None:
            raise EditRefused(f"{quoted(path)} does not exist any more; nothing was written")
        check_same(target, unchanged)
        _replace(target, write, lambda: check_same(target, unchanged), create=False)
        return target.place.path


def _replace(
    target: AtomicTarget, write: Write, check: Callable[[], None], *, create: bool
) -> None:
    """Write the new file, run ``check`` against concurrent changes, and replace the old file."""
    old, folder, name = target.old, target.folder, target.name
    in_place = old is not None and (old.st_nlink > 1 or _is_foreign(old))
    try:
        fresh = Fresh(folder, 0o666 if old is None else calls.FRESH_MODE, own=target.own)
        if old is not None and not in_place and not same_readers(fresh.descriptor, name, folder):
            in_place = True
            fresh.discard()
            fresh = Fresh(folder, 0o600, own=target.own)
    except OSError as error:
        if old is None or error.errno not in _NO_NEW_FILES:
            raise
        _overwrite_from_elsewhere(target, write, check)
        return
    try:
        write(fresh.descriptor)
        if old is not None and not in_place:
            in_place = not dress_like(fresh.descriptor, name, folder, old)
        calls.fsync(fresh.descriptor)
        check()
        if create:
            _create(fresh, target)
        elif in_place:
            _overwrite(target, fresh.descriptor, check)
        else:
            _take(fresh, target, check)
    finally:
        fresh.discard()
    calls.sync_folder(folder)


def _create(fresh: Fresh, target: AtomicTarget) -> None:
    try:
        fresh.create(target.name)
    except FileExistsError as error:
        raise EditRefused(
            f"{quoted(target.asked)} was created by somebody else meanwhile; read it first"
        ) from error


def _take(fresh: Fresh, target: AtomicTarget, check: Callable[[], None]) -> None:
    try:
        fresh.take(target.name)
    except OSError as error:
        # The program that has the file open may let other programs write to the file.
        is_held = isinstance(error, HeldOpen)
        if target.old is None or not (is_held or error.errno in _NO_RENAME):
            raise
        _overwrite(target, fresh.descriptor, check)


def _overwrite_from_elsewhere(
    target: AtomicTarget, write: Write, check: Callable[[], None]
) -> None:
    """Overwrite a file in a folder that allows no new files."""
    with tempfile.TemporaryFile() as new:
        write(new.fileno())
        _overwrite(target, new.fileno(), check)


def _overwrite(target: AtomicTarget, new: int, check: Callable[[], None]) -> None:
    """Overwrite the target with the open file ``new``; an undo file keeps the old bytes."""
    descriptor = open_for_both(target.name, target.folder)
    try:
        wait_locked(descriptor, target.asked)
        if target.old is None or calls.fstat(descriptor).st_ino != target.old.st_ino:
            raise moved(target)
        journal = new_journal(target.private, target.place.path)
        try:
            overwrite(descriptor, new, journal, check)
        finally:
            journal.close()
    except NotPutBack as error:
        raise damaged(target.asked, error) from error
    finally:
        os.close(descriptor)


def _is_foreign(old: os.stat_result) -> bool:
    return not is_users(old)


_OLD = calls.NOFOLLOW | calls.CLOEXEC | calls.NONBLOCK | calls.BINARY


class AtomicTarget(msgspec.Struct, frozen=True):
    """A file to replace, locked for writing; ``old`` is the stat of the present file.

    ``own`` is a temporary name in the same folder; ``private`` is the private folder or None.
    """

    asked: Path
    place: PathBeneath
    folder: int
    name: str
    old: os.stat_result | None
    own: str | None
    private: Path | None


@contextlib.contextmanager
def target_of(
    path: Path,
    roots: Sequence[Path],
    private: Path | None,
    *,
    parents: bool = False,
    resolved: bool = False,
) -> Iterator[AtomicTarget]:
    """Lock ``path`` beneath ``roots`` for writing, with the arguments of ``write_atomic``.

    Raises:
        EditRefused: Another process keeps the file locked.
        ToolError: The file is outside ``roots``, read-only or not regular, or the system refuses.
    """
    place = find(path, roots, resolved=resolved)
    if not place.parts:
        raise ToolError(f"{quoted(path)} is a folder; name a file in it")
    private = usable(private)
    with (
        parent_folder(place, create=parents) as (folder, name),
        plain_os_errors(place.path),
        one_writer(folder, path) as is_alone,
    ):
        own = free_name(folder, private) if is_alone else None
        if private is not None:
            try:
                settle(place.path, name, folder, private)
            except NotPutBack as error:
                raise damaged(path, error) from error
        old = _stat(name, folder)
        if old is not None:
            _check_writable(old, path)
        yield AtomicTarget(path, place, folder, name, old, own, private)


def check_bytes(target: AtomicTarget, expected: bytes | None) -> None:
    """Check that the file contains the ``expected`` bytes; None accepts any.

    Raises:
        TextMoved: The file contains other bytes.
    """
    if expected is None:
        return
    descriptor = calls.open_file(target.name, os.O_RDONLY | _OLD, dir_fd=target.folder)
    try:
        same_size = calls.fstat(descriptor).st_size == len(expected)
        if same_size and read_regular(descriptor, target.asked, len(expected)) == expected:
            return
    finally:
        os.close(descriptor)
    raise moved(target)


def check_same(target: AtomicTarget, unchanged: os.stat_result) -> None:
    """Check that device, inode, size and modification time of the file are as in ``unchanged``.

    Raises:
        TextMoved: One of the values differs.
    """
    now = _stat(target.name, target.folder)
    if now is None or _identity(now) != _identity(unchanged):
        raise moved(target)


def moved(target: AtomicTarget) -> TextMoved:
    """Return the error for a file that changed since it was read."""
    return TextMoved(
        f"{quoted(target.place.path)} changed while it was being edited; nothing was written; "
        "read it again"
    )


def damaged(path: Path, error: NotPutBack) -> ToolError:
    """Return the error for a write in place that failed and could not be undone."""
    later = ", and is put back when the file is read or edited next" if error.comes_back else ""
    kept = f"is kept in {quoted(error.kept)}{later}" if error.kept else "could not be kept"
    return ToolError(
        f"{quoted(path)} was damaged by the system ({error.strerror}); its old text {kept}"
    )


def _stat(name: str, folder: int) -> os.stat_result | None:
    try:
        return calls.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_writable(old: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(old.st_mode):
        raise ToolError(f"{quoted(path)} is a folder; name a file in it")
    if not stat.S_ISREG(old.st_mode):
        raise ToolError(
            f"{quoted(path)} is a link, pipe, socket or device, and cannot be written to"
        )
    if not old.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise ToolError(
            f"{quoted(path)} is read-only; if it is meant to be changed, make it writable first"
        )


def _identity(kind: os.stat_result) -> tuple[int, int, int, int]:
    return kind.st_dev, kind.st_ino, kind.st_size, kind.st_mtime_ns
