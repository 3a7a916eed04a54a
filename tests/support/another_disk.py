"""Finds a folder on another file system than the test's folder, if the machine has one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def elsewhere(folder: Path) -> Iterator[Path]:
    """Yield a folder on another file system, to which ``os.rename`` from ``folder`` fails."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == folder.stat().st_dev:
        pytest.skip("there is no second file system")
    with tempfile.TemporaryDirectory(dir=shared) as name:
        yield Path(name)
