"""Determines who besides the user may read or write a file, and makes files private.

POSIX has owners and modes, and Windows has access lists. Root and Administrators are ignored,
because they have access to all files. A group that contains only the user is ignored, too.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from indwell.errors import ToolError
from indwell.files.spelling import quoted

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Ace(NamedTuple):
    """An entry of a Windows access list: kind (0 allows access), flags, access bits, account."""

    kind: int
    flags: int
    rights: int
    sid: str


# the access bits for reading data, for all reading, and for full access
READ = 0x1 | 0x80000000 | 0x10000000
WRITE = 0x2 | 0x4 | 0x40 | 0x10000 | 0x40000 | 0x80000 | 0x40000000 | 0x10000000
"""The access bits that let an account change or replace a file, or change its access list."""

# the kinds of entries that allow access: plain, for an object, with a condition, both
_ALLOWS = frozenset({0, 5, 9, 11})
_INHERIT_ONLY = 0x8
_INHERITED = 0x10
SYSTEM = "S-1-5-18"
_TRUSTED = frozenset(
    {
        SYSTEM,
        "S-1-5-32-544",  # the account of Administrators
        "S-1-3-4",  # the owner, who is examined separately
        # the account of TrustedInstaller
        "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
    }
)
EVERYONE = "S-1-1-0"
_AUTHENTICATED = "S-1-5-11"  # the group of all accounts with a password


def others_among(aces: Iterable[Ace] | None, user: str, rights: int) -> tuple[str, ...]:
    """Return the accounts, except ``user`` and the system, that have one of ``rights``.

    Entries that deny access are ignored, so a denied account still counts. Without a list (None),
    everyone has full access.
    """
    if aces is None:
        return (EVERYONE,)
    found = (
        one.sid
        for one in aces
        if one.kind in _ALLOWS and not one.flags & _INHERIT_ONLY and one.rights & rights
    )
    return tuple(dict.fromkeys(sid for sid in found if sid != user and sid not in _TRUSTED))


def without_default(aces: Sequence[Ace] | None) -> Sequence[Ace] | None:
    """Leave out entries inherited from a drive where all accounts may create folders."""
    if aces is None:
        return None
    return [one for one in aces if not (one.sid == _AUTHENTICATED and one.flags & _INHERITED)]


def writers_of(aces: Sequence[Ace] | None, user: str, *, is_project: bool) -> tuple[str, ...]:
    """Return the other accounts that may write; ignore the drive's defaults for a project.

    Trust in a project is bound to the content of its files. Files of Indwell and of the user can
    extend permissions, so every account that may write to them counts.
    """
    return others_among(without_default(aces) if is_project else aces, user, WRITE)


def why_foreign(path: Path, *, is_project: bool = True) -> str:
    """Explain which other accounts may write or replace a file; the text is empty if none may.

    Links are followed, and the target and its folder are examined, too.

    Args:
        path: The file.
        is_project: Whether the file belongs to a project; see ``writers_of``.
    """
    why = why_planted if is_project else why_writable
    try:
        real = path.resolve(strict=True)
        return why(real) or why(real.parent)
    except OSError as error:
        return f"{quoted(path)} cannot be examined ({error.strerror})"


if sys.platform == "win32":
    from indwell.files.system import windows

    def why_writable(path: Path) -> str:
        """Explain which other accounts may write to a path; the text is empty if none may.

        Raises:
            OSError: The access list cannot be read.
        """
        return _why_writable(path, is_project=False)

    def why_planted(path: Path) -> str:
        """Explain which other accounts may write to a project's file or folder, or return no text.

        On Windows, every account with a password may write to new folders outside the user's own.
        Inherited access is therefore ignored, because trust in the project depends on its content.
        """
        return _why_writable(path, is_project=True)

    def _why_writable(path: Path, *, is_project: bool) -> str:
        owner, aces = _list_of(path)
        user = windows.user_sid()
        if owner != user and owner not in _TRUSTED:
            return f"{quoted(path)} belongs to another user ({_names((owner,))})"
        others = writers_of(aces, user, is_project=is_project)
        if not others:
            return ""
        return f"{_names(others)} can write {quoted(path)}; run `{how_to_close(path)}`"

    def why_readable(path: Path) -> str:
        """Explain which other accounts may read a file; the text is empty if none may."""
        others = others_among(_list_of(path)[1], windows.user_sid(), READ)
        return f"others on this machine may read it ({_names(others)})" if others else ""

    def how_to_close(path: Path) -> str:
        """Return the command that removes all access except the owner's from a file or folder."""
        rights = "(OI)(CI)F" if path.is_dir() else "F"
        grants = (f'/grant:r "*{one}:{rights}"' for one in (windows.user_sid(), SYSTEM))
        return f'icacls "{path}" /inheritance:r {" ".join(grants)}'

    def check_guarded(descriptor: int, path: Path) -> None:
        """Check that only the user can write to an open file of Indwell and to its folder.

        Raises:
            ToolError: Other accounts can write to the file or its folder.
        """
        real = Path(windows.final_path(descriptor))
        if why := why_writable(real) or why_writable(real.parent):
            raise ToolError(f"{quoted(path)} may not be the user's own: {why}")

    def is_alone(path: Path) -> bool:
        """Return whether only the user may write to a folder of Indwell."""
        return not why_writable(path)

    def is_users(found: os.stat_result) -> bool:
        """Return True, because a secret or private name shows that the user wrote the file."""
        return stat.S_ISREG(found.st_mode)

    def same_readers(fresh: int, name: str, folder: int) -> bool:
        """Return whether the same accounts may read a new file and the file ``name`` beside it."""
        at = Path(windows.final_path(folder))
        new, old = _list_of(Path(windows.final_path(fresh))), _list_of(at / name)
        return _rights_in(new[1]) == _rights_in(old[1])

    def _rights_in(aces: tuple[Ace, ...] | None) -> list[tuple[int, int, str]] | None:
        return None if aces is None else [(one.kind, one.rights, one.sid) for one in aces]

    def _list_of(path: Path) -> tuple[str, tuple[Ace, ...] | None]:
        import pywintypes  # noqa: PLC0415 - as above
        import win32security as api  # noqa: PLC0415 - as above

        what = api.OWNER_SECURITY_INFORMATION | api.DACL_SECURITY_INFORMATION
        try:
            found = api.GetNamedSecurityInfo(str(path), api.SE_FILE_OBJECT, what)
        except pywintypes.error as error:
            raise OSError(None, error.strerror, str(path), error.winerror) from error
        owner = str(api.ConvertSidToStringSid(found.GetSecurityDescriptorOwner()))
        given = found.GetSecurityDescriptorDacl()
        if given is None:
            return owner, None
        rows = [given.GetAce(number) for number in range(given.GetAceCount())]
        text = api.ConvertSidToStringSid
        return owner, tuple(Ace(row[0][0], row[0][1], row[1], text(row[-1])) for row in rows)

    def _names(sids: Sequence[str]) -> str:
        import pywintypes  # noqa: PLC0415 - as above
        import win32security as api  # noqa: PLC0415 - as above

        found = []
        for sid in sids:
            try:
                name, domain, _ = api.LookupAccountSid(None, api.ConvertStringSidToSid(sid))
            except pywintypes.error:  # the account no longer exists
                found.append(sid)
            else:
                found.append(f"{domain}\\{name}" if domain else name)
        return ", ".join(found)

