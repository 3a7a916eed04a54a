"""What a test needs that not every system has: one marker for it, one place for the reasons."""

from __future__ import annotations

import sys

import pytest

NEEDS = {
    "case": "Windows ignores the case of names",
    "fork": "Windows has no fork",
    "mkfifo": "Windows keeps no pipe in a folder",
    "modes": "Windows keeps no mode bits",
    "names": "Windows forbids such names of files",
    "signals": "Windows sends no signals",
    "symlinks": "Wine makes no symbolic links",
}


def posix_only(need: str) -> pytest.MarkDecorator:
    """Skip a test on Windows, because it needs something of a Unix: a key of ``NEEDS``."""
    return pytest.mark.skipif(sys.platform == "win32", reason=NEEDS[need])
