"""Runs random edits, typing and verdicts on one file, in editors of every kind.

    python tests/faults/review_sequences.py 10000 [SEED]

Each sequence is 50 steps of ``support.review_machine``: fake editor, documents, buffer edits,
tools, ledger with its log on a disk. The sequences run on ``support.virtual_time``, without a
connection. ``test_review_sequences.py`` runs a few.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from edit_sequences import PROFILES, SequenceError

from indwell.workspace.disk import DiskWorkspace
from support.review_machine import ReviewMachine
from support.virtual_time import run

N_STEPS = 50


def run_sequences(n_sequences: int, seed: int, folder: Path) -> Counter[str]:
    """Run sequences; count the actions and outcomes.

    Raises:
        SequenceError: A sequence had a forbidden outcome.
    """
    tally: Counter[str] = Counter()
    root = folder.resolve() / "project"
    root.mkdir()
    disk = DiskWorkspace([root])

    async def all_of_them() -> None:
        for number in range(seed, seed + n_sequences):
            tally.update(await _sequence(number, root / "file.txt", disk))

    run(all_of_them())
    return tally


async def _sequence(number: int, path: Path, disk: DiskWorkspace) -> Counter[str]:
    profile = PROFILES[number % len(PROFILES)]
    machine = ReviewMachine(path, profile, Random(number), disk)
    try:
        await machine.begin()
        for _ in range(N_STEPS):
            await machine.step()
        await machine.finish()
        await machine.ledger.close()
    except Exception as error:
        told = "\n".join(machine.told[-12:])
        raise SequenceError(
            f"sequence {number} ({profile.name}, {profile.behaviour}): {error}\n{told}"
        ) from error
    finally:
        shutil.rmtree(machine.folder)
    return machine.tally


def main() -> None:
    n_sequences = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    memory = Path("/dev/shm")
    started = perf_counter()
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        tally = run_sequences(n_sequences, seed, Path(folder))
    seconds = perf_counter() - started
    print(f"{n_sequences} sequences of {N_STEPS} steps in {seconds:.0f} s; nothing lost or stale")
    for what, times in tally.most_common():
        print(f"{times:8} {what}")


if __name__ == "__main__":
    main()
