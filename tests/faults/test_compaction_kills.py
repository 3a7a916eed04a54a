"""Kills in the middle of a compaction: the short form of ``compaction_kills.py``."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
N_KILLS = 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forks")
def test_a_kill_during_a_compaction_leaves_the_old_or_the_new_state() -> None:
    # In a separate process, since a fork of a process with threads cannot work safely.
    program = ROOT / "tests" / "faults" / "compaction_kills.py"
    ended = subprocess.run(
        [sys.executable, str(program), str(N_KILLS), str(random.SystemRandom().randrange(10**6))],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'server'}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f"{N_KILLS} during a compaction" in ended.stdout
