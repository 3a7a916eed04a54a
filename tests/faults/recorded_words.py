"""Checks recorded sessions under each ladder: the user's texts, the task, finished requests.

    python tests/faults/recorded_words.py [EVERY [FIRST [WINDOW...]]]

``context/compaction/test_recorded_words.py`` runs a few sessions.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.context.compaction.presets import PRESETS
from support.recorded import foreign_sessions
from support.recorded_checks import LOOKED_AT, violations


def main() -> None:
    given = [int(one) for one in sys.argv[1:]]
    every, first = (*given[:2], *(16, 0)[len(given[:2]) :])
    windows = given[2:] or [32_000, 64_000]
    total: Counter[str] = Counter()
    for session in foreign_sessions("entire", first=first, every=every):
        for window in windows:
            for preset in sorted(PRESETS):
                found = violations(session, preset, window)
                total += found
                wrong = {what: n for what, n in found.items() if n and what not in LOOKED_AT}
                if wrong:
                    print(f"{session.id} {preset} {window}: {wrong}", flush=True)
    for what, n in sorted(total.items()):
        print(f"{n:9,} {what}")
    sys.exit(any(n for what, n in total.items() if what not in LOOKED_AT))


if __name__ == "__main__":
    main()
