"""A mark of all files beneath a folder: another one says that something was changed there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PASSED_BY = frozenset({"node_modules", "target", "__pycache__", "venv", "dist", "build"})
"""Folders of what others made; with all whose names begin with a dot."""

OF_EDITORS = (".swp", ".swo", "~", ".DS_Store")
"""Ends of names of files that come and go while somebody types."""

MOST_FILES = 20_000  # 60 ms
COARSE_NS = 20_000_000  # a kernel's clock of files lags behind by a tick or two


def mark_of(folder: Path, most: int = MOST_FILES) -> str:
    """The mark, by names, sizes and times of change; empty if there is too much to look at.

    Blocks. Follows no link, and does not look into ``PASSED_BY``.
    """
    hashed = hashlib.blake2b(digest_size=16)
    n_files = 0
    todo = [str(folder)]
    while todo:
        here = todo.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(entries, key=lambda one: one.name)
        except OSError:
            hashed.update(b"?")
            continue
        for one in listed:
            if one.name in PASSED_BY or one.name.endswith(OF_EDITORS):
                continue
            try:
                if one.is_dir(follow_symlinks=False):
                    if not one.name.startswith("."):
                        todo.append(one.path)
                    continue
                found = one.stat(follow_symlinks=False)
            except OSError:
                continue
            n_files += 1
            if n_files > most:
                return ""
            row = f"{one.path}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\n"
            hashed.update(row.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def changed_since(path: Path, when_ns: int) -> bool:
    """Was a file changed since then, by the clock of its disk? Also if it cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return True
    return max(found.st_mtime_ns, found.st_ctime_ns) > when_ns - COARSE_NS


def file_mark(path: Path) -> tuple[int, ...] | None:
    """What the system tells of a file, another after each write; None if it tells nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev
