"""Runs random actions of a user and an agent on one file, in editors of every kind.

    python tests/faults/edit_sequences.py 10000 [SEED]

Each sequence is 50 steps of ``support.edit_machine``. The sequences run on
``support.virtual_time``, without a connection. ``test_edit_sequences.py`` runs a few.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.workspace.disk import DiskWorkspace
from support.edit_machine import EditMachine
from support.fake_editor.clients import CLIENTS
from support.fake_editor.profiles import PLAIN, Profile
from support.virtual_time import run

N_STEPS = 50
PROFILES: Sequence[Profile] = (
    *(PLAIN.offering(encoding) for encoding in ("utf-8", "utf-16", "utf-32")),
    *CLIENTS,
    PLAIN.behaving(heeds_cancel=False),
    PLAIN.offering("utf-8").behaving(whole=True, formats_on_save=True),
    PLAIN.behaving(formats_after_edit=True),
    PLAIN.behaving(answer="null", reloads=True),
    PLAIN.behaving(answer="error"),
    PLAIN.behaving(answer="never"),
    PLAIN.behaving(takes=False, reason="read-only"),
    PLAIN.behaving(takes=False, refusal="error"),
    PLAIN.behaving(takes=False, refusal="true"),  # the editor confirms edits that it did not apply
    PLAIN.offering("utf-32").behaving(late=True, one_ending=True),
)


class SequenceError(AssertionError):
    """A sequence lost text or kept stale text; the message names the command that repeats it."""


def run_sequences(n_sequences: int, seed: int, folder: Path) -> Counter[str]:
    """Run sequences; count the actions and outcomes.

    Raises:
        SequenceError: A sequence had a forbidden outcome.
    """
    tally: Counter[str] = Counter()
    disk = DiskWorkspace([folder])

    async def all_of_them() -> None:
        for number in range(seed, seed + n_sequences):
            tally.update(await _sequence(number, folder.resolve() / "file.txt", disk))

    run(all_of_them())
    return tally


async def _sequence(number: int, path: Path, disk: DiskWorkspace) -> Counter[str]:
    profile = PROFILES[number % len(PROFILES)]
    machine = EditMachine(path, profile, Random(number), disk)
    try:
        for _ in range(N_STEPS):
            await machine.step()
        await machine.finish()
    except Exception as error:
        told = "\n".join(machine.told[-12:])
        raise SequenceError(
            f"sequence {number} ({profile.name}, {profile.behaviour}): {error}\n{told}"
        ) from error
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
