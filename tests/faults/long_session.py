"""Runs a session of 10,000 turns, and checks task, window, speed and memory.

    python tests/faults/long_session.py [TURNS]

``tests/agent/test_long_session.py`` runs 600 turns.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.long_session import long_session

N_TURNS = 10_000


def main() -> None:
    """Run the session, and print the figures."""
    n_turns = int(sys.argv[1]) if len(sys.argv) > 1 else N_TURNS
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        course = asyncio.run(long_session(Path(folder), n_turns))
    print(f"{n_turns:,} turns, {course.text_b / 1e6:.1f} MB of text")
    print(f"{course.n_compacted} compactions, {course.n_live} messages are left")
    early, late = course.early_s * 1e3, course.late_s * 1e3
    print(f"a turn without a compaction: {early:.1f} ms early, {late:.1f} ms late")
    print(f"memory grew by {course.grown_b / 1e6:.0f} MB")
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
