"""Files of our own that an editor shows: nobody writes them again, and only the newest stay.

Everything here blocks. An ``OSError`` travels: the floor above knows what the file was for.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.own_names import random_name
from indwell.files.private import write_private

MODE = 0o444  # an editor that opens it says that it is read-only


def write_shown(path: Path, data: bytes, *, n_kept: int) -> Path:
    """Make ``path`` hold ``data``, for reading only; gives ``path``.

    It is whole at every moment. Of the files in its folder, which is for such files alone and is
    made if it is missing (0700), the newest ``n_kept`` stay.

    Raises:
        OSError: The system refuses.
    """
    make_private_folder(path.parent)
    half = path.with_name(random_name())
    try:
        write_private(half, data)
        if os.name == "nt" and path.exists():
            path.chmod(0o600)  # Windows replaces no read-only file
        half.chmod(MODE)
        half.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise
    _sweep(path, n_kept)
    return path


def _sweep(newest: Path, n_kept: int) -> None:
    found: list[tuple[int, Path]] = []
    for one in newest.parent.iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            if one != newest:
                found.append((one.lstat().st_mtime_ns, one))
    found.sort(reverse=True)
    for _, old in found[max(n_kept - 1, 0) :]:
        with contextlib.suppress(OSError):  # another process does the same
            if os.name == "nt":
                old.chmod(0o600)
            old.unlink()
