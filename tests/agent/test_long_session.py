"""A session of 600 turns keeps its task, fits the window, and stays fast.

``tests/faults/long_session.py`` runs 10,000 turns.
"""

from __future__ import annotations

from pathlib import Path

from support.long_session import long_session
from support.platforms import posix_only

pytestmark = posix_only("slow")

N_TURNS = 600


async def test_a_session_of_600_turns_stays_on_task_and_costs_no_more_per_turn(
    tmp_path: Path,
) -> None:
    course = await long_session(tmp_path, N_TURNS)
    assert course.n_compacted > 10
    assert course.n_live < 800
    assert course.late_calls < 1.5 * course.early_calls
    assert course.grown_b < 3 * course.text_b + 40_000_000
