"""The map of the house is the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_code_map_says_the_first_line_of_every_module() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "code_map.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_imports_point_down_and_the_core_is_pure() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout
