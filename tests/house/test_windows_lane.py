"""Tests that the Windows lane's list of failures only becomes shorter, and names real tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.platforms import NEEDS
from support.windows_lane import known_failures

ROOT = Path(__file__).resolve().parents[2]
MOST_FAILURES = 12  # lower this number with the list, never raise it


def test_the_list_of_failures_on_windows_only_becomes_shorter() -> None:
    assert len(list(known_failures())) <= MOST_FAILURES


def test_each_listed_failure_is_a_test_that_exists() -> None:
    missing = []
    for number, name, _ in known_failures():
        file, _, test = name.partition("::")
        path = ROOT / file
        tree = ast.parse(path.read_text("utf-8") if path.exists() else "")
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = {one.name for one in ast.walk(tree) if isinstance(one, functions)}
        if test.partition("[")[0] not in found:
            missing.append(f"line {number}: {name}")
    assert missing == []


def test_every_folder_and_file_that_the_lane_names_exists() -> None:
    script = (ROOT / "scripts" / "test-windows").read_text("utf-8")
    named = dict(re.findall(r'^(whole|some|single|slow)="([^"]*)"', script, re.MULTILINE))
    assert list(named) == ["whole", "some", "single", "slow"]
    paths = " ".join(named.values()).split()
    assert [one for one in paths if not (ROOT / "tests" / one).exists()] == []


def test_every_reason_for_a_skip_is_used() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    used = {
        need
        for file in files
        for need in re.findall(r'posix_only\(\s*"(\w+)"', file.read_text("utf-8"))
    }
    assert used == NEEDS.keys()
