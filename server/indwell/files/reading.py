"""Reads a regular file: whole, up to a limit, or only if no one else can write it.

``guarded`` reading is for answers that widen what is allowed. Everything here blocks.
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
from indwell.files.beneath import find, open_place, told
from indwell.files.in_place import put_right

_PIECE_B = 1 << 20


class OpenFile(msgspec.Struct, frozen=True):
    """A regular file that is open for reading.

    Attributes:
        path: Its resolved path.
        descriptor: At its beginning; closed for you at the end of the block.
        stat: What the system tells of it, taken from the descriptor.
    """

    path: Path
    descriptor: int
    stat: os.stat_result


@contextlib.contextmanager
def opened_beneath(
    path: Path, roots: Sequence[Path], *, resolved: bool = False, private: Path | None = None
) -> Iterator[OpenFile]:
    """Hold the regular file at ``path`` beneath ``roots`` open, for ``os.read`` and ``os.pread``.

    For what is too long to be read at once. An ``OSError`` of the block becomes a ToolError about
    ``path``. ``resolved`` says that no link may stand on the way by now.
    With a ``private`` folder, a write of the file that a dead process left half-way is undone.

    Raises:
        ToolError: Outside, missing, a folder, a pipe or device, or unreadable.
    """
    place = find(path, roots, resolved=resolved)
    put_right(place, private)
    descriptor = open_place(place, os.O_RDONLY)
    try:
        with told(place.path):
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
        ToolError: Outside, missing, a folder, a pipe or device, unreadable, or over ``limit_b``.
    """
    with opened_beneath(path, roots, private=private) as opened:
        return read_regular(opened.descriptor, path, limit_b)


def check_regular(kind: os.stat_result, path: Path) -> None:
    """Refuse what has no bytes of its own.

    Raises:
        ToolError: A folder, pipe, socket or device.
    """
    if stat.S_ISDIR(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a folder")
    if not stat.S_ISREG(kind.st_mode):
        raise ToolError(f"{str(path)!r} is a pipe, socket or device, not a file")


def read_regular(descriptor: int, path: Path, limit_b: int) -> bytes:
    """Read an open file to its end.

    The size that the system tells is not believed: files of /proc say 0, and a log may grow.

    Raises:
        TooLarge: It is over ``limit_b``.
        ToolError: It is no regular file.
        OSError: The system cannot read it.
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
            f"{str(path)!r} is larger than the {limit_b:,} bytes that are read at once; "
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
    """Read a file of our own that only the user can have written, in a folder of the same kind.

    Owner and mode are those of the open file, so nothing can be put in its place meanwhile. Windows
    has neither; there the folder's own access list is the guard.

    Raises:
        ToolError: It is a link, no regular file, over ``limit_b``, or others can write it.
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
    """Why somebody else may have written a file, or put another in its place; empty if not.

    Links are followed: what counts is the file itself, and the folder that it lies in. Root may
    write anywhere anyway, and the group that is the user's alone holds nobody else. Windows has
    neither owners nor modes that would tell.
    """
    if os.name != "posix":
        return ""
    try:
        real = path.resolve(strict=True)
        return _why_foreign(real) or _why_foreign(real.parent)
    except OSError as error:
        return f"{str(path)!r} cannot be looked at ({error.strerror})"


def _why_foreign(path: Path) -> str:
    found = path.stat()
    if found.st_uid not in {os.geteuid(), 0}:
        return (
            f"{str(path)!r} belongs to another user; if it is yours, run "
            f"`sudo chown {_name_of(os.geteuid())} {quote(str(path))}`"
        )
    is_kept = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    others = found.st_mode & stat.S_IWOTH and not is_kept
    if others or (found.st_mode & stat.S_IWGRP and not is_kept and not _is_own(found.st_gid)):
        return f"others can write {str(path)!r}; run `chmod go-w {quote(str(path))}`"
    return ""


def _is_own(group: int) -> bool:
    """Is it the group of the user alone, which some systems give each user?"""
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
        raise ToolError(f"{str(path)!r} belongs to somebody else; move it away")
    if found.st_mode & _OTHERS_WRITE:
        raise ToolError(f"others may write it; run `chmod go-w {quote(str(path))}`")
