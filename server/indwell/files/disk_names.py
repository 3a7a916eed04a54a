"""Finds the spelling of names on disks that ignore case or accents' forms. Blocks.

The rest of the program compares paths exactly, so each path gets the disk's own names when it
enters the program. Otherwise, an open document or a file that the model has read would not be
recognised. Each folder is tested, because the platform does not determine whether a folder ignores
case.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from indwell.files.spelling import HERE, folded, long_form, slashed
from indwell.lazy_pattern import lazy_pattern

_MOST_ASKED = 64  # the limit of a folder's entries that are tried until a name has a letter
_MOST_LINKS = 63  # the limit of links on one path (ntifs.h)
_VOLUME = lazy_pattern(r"//\?/(?:volume\{[0-9a-f-]+\}|[a-z]:)(?:/|\Z)", re.IGNORECASE)


def folds_case(folder: str) -> bool:
    """Return whether a folder ignores the case of names, which is tested once.

    An empty folder, or a folder whose names have no letters, is tested with its own name.
    """
    if HERE == "win32":
        return True
    try:
        return _folds_case(folder)
    except OSError:  # the folder is missing or cannot be listed, so no spelling is known
        return False


@lru_cache(maxsize=4096)
def _folds_case(folder: str) -> bool:
    with os.scandir(folder) as found:
        names = [one.name for one in islice(found, _MOST_ASKED)]
    answers = (_folds(folder, name) for name in names)
    answer = next((one for one in answers if one is not None), None)
    if answer is None:
        above, name = os.path.split(folder)
        answer = _folds(above, name) if name else False
    return bool(answer)


def _folds(folder: str, name: str) -> bool | None:
    """Return whether the disk finds a name in another case, or None if the name has no letters."""
    other = name.swapcase()
    if other == name or len(other) != len(name):
        return None
    try:
        is_same = _is_same(f"{folder}/{name}", f"{folder}/{other}")
    except FileNotFoundError:
        return False
    if not is_same:
        return False
    return None if other in _listed(folder) else True  # the two names are hard links


def _listed(folder: str) -> list[str]:
    with os.scandir(folder) as found:
        return [one.name for one in found]


def _is_same(one: str, other: str) -> bool:
    return os.path.samestat(os.lstat(one), os.lstat(other))


def as_on_disk(folder: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the disk's spelling of ``names`` below a folder; missing names stay as written."""
    found: list[str] = []
    for at, name in enumerate(names):
        own = _own_name(folder, name)
        if own is None:
            return (*found, *names[at:])
        found.append(own)
        folder = f"{folder.rstrip('/')}/{own}"
    return tuple(found)


def _own_name(folder: str, name: str) -> str | None:
    """Return the name of an entry from its folder's listing, or None if the entry is missing."""
    try:
        os.lstat(f"{folder}/{name}")
        listed = _listed(folder)
    except OSError:
        return None
    if name in listed:
        return name
    wanted = folded(name)
    similar = (one for one in listed if folded(one) == wanted)
    return next((one for one in similar if _is_same(f"{folder}/{one}", f"{folder}/{name}")), name)


class OtherShare(OSError):
    """A path leads to a network share that the user did not choose.

    Args:
        share: The share, such as ``//host/share``.
    """

    def __init__(self, share: str) -> None:
        super().__init__(errno.EACCES, f"leads to the network share {share!r}")
        self.share = share


def real_path(path: str | os.PathLike[str]) -> str:
    """Return an absolute path without links; on Windows, paths may exceed 260 characters."""
    return slashed(os.path.realpath(long_form(os.fspath(path))))


def real_path_here(path: str | os.PathLike[str], near: Iterable[os.PathLike[str]]) -> str:
    """Return an absolute path without links, for a path that a repository may contain.

    Args:
        path: An absolute path.
        near: Folders that the user chose, such as the workspace's, whose shares are allowed.

    Raises:
        OtherShare: The path leads to another network share, which was not accessed (Windows).
    """
    if HERE == "win32" and (share := _share_behind(path, near)):
        raise OtherShare(share)
    return real_path(path)


