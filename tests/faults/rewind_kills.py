"""Kills a rewind of many files repeatedly; no file may be half restored, the last run finishes.

python tests/faults/rewind_kills.py [N_ROUNDS]
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.record_builder import CommandChange
from indwell.review.verdicts import VerdictOutcome, rewind_files
from indwell.workspace.disk import DiskWorkspace

N_FILES, N_KILLS, N_ROUNDS = 60, 3, 8
READY = b"ready\n"


def before(number: int) -> str:
    """Return a file's text before the command."""
    return f"a\nold {number}\nc\n"


def after(number: int) -> str:
    """Return a file's text after the command."""
    return f"a\nnew {number}\nc\n"


MINE = "mine\n"  # the user adds this line afterwards


async def make(folder: Path) -> None:
    """Record a command that has changed all files."""
    (folder / "work").mkdir()
    ledger = await ReviewLedger.open(folder / "review", [folder / "work"])
    changes = []
    for number in range(N_FILES):
        path = folder / "work" / f"{number}.txt"
        path.write_text(after(number) + MINE)
        changes.append(CommandChange(path, before(number), after(number)))
    await ledger.made_all(Actor("s", 1), "call", changes, accepted=False)
    await ledger.close()


async def rewind(folder: Path) -> VerdictOutcome:
    """Restore all files."""
    workspace = DiskWorkspace([folder / "work"], private=folder / "undo")
    ledger = await ReviewLedger.open(folder / "review", workspace.roots)
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    return await rewind_files(ledger, workspace, "s", 0)


def texts(folder: Path) -> list[str]:
    """Return the files' current texts."""
    return [(folder / "work" / f"{number}.txt").read_text() for number in range(N_FILES)]


def main() -> int:
    """Kill and repeat the rewind; return 0 if no file was half restored."""
    if len(sys.argv) > 1 and not sys.argv[1].isdecimal():
        asyncio.run(rewind(Path(sys.argv[1])))
        return 0
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else N_ROUNDS
    n_wrong = 0
    for _ in range(n_rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            asyncio.run(make(folder))
            for _ in range(N_KILLS):
                with subprocess.Popen(
                    [sys.executable, __file__, str(folder)], stdout=subprocess.PIPE
                ) as process:
                    assert process.stdout is not None
                    process.stdout.readline()
                    time.sleep(random.random() * 0.3)
                    process.kill()
                n_wrong += sum(
                    text not in {before(number) + MINE, after(number) + MINE}
                    for number, text in enumerate(texts(folder))
                )
            done = asyncio.run(rewind(folder))
            n_wrong += len(done.kept) + len(done.failed)
            n_wrong += texts(folder) != [before(number) + MINE for number in range(N_FILES)]
    print(f"{n_rounds * N_KILLS} kills: {n_wrong} wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
