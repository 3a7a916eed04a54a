"""Sessions damaged at random: the short form of ``damaged_sessions.py``."""

from __future__ import annotations

import random

import pytest

from faults.damaged_sessions import SESSIONS, damaged

N_VARIANTS = 150


@pytest.mark.skipif(not SESSIONS.is_dir(), reason="no shared sessions beside the project")
def test_a_damaged_session_is_read_repaired_and_sendable_and_its_repairs_are_reported() -> None:
    seen = damaged(N_VARIANTS, random.SystemRandom().randrange(10**6))
    assert seen["foreign, told of"] + seen["foreign, nothing to repair"] >= N_VARIANTS // 2
    assert seen["own, repaired"] > N_VARIANTS // 8
