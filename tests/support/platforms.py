"""Marks tests that not every system can run, with one reason for each requirement."""

from __future__ import annotations

import sys

import pytest

NEEDS = {
    "bytes": "Windows has no names that are bytes",
    "case": "Windows ignores the case of names",
    "descriptors": "Windows opens no folder as a file",
    "diff": "Windows has no program `diff`",
    "escapes": "a backslash separates folders on Windows, and escapes nothing",
    "folders": "Windows has no /etc and no /dev",
    "git": "git for Windows is in no registry that the lane may use",
    "homes": "Windows takes ~name for a folder beside the user's home, whoever has the name",
    "listings": "Python's audit events do not tell of a list of a folder that Windows itself makes",
    "kernel": "it asks the kernel of a Unix (/proc, /dev, memfd, resource limits)",
    "mkfifo": "Windows keeps no pipe in a folder",
    "modes": "Windows keeps no mode bits",
    "names": "Windows forbids such names of files",
    "open": "Windows neither moves nor removes a file that our log has open",
    "openssl": "Windows has no program `openssl`",
    "owners": "Windows has no user numbers",
    "shell": "the lane's bash lacks programs of a Unix (grep, kill, rm, sed, true)",
    "signals": "Windows sends no signals",
    "slow": "Wine takes too long for it",
    "symlinks": "Wine makes no symbolic links",
}


def posix_only(need: str) -> pytest.MarkDecorator:
    """Skip a test on Windows because the test needs a feature of Unix: a key of ``NEEDS``."""
    return pytest.mark.skipif(sys.platform == "win32", reason=NEEDS[need])
