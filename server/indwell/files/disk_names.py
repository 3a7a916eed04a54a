"""The spelling of names on a disk that ignores case or the form of accents. Blocks.

The rest of the program compares paths without such rules. So a path that was written in another
case gets the disk's own names once, where it comes in: else an open document, or a file that the
model has read, would not be recognised. Whether names fold is asked of each folder, not of the
platform.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from indwell.files.spelling import HERE, folded, long_form, slashed

_MOST_ASKED = 64  # entries of a folder that are tried until one has a letter


def folds_case(folder: str) -> bool:
    """Does a folder take a name in another case for the same? Asked once, without writing.

    An empty folder, or one without letters in its names, is judged by its own name.
    """
    if HERE == "win32":
        return True
    try:
        return _folds_case(folder)
    except OSError:  # missing, or not listable: then nothing can be spelled as on disk either
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
    """Does the disk find an existing name in another case? None if the name has no letters."""
    other = name.swapcase()
    if other == name or len(other) != len(name):
        return None
    try:
        is_same = _is_same(f"{folder}/{name}", f"{folder}/{other}")
    except FileNotFoundError:
        return False
    if not is_same:
        return False
    return None if other in _listed(folder) else True  # two hard links


def _listed(folder: str) -> list[str]:
    with os.scandir(folder) as found:
        return [one.name for one in found]


def _is_same(one: str, other: str) -> bool:
    return os.path.samestat(os.lstat(one), os.lstat(other))


def as_on_disk(folder: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the disk's own spelling of ``names`` below a folder; missing ones as written."""
    found: list[str] = []
    for at, name in enumerate(names):
        own = _own_name(folder, name)
        if own is None:
            return (*found, *names[at:])
        found.append(own)
        folder = f"{folder.rstrip('/')}/{own}"
    return tuple(found)


def _own_name(folder: str, name: str) -> str | None:
    """Return the name of an entry from its folder's listing; None if missing."""
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


def real_path(path: str | os.PathLike[str]) -> str:
    """Return an absolute path without links; on Windows also one of more than 260 characters."""
    return slashed(os.path.realpath(long_form(os.fspath(path))))


def true_path(path: str) -> str:
    """Return an absolute path without links, in the disk's spelling."""
    real = real_path(path)
    if HERE == "win32" or not folds_case(os.path.split(real)[0]):
        return real  # Windows' own call already spells names as the disk does
    return "/" + "/".join(as_on_disk("/", real.strip("/").split("/")))


def is_same_folder(one: str, other: str) -> bool:
    """Do two paths, equal except for their spelling, lead to one folder?"""
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
