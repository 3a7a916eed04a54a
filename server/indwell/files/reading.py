"""Reads a regular file: all of it, up to a limit, or only if nobody else can write it.

``read_guarded`` is for stored answers that widen permissions. All functions block.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

import msgspec

from indwell.errors import TooLarge, ToolError
from indwell.files.beneath import find, open_place, plain_os_errors
from indwell.files.in_place import put_right
from indwell.files.spelling import quoted

_PIECE_B = 1 << 20


class OpenFile(msgspec.Struct, frozen=True):
    """A regular file, open for reading.

    Attributes:
        path: Its resolved path.
        descriptor: At the beginning; closed at the end of the block.
        stat: The stat of the open descriptor.
    """

    path: Path
    descriptor: int
    stat: os.stat_result


@contextlib.contextmanager
def opened_beneath(
    path: Path, roots: Sequence[Path], *, resolved: bool = False, private: Path | None = None
) -> Iterator[OpenFile]:
    """Open the regular file at ``path`` beneath ``roots``, for ``os.read`` and ``os.pread``.

    For files too large to read at once. An ``OSError`` in the block becomes a ToolError about
    ``path``. ``resolved``: refuse the path if it contains a link now. With a ``private`` folder, a
    half-done write in place by a dead process is undone first.

    Raises:
        ToolError: Outside ``roots``, missing, a folder, a pipe or device, or unreadable.
    """
    place = find(path, roots, resolved=resolved)
    put_right(place, private)
    descriptor = open_place(place, os.O_RDONLY)
    try:
        with plain_os_errors(place.path):
            kind = os.fstat(descriptor)
            check_regular(kind, path)
            yield OpenFile(path=place.path, descriptor=descriptor, stat=kind)
    finally:
        os.close(descriptor)


def read_bytes(
    path: Path, roots: Sequence[Path], limit_b: int, *, private: Path | None = None
) -> bytes:
    """Read the file at ``path`` beneath ``roots``; see ``opened_beneath``.

    Raises:
        ToolError: Outside ``roots``, missing, not a regular file, unreadable, or over ``limit_b``.
    """
    with opened_beneath(path, roots, private=private) as opened:
        return read_regular(opened.descriptor, path, limit_b)


def check_regular(kind: os.stat_result, path: Path) -> None:
    """Refuse anything but a regular file.

    Raises:
        ToolError: It is a folder, pipe, socket or device.
    """
    if stat.S_ISDIR(kind.st_mode):
        raise ToolError(f"{quoted(path)} is a folder")
    if not stat.S_ISREG(kind.st_mode):
        raise ToolError(f"{quoted(path)} is a pipe, socket or device, not a file")


def read_regular(descriptor: int, path: Path, limit_b: int) -> bytes:
    """Read an open file to its end.

    The size from stat is not trusted: files of /proc have size 0, and a log may grow.

    Raises:
        TooLarge: The file is over ``limit_b``.
        ToolError: It is not a regular file.
        OSError: It cannot be read.
    """
    kind = os.fstat(descriptor)
    check_regular(kind, path)
    pieces: list[bytes] = []
    size = max(kind.st_size, 0)
    if size <= limit_b:
        size = 0
        while size <= limit_b and (piece := os.read(descriptor, _PIECE_B)):
            pieces.append(piece)
            size += len(piece)
    if size > limit_b:
        raise TooLarge(
            f"{quoted(path)} is larger than the {limit_b:,} bytes that are read at once; "
            "search it with grep, or take a part of it with bash (head, tail, sed -n)"
        )
    return b"".join(pieces)


_GUARDED_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_guarded(path: Path, limit_b: int) -> bytes:
    """Read a file of our own, if only the user can have written the file and its folder.

    Owner and mode are checked on the open file, so it cannot be swapped. On Windows, which has
    neither, the folder's access list protects it.

    Raises:
        ToolError: It is a link, not a regular file, over ``limit_b``, or others can write it.
        OSError: Missing or not readable.
    """
    descriptor = os.open(path, _GUARDED_FLAGS)
    try:
        if os.name == "posix":
            _check(os.fstat(descriptor), path)
            _check(path.parent.stat(), path.parent)
        return read_regular(descriptor, path, limit_b)
    finally:
        os.close(descriptor)


def why_foreign(path: Path) -> str:
    """Explain who else may have written or replaced a file; empty if nobody could.

    Links are followed; the target and its folder count. Root is ignored, as it may write anywhere;
    so is a group that holds only the user. Always empty on Windows, which has no such owners and
    modes.
    """
    if os.name != "posix":
        return ""
    try:
        real = path.resolve(strict=True)
        return _why_foreign(real) or _why_foreign(real.parent)
    except OSError as error:
        return f"{quoted(path)} cannot be looked at ({error.strerror})"


def _why_foreign(path: Path) -> str:
    found = path.stat()
    if found.st_uid not in {os.geteuid(), 0}:
        return (
            f"{quoted(path)} belongs to another user; if it is yours, run "
            f"`sudo chown {_name_of(os.geteuid())} {quote(str(path))}`"
        )
    is_kept = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    others = found.st_mode & stat.S_IWOTH and not is_kept
    if others or (found.st_mode & stat.S_IWGRP and not is_kept and not _is_own(found.st_gid)):
        return f"others can write {quoted(path)}; run `chmod go-w {quote(str(path))}`"
    return ""


def _is_own(group: int) -> bool:
    """Tell whether a group holds the user alone; some systems give each user such a group."""
    import grp  # noqa: PLC0415 - as below
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    is_named_so = (found.gr_name, group) == (user.pw_name, user.pw_gid)
    return is_named_so and set(found.gr_mem) <= {user.pw_name}


def _name_of(user: int) -> str:
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid != os.geteuid():
        raise ToolError(f"{quoted(path)} belongs to somebody else; move it away")
    if found.st_mode & _OTHERS_WRITE:
        raise ToolError(f"others may write it; run `chmod go-w {quote(str(path))}`")
