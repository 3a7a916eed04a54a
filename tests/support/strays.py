"""Processes that a test run has left behind: known by the folders that it gave them (Linux)."""

from __future__ import annotations

import os
from pathlib import Path


def strays(folder: Path) -> dict[int, str]:
    """Living processes, other than this one, that have ``folder`` in their environment."""
    mark, found = os.fsencode(folder) + b"/", {}
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        try:
            if mark in (process / "environ").read_bytes():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = words.decode(errors="replace").strip()
        except OSError:
            continue  # ended while we looked, or somebody else's
    return {pid: words for pid, words in found.items() if words}  # a zombie has none
