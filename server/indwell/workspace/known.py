"""How a file is known again: by its content, or by where it leads and when it was changed.

Blocks: call it in a thread where it may.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from indwell.errors import TooLarge, ToolError
from indwell.files import exists, read_bytes
from indwell.settings.trusted_files import Seen, digest_of, seen
from indwell.workspace.obeyed import Executable, Kind

SHOWN_B = 64 * 1024  # a longer text is known only as a whole, …
SHOWN_LINES = 1_000  # … and so is one of more lines
READ_B = 256 << 10  # a longer file is known by its times


def known_file(
    root: Path, path: Path, kind: Kind, within: Sequence[Path] = ()
) -> Executable | None:
    """What stands at ``path``; None if nothing does, or a folder.

    Args:
        root: What names begin at.
        path: As something opens it.
        kind: What it is.
        within: Folders that it may lead to and is still read; ``root`` if none are given.
    """
    if not exists(path):
        return None
    name = name_in(root, path)
    try:
        data = read_bytes(path, within or [root], READ_B)
    except TooLarge:
        return Executable(name, kind, by_its_times(path))
    except ToolError:
        return None if path.is_dir() else Executable(name, kind, elsewhere(path))
    lines = () if _may_hold_keys(path) else _lines(data)
    return Executable(name, kind, seen(data, lines=lines), lines)


def by_its_times(path: Path) -> Seen:
    """A file that is not read: known by what the system notes of each change, and where it is."""
    real = os.path.realpath(path)
    try:
        found = path.stat()
    except OSError:
        return elsewhere(path)
    facts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return Seen(digest_of(repr((real, facts)).encode("utf-8", "surrogatepass")))


def elsewhere(path: Path) -> Seen:
    """A link that leads out of the folder, or what cannot be read: known by where it leads."""
    return Seen(digest_of(b"leads to \0" + os.fsencode(os.path.realpath(path))))


def name_in(root: Path, path: Path) -> str:
    """Relative to ``root``, or absolute where it lies outside."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _lines(data: bytes) -> tuple[str, ...]:
    if len(data) > SHOWN_B or b"\0" in data:
        return ()
    lines = tuple(data.decode("utf-8", "replace").splitlines())
    return lines if len(lines) <= SHOWN_LINES else ()


def _may_hold_keys(path: Path) -> bool:
    return path.name.startswith((".env", ".npmrc", ".yarnrc"))
