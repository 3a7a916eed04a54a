"""What a test needs that not every system has: one marker for it, one place for the reasons."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAILURES = TESTS / "windows_failures.txt"
IS_WINDOWS = sys.platform == "win32"
NEEDS = {
    "fork": "Windows has no fork",
    "mkfifo": "Windows keeps no pipe in a folder",
    "modes": "Windows keeps no mode bits",
    "names": "Windows forbids such names of files",
    "signals": "Windows sends no signals",
    "symlinks": "Wine makes no symbolic links",
}


def posix_only(need: str) -> pytest.MarkDecorator:
    """Skip a test on Windows, because it needs something of a Unix: a key of ``NEEDS``."""
    return pytest.mark.skipif(IS_WINDOWS, reason=NEEDS[need])


def expect_failures(items: Sequence[pytest.Item]) -> None:
    """Mark the tests that are known to fail on Windows; a listed test that passes is a failure."""
    known = dict(_known_failures())
    for item in items:
        name = item.nodeid.replace("\\", "/")
        reason = known.get(name) or known.get(name.partition("[")[0])
        if reason is not None:
            hangs = reason.startswith("hangs")
            item.add_marker(pytest.mark.xfail(reason=reason, run=not hangs, strict=True))


def _known_failures() -> Iterator[tuple[str, str]]:
    """Each listed test with its reason: ``tests/a/test_b.py::test_c: reason``."""
    for line in FAILURES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            assert reason, f"a reason is missing: {line}"
            yield name, reason
