"""Replace or create a file in one step: it holds the old bytes or the new ones, never a part.

The new bytes go to a fresh file in the same folder, are flushed, and take the old file's place by
rename. Mode, group and extended attributes (access lists) of the old file stay. A link inside the
roots is followed and its target replaced, never the link. Writers of Indwell take turns in a folder
and compare right before they replace, so the second of two finds that the text moved.

Some files are overwritten in place instead, because a rename would break what they are or is not
possible: one with several hard links, one that somebody else owns or whose group, access list or
mode we cannot give (`safety.json` FS-08), one in a folder that takes no new files, one that is a
mount point. For these ``in_place`` keeps the old bytes until the new ones are there.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from indwell.errors import EditRefused
from indwell.files.copying import write_all
from indwell.files.dress import dress_like
from indwell.files.fresh import Fresh, sync_folder
from indwell.files.in_place import NotPutBack, open_for_both, overwrite
from indwell.files.journal import new_journal
from indwell.files.one_writer import wait_locked
from indwell.files.target import Target, check_bytes, check_same, damaged, moved, target_of

_NO_NEW_FILES = frozenset({errno.EACCES, errno.EPERM})
_NO_RENAME = frozenset({errno.EBUSY, errno.EXDEV})  # a mount point, as in containers

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
    """Make the file at ``path`` beneath ``roots`` hold ``data``; gives its resolved path.

    Args:
        path: What to write.
        data: All its bytes.
        roots: Folders that it must lie in.
        parents: Make missing folders on the way.
        expected: What the file must hold right before it is replaced.
        create: The file must not exist yet.
        resolved: No link may stand on the way by now; the path was looked at before.
        private: A folder of the user's state, for undo files (``journal``) and the key of our
            names (``own_names``). Without one, a write in place that is killed is not undone.

    Raises:
        TextMoved: The file is not ``expected`` any more.
        EditRefused: It is gone, or exists although ``create``, or others keep it locked.
        ToolError: Outside, read-only, no regular file, or the system refuses.
    """
    with target_of(path, roots, private, parents=parents, resolved=resolved) as target:
        if create and target.old is not None:
            raise EditRefused(f"{str(path)!r} exists already; read_file it before changing it")
        if expected is not None and target.old is None:
            raise EditRefused(f"{str(path)!r} does not exist any more; nothing was written")
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
    """Replace an existing file with what ``write`` puts into a descriptor; gives its resolved path.

    For what is too long to stand in memory: unchanged parts are copied from descriptor to
    descriptor (``copy_range``). What ``write`` raises leaves the file as it was.

    Args:
        path: What to replace.
        roots: Folders that it must lie in.
        write: Is given the new file's descriptor, empty and at its beginning.
        unchanged: What the system told of the file when its text was read. Device, number, size
            and time of change must still be so, before ``write`` runs and right before the file is
            replaced.
        private: As for ``write_atomic``.

    Raises:
        TextMoved: The file is not as ``unchanged`` says any more.
        EditRefused: It is gone, or others keep it locked.
        ToolError: Outside, read-only, no regular file, or the system refuses.
    """
    with target_of(path, roots, private) as target:
        if target.old is None:
            raise EditRefused(f"{str(path)!r} does not exist any more; nothing was written")
        check_same(target, unchanged)
        _replace(target, write, lambda: check_same(target, unchanged), create=False)
        return target.place.path


def _replace(target: Target, write: Write, check: Callable[[], None], *, create: bool) -> None:
    """Write the fresh file, ``check`` that nothing moved meanwhile, and let it take its place."""
    old, folder, name = target.old, target.folder, target.name
    in_place = old is not None and (old.st_nlink > 1 or _is_foreign(old))
    try:
        fresh = Fresh(folder, name, 0o666 if old is None else 0o600, own=target.own)
    except OSError as error:
        if old is None or error.errno not in _NO_NEW_FILES:
            raise
        _overwrite_from_elsewhere(target, write, check)
        return
    try:
        write(fresh.descriptor)
        if old is not None and not in_place:
            in_place = not dress_like(fresh.descriptor, name, folder, old)
        os.fsync(fresh.descriptor)
        check()
        if create:
            _create(fresh, target)
        elif in_place:
            _overwrite(target, fresh.descriptor, check)
        else:
            _take(fresh, target, check)
    finally:
        fresh.discard()
    sync_folder(folder)


def _create(fresh: Fresh, target: Target) -> None:
    try:
        fresh.create(target.name)
    except FileExistsError as error:
        raise EditRefused(
            f"{str(target.asked)!r} was created by somebody else meanwhile; read it first"
        ) from error


def _take(fresh: Fresh, target: Target, check: Callable[[], None]) -> None:
    try:
        fresh.take(target.name)
    except OSError as error:
        if error.errno not in _NO_RENAME or target.old is None:
            raise
        _overwrite(target, fresh.descriptor, check)


def _overwrite_from_elsewhere(target: Target, write: Write, check: Callable[[], None]) -> None:
    """Overwrite a file in a folder that takes no new ones."""
    with tempfile.TemporaryFile() as new:
        write(new.fileno())
        _overwrite(target, new.fileno(), check)


def _overwrite(target: Target, new: int, check: Callable[[], None]) -> None:
    """Overwrite the target with the open file ``new``; its old bytes are kept meanwhile."""
    descriptor = open_for_both(target.name, target.folder)
    try:
        wait_locked(descriptor, target.asked)
        if target.old is None or os.fstat(descriptor).st_ino != target.old.st_ino:
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
    return hasattr(os, "geteuid") and old.st_uid != os.geteuid()
