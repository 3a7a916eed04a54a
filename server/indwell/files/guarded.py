"""Reading what nobody but the user may have written: answers that widen what is allowed.

Everything here blocks for the time of one small file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from indwell.errors import ToolError
from indwell.files.reading import read_regular

_FLAGS = (
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
    descriptor = os.open(path, _FLAGS)
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
