"""Kills, crashes and failing disks: short versions of ``tests/faults/session_*.py``."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "tests" / "faults"
sys.path.insert(0, str(FAULTS))

import session_crash_states  # noqa: E402 -- a program beside the tests
import session_faults  # noqa: E402

N_KILLS = 30
N_STATES = 500


@pytest.fixture
def strace() -> None:
    """Skip the test without strace, which records and breaks system calls."""
    if shutil.which("strace") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("strace is missing; install it (apt-get install strace)")
        pytest.skip("strace is not installed")


def seed() -> int:
    return random.SystemRandom().randrange(10**6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forks")
def test_per_01_and_per_02_a_kill_at_any_moment_loses_no_acknowledged_record() -> None:
    # Use a separate process, because forking a process with threads is not safe.
    ended = subprocess.run(
        [sys.executable, str(FAULTS / "session_kills.py"), str(N_KILLS), str(seed())],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'server'}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(f"{N_KILLS} kills") == 2


def test_per_03_every_disk_state_after_a_power_loss_opens_with_all_acknowledged_records(
    strace,
) -> None:
    assert session_crash_states.run(N_STATES, seed()) > 50


def test_per_03_the_simulation_detects_a_store_without_flush(strace) -> None:
    with pytest.raises(AssertionError, match="acknowledged, found"):
        session_crash_states.run(100, 1, flushes=False)


def test_per_04_any_failed_system_call_is_reported_and_loses_no_record(strace) -> None:
    failed = session_faults.every_fault({"write": ("ENOSPC",), "mkdir": ("EDQUOT",)}, most=2)
    assert failed == {"write": 4, "mkdir": 4}
    assert session_faults.every_fault({"write": ("EINTR",)}, most=1) == {"write": 1}


def test_per_08_sessions_work_on_a_file_system_without_locks(strace) -> None:
    assert session_faults.every_fault({"flock": ("ENOLCK", "EOPNOTSUPP")}, most=1) == {"flock": 4}


def test_per_05_no_record_is_acknowledged_after_a_failed_flush(strace) -> None:
    assert session_faults.every_fault({"fdatasync": ("EIO",)}, most=2) == {"fdatasync": 4}
