"""Applies random operations to the context engine with each ladder, and checks each step.

    python tests/faults/context_operations.py 1000000 [FIRST_SESSION [PROCESSES]]

A session is 40 steps of ``support.context_machine``; its number is the random seed. A single
session can repeat a failure, and a stopped run can continue at the printed number.
``context/compaction/test_random_operations.py`` runs a few.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from multiprocessing import Pool
from pathlib import Path
from random import Random
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.context.compaction.presets import PRESETS
from support.context_machine import WINDOWS, ContextMachine, random_step

N_STEPS = 40
WAVE = 100  # the processes get so many sessions at once
HUGE = 1 / 50_000  # probability of a huge result, which takes 0.1 s or more
OPERATIONS = frozenset(
    {"calls", "replies", "results", "cancelled", "queued", "fits", "switches", "restored"}
)
"""What counts as an operation; each taken step of compaction is one as well."""


def run_session(number: int) -> tuple[Counter[str], str]:
    """Run one session; return the operations, and the failure's position, or an empty text."""
    dice = Random(number)
    names = sorted(PRESETS)
    preset = names[number % len(names)] if number % 2 else "default"
    machine = ContextMachine(dice, preset, dice.choice(WINDOWS), huge=HUGE)
    try:
        for _ in range(N_STEPS):
            random_step(machine)
    except Exception as error:  # noqa: BLE001 -- it is told, and the next session runs
        frame = traceback.extract_tb(error.__traceback__)[-1]
        words = str(error).splitlines()[0] if str(error) else frame.line
        what = words if isinstance(error, AssertionError) else f"{error!r:.200}"
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return machine.tally, f"{preset}/{machine.preset.name} {where}: {what}"
    return machine.tally, ""


def n_operations(tally: Counter[str]) -> int:
    """Return the number of operations."""
    return sum(times for what, times in tally.items() if what in OPERATIONS or ": " in what)


def main() -> None:
    given = [int(one) for one in sys.argv[1:]]
    goal, number, n_processes = (*given, *(1_000_000, 1, 1)[len(given) :])
    tally: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    started = told = perf_counter()
    try:
        with Pool(n_processes) as pool:
            while n_operations(tally) < goal:
                wave = range(number, number + WAVE)
                for number, (done, violation) in zip(
                    wave, pool.imap(run_session, wave), strict=True
                ):
                    tally += done
                    if violation:
                        violations[violation[:160]] += 1
                        print(f"session {number}: {violation}", flush=True)
                number = wave.stop
                if perf_counter() - told > 30:
                    told = perf_counter()
                    n_done = n_operations(tally)
                    print(f"… {n_done:,} operations; next session {number}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped; go on with session {number}")
    seconds = perf_counter() - started
    print(
        f"{n_operations(tally):,} operations to session {number - 1} in {seconds:.0f} s;"
        f" {sum(violations.values())} violations"
    )
    for what, times in tally.most_common():
        print(f"{times:9,} {what}")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
