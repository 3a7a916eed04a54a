"""The short form of ``tests/faults/sandbox_escapes.py``, in 4 s."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.bubblewrap import needs_bubblewrap

pytestmark = needs_bubblewrap

PROGRAM = Path(__file__).resolve().parents[1] / "faults" / "sandbox_escapes.py"
NOBODY = "65534"
OFF_X86 = {"the second table of system calls (x32)"}  # hardly any kernel has this table


def came_of(*arguments: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--json", *arguments],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("user", ["0", NOBODY])
def test_sbx_01_02_03_04_05_06_09_10_12_13_14_nothing_gets_out_as_root_or_an_ordinary_user(
    user: str,
) -> None:
    if os.geteuid() and user != "0":
        pytest.skip("only root can become another user; this one is ordinary already")
    found = came_of(user)
    assert {title: one for title, one in found.items() if not one.startswith("refused")} == {}
    assert len(found) > 130


def test_the_same_attempts_succeed_without_a_sandbox() -> None:
    if os.geteuid():
        pytest.skip("an ordinary user may not do all of it anyway")
    found = came_of("--free")
    assert {title for title, one in found.items() if one.startswith("refused")} <= OFF_X86
    assert len(found) > 20
