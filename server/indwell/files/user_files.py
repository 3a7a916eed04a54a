"""Deletes and restores the user's files, after saving a copy.

The copies are in a private folder of the user's state.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.append_log import read_bytes_private
from indwell.files.beneath import find, locate, open_place, parent_folder, plain_os_errors
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.new_file import usable
from indwell.files.contents.reading import read_regular
from indwell.files.locks import one_writer
from indwell.files.private import write_durable
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.copying import set_mode, write_all
from indwell.lazy_pattern import lazy_pattern

_READ = os.O_RDONLY | calls.NOFOLLOW | calls.CLOEXEC | calls.NONBLOCK | calls.BINARY
_NAME_CHARS = 60
_ODD = lazy_pattern(r"[^A-Za-z0-9._-]+")


def keep_copy(private: Path | None, path: Path, data: bytes) -> Path:
    """Store a permanent copy of ``data``, the content of ``path``; return the copy's path.

    Raises:
        ToolError: The private folder is missing or cannot be written.
    """
    folder = usable(private)
    if folder is None:
        raise ToolError(f"no copy of {quoted(path)} could be kept: the state folder is not usable")
    name = _ODD.sub("_", path.name)[:_NAME_CHARS]
    kept = folder / f"{name}-{secrets.token_hex(6)}.old"
    try:
        write_durable(kept, data)
    except OSError as error:
        raise ToolError(
            f"no copy of {quoted(path)} could be kept ({error.strerror}), so it stays"
        ) from error
    return kept


def delete_exactly(path: Path, roots: Sequence[Path], expected: bytes) -> None:
    """Delete the regular file at ``path`` beneath ``roots`` if it contains ``expected``.

    The function blocks, compares right before the deletion, and then flushes the folder.

    Args:
        path: The resolved path, which must contain no link now.
        roots: Folders that must contain the file.
        expected: All bytes of the file.

    Raises:
        TextMoved: The file contains other bytes.
        EditRefused: The file is gone.
        ToolError: The path is outside ``roots``, not a regular file, or the system refuses.
    """
    place = find(path, roots, resolved=True)
    if not place.parts:
        raise ToolError(f"{quoted(path)} is a folder")
    with (
        parent_folder(place) as (folder, name),
        plain_os_errors(place.path),
        one_writer(folder, path),
    ):
        try:
            descriptor = calls.open_file(name, _READ, dir_fd=folder)
        except FileNotFoundError as error:
            raise EditRefused(f"{quoted(path)} does not exist any more") from error
        try:
            held = calls.fstat(descriptor)
            if not stat.S_ISREG(held.st_mode):
                raise ToolError(f"{quoted(path)} is not a regular file, and is not deleted")
            same_size = held.st_size == len(expected)
            is_same = same_size and read_regular(descriptor, path, len(expected)) == expected
        finally:
            os.close(descriptor)
        now = calls.stat(name, dir_fd=folder, follow_symlinks=False)
        if not is_same or not os.path.samestat(held, now):
            raise TextMoved(f"{quoted(path)} has another text now; it was not deleted")
        calls.unlink(name, dir_fd=folder)
        calls.sync_folder(folder)


ANY_MODE = 0


def put_back(
    path: Path,
    data: bytes,
    roots: Sequence[Path],
    *,
    mode: int = ANY_MODE,
    expected: bytes | None = None,
    private: Path | None = None,
) -> Path:
    """Restore the content of ``path``; return the resolved path.

    Args:
        path: The file to restore.
        data: The content to write.
        roots: Folders that must contain the file.
        mode: The file's former permissions; ``ANY_MODE`` for a new file's permissions.
        expected: The present content, or None if the file does not exist.
        private: The private folder; see ``write_atomic``.

    Raises:
        TextMoved: The file contains other bytes.
        EditRefused: The file exists unexpectedly, or no longer exists.
        ToolError: The path is outside ``roots``, or the system refuses.
    """
    place = write_atomic(
        path,
        data,
        roots,
        parents=expected is None,
        create=expected is None,
        expected=expected,
        resolved=True,
        private=private,
    )
    if mode != ANY_MODE:
        with plain_os_errors(place):
            descriptor = open_place(locate(place, roots), os.O_RDONLY)
            try:
                # If the system refuses the mode, the bytes are still restored.
                set_mode(descriptor, stat.S_IMODE(mode))
            finally:
                os.close(descriptor)
    return place


_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL  # A link of this name is not followed.
    | calls.NOFOLLOW
    | calls.CLOEXEC
    | calls.BINARY
)
_MOST = 1_000


def keep_beside(path: Path, data: bytes, suffix: str) -> Path:
    """Write ``data``, the content of ``path``, to a new file beside ``path``; return its path.

    The name is ``path`` plus ``suffix``, plus a number if a file already has that name. An existing
    copy with the same bytes is used again. The mode of a copy never grants more than that of
    ``path``.

    Raises:
        OSError: The system refuses, or there are too many copies.
    """
    mode = calls.stat(path).st_mode & 0o777
    for number in range(1, _MOST):
        kept = path.with_name(path.name + suffix + (f".{number}" if number > 1 else ""))
        try:
            file = calls.open_file(kept, _NEW, 0o600)
        except FileExistsError:
            if _holds(kept, data):
                return kept
            continue
        try:
            write_all(file, data)
            set_mode(file, mode)  # if the system refuses the mode, only the user can read the copy
            calls.fsync(file)
        except BaseException:
            with suppress(OSError):
                calls.unlink(kept)
            raise
        finally:
            os.close(file)
        return kept
    raise OSError(errno.EEXIST, f"there are {_MOST} copies of it already", str(path))


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_bytes_private(path) == data
    except OSError:  # the name belongs to a link, a folder, or an unreadable file
        return False