else:

    def why_writable(path: Path) -> str:
        """Explain which other accounts may write to a path; the text is empty if none may.

        Raises:
            OSError: The file or its folder cannot be examined.
        """
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

    why_planted = why_writable

    def why_readable(path: Path) -> str:
        """Explain which other accounts may read or use a file; the text is empty if none may."""
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & (stat.S_IRWXG | stat.S_IRWXO):
            return ""
        return f"others on this machine may read it (mode {mode:o})"

    def how_to_close(path: Path) -> str:
        """Return the command that removes all access except the owner's from a file."""
        return f"chmod 600 {path}"

    def is_alone(path: Path) -> bool:
        """Return whether only the user may write to a folder of Indwell."""
        kind = path.lstat()
        return stat.S_ISDIR(kind.st_mode) and not kind.st_mode & _OTHERS_WRITE and is_users(kind)

    def is_users(found: os.stat_result) -> bool:
        """Return whether a file belongs to the user."""
        return found.st_uid == os.geteuid()

    def check_guarded(descriptor: int, path: Path) -> None:
        """Check that only the user can write to an open file of Indwell and to its folder.

        Raises:
            ToolError: Other accounts can write to the file or its folder.
        """
        for found, at in ((os.fstat(descriptor), path), (path.parent.stat(), path.parent)):
            if not is_users(found):
                raise ToolError(f"{quoted(at)} belongs to somebody else; move it away")
            if found.st_mode & _OTHERS_WRITE:
                raise ToolError(f"others may write it; run `chmod go-w {quote(str(at))}`")

    def same_readers(fresh: int, name: str, folder: int) -> bool:
        """Return True, because the mode and access list of the old file are copied later."""
        del fresh, name, folder
        return True

    def _is_own(group: int) -> bool:
        """Return whether a group contains only the user, as some systems' default groups do."""
        import grp  # noqa: PLC0415 - as below
        import pwd  # noqa: PLC0415 - rarely needed

        try:
            user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        except KeyError:
            return False
        is_named_so = (found.gr_name, group) == (user.pw_name, user.pw_gid)
        return is_named_so and set(found.gr_mem) <= {user.pw_name}

    def _name_of(user: int) -> str:
        import pwd  # noqa: PLC0415 - as above

        try:
            return pwd.getpwuid(user).pw_name
        except KeyError:
            return str(user)
