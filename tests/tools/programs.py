"""Which programs run in a folder, as the system sees it (Linux)."""

from __future__ import annotations

import contextlib
from pathlib import Path


def programs(folder: Path) -> list[str]:
    """Programs that run in a folder, except those that have ended."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append(process.name)
    return found
