"""Delete a file of the user's that holds exactly what is expected, and keep a copy of a text.

Nothing goes for good: whoever deletes keeps a copy first, in a private folder of the user's state.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.beneath import find, parent_folder, told
from indwell.files.fresh import sync_folder
from indwell.files.one_writer import one_writer
from indwell.files.own_names import usable
from indwell.files.private import write_durable
from indwell.files.reading import read_regular

_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_NAME_CHARS = 60
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def keep_copy(private: Path | None, path: Path, data: bytes) -> Path:
    """Keep ``data``, which stood at ``path``, where nobody removes it; gives where.

    Raises:
        ToolError: There is no private folder, or it takes nothing.
    """
    folder = usable(private)
    if folder is None:
        raise ToolError(f"no copy of {str(path)!r} could be kept: the state folder is not usable")
    name = _ODD.sub("_", path.name)[:_NAME_CHARS]
    kept = folder / f"{name}-{secrets.token_hex(6)}.old"
    try:
        write_durable(kept, data)
    except OSError as error:
        raise ToolError(
            f"no copy of {str(path)!r} could be kept ({error.strerror}), so it stays"
        ) from error
    return kept


def delete_exactly(path: Path, roots: Sequence[Path], expected: bytes) -> None:
    """Delete the regular file at ``path`` beneath ``roots`` if it holds ``expected``; blocks.

    Compares right before, as writers do; the folder is flushed afterwards.

    Args:
        path: Resolved; no link may stand on the way by now.
        roots: Folders that it must lie in.
        expected: All its bytes.

    Raises:
        TextMoved: It holds something else.
        EditRefused: It is gone.
        ToolError: Outside, no regular file, or the system refuses.
    """
    place = find(path, roots, resolved=True)
    if not place.parts:
        raise ToolError(f"{str(path)!r} is a folder")
    with (
        parent_folder(place) as (folder, name),
        told(place.path),
        one_writer(folder, path),
    ):
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except FileNotFoundError as error:
            raise EditRefused(f"{str(path)!r} does not exist any more") from error
        try:
            held = os.fstat(descriptor)
            if not stat.S_ISREG(held.st_mode):
                raise ToolError(f"{str(path)!r} is no regular file, and is not deleted")
            same_size = held.st_size == len(expected)
            is_same = same_size and read_regular(descriptor, path, len(expected)) == expected
        finally:
            os.close(descriptor)
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not is_same or not os.path.samestat(held, now):
            raise TextMoved(f"{str(path)!r} holds another text by now; it was not deleted")
        os.unlink(name, dir_fd=folder)
        sync_folder(folder)
