"""Runs 20,000 tries of ``path_race.py``, and checks that the race leaks without protection."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("path_race.py")

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no folder descriptors; docs/platforms.md"
)


@pytest.fixture(scope="module")
def path_race():
    spec = importlib.util.spec_from_file_location("path_race", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fs_04_no_race_with_a_link_leads_out_of_the_root(path_race, tmp_path: Path) -> None:
    ends = path_race.run(Path(os.path.realpath(tmp_path)), 20_000)
    assert {name for name, ended in ends.items() if ended["LEAK"]} == set()
    assert all(ended["inside"] for ended in ends.values())
    # the check after opening was necessary
    assert sum(ended["caught"] for ended in ends.values()) > 0


def test_the_path_race_makes_a_naive_realpath_and_open_leak(path_race, tmp_path: Path) -> None:
    ends = path_race.leak_naively(Path(os.path.realpath(tmp_path)), patience_s=60)
    assert ends["LEAK"]
