"""Put a file back as it was, bytes and mode, where nothing stands any more. Blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from indwell.files.atomic import write_atomic
from indwell.files.beneath import locate, open_place, told
from indwell.files.dress import set_mode

ANY_MODE = 0


def put_back(
    path: Path,
    data: bytes,
    roots: Sequence[Path],
    *,
    mode: int = ANY_MODE,
    expected: bytes | None = None,
    private: Path | None = None,
) -> Path:
    """Let ``path`` hold ``data`` again; gives its resolved path.

    Args:
        path: Where it stood.
        data: What it held.
        roots: Folders that it must lie in.
        mode: Permissions that it had; ``ANY_MODE`` for those of a new file.
        expected: What stands there now; None if nothing does.
        private: See ``write_atomic``.

    Raises:
        TextMoved: Something else stands there.
        EditRefused: Something stands there, or nothing does any more.
        ToolError: Outside, or the system refuses.
    """
    place = write_atomic(
        path,
        data,
        roots,
        parents=expected is None,
        create=expected is None,
        expected=expected,
        resolved=True,
        private=private,
    )
    if mode != ANY_MODE:
        with told(place):
            descriptor = open_place(locate(place, roots), os.O_RDONLY)
            try:
                set_mode(descriptor, stat.S_IMODE(mode))  # the bytes are back where it is refused
            finally:
                os.close(descriptor)
    return place