def resolved_here(path: Path, near: Iterable[Path], *, strict: bool = False) -> Path:
    """Return the same as ``Path.resolve``, with the check of ``real_path_here``.

    Raises:
        OtherShare: See ``real_path_here``.
        OSError, RuntimeError: See ``Path.resolve``.
    """
    if leads_abroad(path, near):
        raise OtherShare(_share_behind(path, near))
    return path.resolve(strict=strict)


def leads_abroad(path: str | os.PathLike[str], near: Iterable[os.PathLike[str]]) -> bool:
    """Return whether a path leads to another network share, without following a link."""
    return HERE == "win32" and bool(_share_behind(path, near))


def _share_behind(path: str | os.PathLike[str], near: Iterable[os.PathLike[str]]) -> str:
    # The method `Path.resolve` would follow links.
    return share_behind(os.path.abspath(path), map(os.fspath, near), link_target)  # noqa: PTH100


def share_behind(path: str, near: Iterable[str], target_of: Callable[[str], str | None]) -> str:
    r"""Return the share to which a Windows path and its links lead, such as ``//host/share``.

    Windows sends the hash of the user's password to a share's host when a link to the share is
    followed. The function therefore only reads each link, and judges the target by its text.

    Args:
        path: An absolute path.
        near: Paths whose shares are allowed.
        target_of: Returns the target of a link, or None for any other file.

    Returns:
        The first share that is not allowed, or empty if there is none.
    """
    start, waiting = _anchored(path)
    allowed = {"", *map(_share_of, near)}
    if (share := _share_of(path)) not in allowed:
        return share
    at: list[str] = []
    n_links = 0
    while waiting:
        name = waiting.pop(0)
        if name == "..":
            at = at[:-1]
            continue
        target = target_of("/".join((start.rstrip("/"), *at, name)))
        if target is None:
            at.append(name)
            continue
        n_links += 1
        if n_links > _MOST_LINKS:
            return ""  # Windows also stops following links at this point
        if target.startswith("\\??\\"):  # the kernel writes ``\\?\`` in this form
            target = f"\\\\?\\{target[4:]}"
        plain = slashed(target, "win32")
        if not _VOLUME.match(plain) and (share := _share_of(plain)) not in allowed:
            return share
        new, names = _anchored(plain)
        if new:
            start, at = new if new != "/" else start, []
        waiting = [*names, *waiting]
    return ""


def link_target(path: str) -> str | None:
    """Return the target of a symbolic link or junction, or None for any other file."""
    try:
        return os.readlink(path)  # noqa: PTH115 - a text with all of its prefix
    except (OSError, ValueError):  # a ValueError means another reparse point, such as a cloud file
        return None


def _anchored(path: str) -> tuple[str, list[str]]:
    """Split a Windows path into its drive or share (``/`` for the same drive) and its names."""
    plain = slashed(path, "win32")
    share = _share_of(plain)
    if share:
        start, rest = f"{share}/", "/".join([one for one in plain.split("/") if one][2:])
    elif plain[1:2] == ":":
        start, rest = f"{plain[:2]}/", plain[2:]
    else:
        start, rest = plain[:1] if plain.startswith("/") else "", plain
    return start, [one for one in rest.split("/") if one not in {"", "."}]


def _share_of(path: str) -> str:
    """Return the share of a path in lower case, or an empty text for a path on a drive."""
    plain = slashed(path, "win32").lower()
    return (
        "//" + "/".join([one for one in plain.split("/") if one][:2]) if plain[:2] == "//" else ""
    )


def true_path(path: str) -> str:
    """Return an absolute path without links, in the disk's spelling."""
    real = real_path(path)
    if HERE == "win32" or not folds_case(os.path.split(real)[0]):
        return real  # Windows' own call already returns the disk's spelling
    return "/" + "/".join(as_on_disk("/", real.strip("/").split("/")))


def is_same_folder(one: str, other: str) -> bool:
    """Return whether two paths that differ only in spelling lead to the same folder."""
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
