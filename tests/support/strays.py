"""Finds processes that a test run left, by the folders in their environment (Linux)."""

from __future__ import annotations

import os
from pathlib import Path


def strays(folder: Path) -> dict[int, str]:
    """Return all other running processes that have ``folder`` in their environment."""
    mark, found = os.fsencode(folder) + b"/", {}
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        try:
            if mark in (process / "environ").read_bytes():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = words.decode(errors="replace").strip()
        except OSError:
            continue  # The process has ended, or belongs to another user.
    # A zombie process has no command line.
    return {pid: words for pid, words in found.items() if words}
