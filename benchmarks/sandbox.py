"""Measures the time that the sandbox adds to a command: ``python benchmarks/sandbox.py [RUNS]``.

The script runs ``true`` with and without the sandbox in turns, with the tool's function, in a
repository with protected files and a secret. Started by root, the script gets a high priority,
which gives the figures of a quiet machine. The budget is 10 ms more at the median and 20 ms at the
95th percentile (`safety.md` §6).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from indwell.bounds.command_bounds import confiner
from indwell.bounds.guarded_scan import FolderGuard
from indwell.policy.rules import Widening
from indwell.sandbox import spawn
from indwell.sandbox.confine.strength import strength
from indwell.settings.model import SECRETS, Settings

BUDGET_MS = {50: 10.0, 95: 20.0}
N_FOLDERS, N_FILES = 500, 20


def at(percent: int, times: list[float]) -> float:
    """Return a percentile in milliseconds."""
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)] * 1_000


async def measured(folder: Path, runs: int) -> Mapping[str, list[float]]:
    """Return the seconds of each run with and without the sandbox."""
    bounds = confiner((folder,), Settings, home=folder.parent / "home")
    kinds = {"plain": None, "confined": bounds(Widening())}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(runs + 3):
        for kind, confinement in kinds.items():
            began = time.perf_counter()
            finished = await spawn("true", cwd=folder, timeout_s=30, confinement=confinement)
            if finished.exit_code:
                raise SystemExit(finished.output)
            if number >= 3:  # noqa: PLR2004 - the first ones read what later ones find in memory
                times[kind].append(time.perf_counter() - began)
    return times


def looks(folder: Path) -> tuple[float, float]:
    """Return the milliseconds of the first check of a big workspace, and of a later check."""
    for number in range(N_FOLDERS):
        (folder / f"d{number}").mkdir()
        for name in range(N_FILES):
            (folder / f"d{number}" / f"f{name}.py").touch()
    guard = FolderGuard(folder, SECRETS)
    times = []
    for _ in range(6):
        began = time.perf_counter()
        guard.look()
        times.append((time.perf_counter() - began) * 1_000)
    return times[0], sorted(times[1:])[2]


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    if strength().level != "S3":
        sys.stderr.write(f"no bubblewrap: {strength().reason}\n")
        return 2
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "workspace"
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        for file in ("AGENTS.md", "package.json", ".env", ".gitattributes"):
            (folder / file).write_text("x", "utf-8")
        times = asyncio.run(measured(folder, runs))
        first_ms, later_ms = looks(folder)
    is_kept = True
    for percent, budget_ms in BUDGET_MS.items():
        plain, confined = (at(percent, times[kind]) for kind in ("plain", "confined"))
        is_kept = is_kept and confined - plain <= budget_ms
        sys.stdout.write(
            f"p{percent}: plain {plain:.1f} ms, confined {confined:.1f} ms, "
            f"{confined - plain:+.1f} (budget {budget_ms:.0f})\n"
        )
    sys.stdout.write(
        f"look at {N_FOLDERS:,} folders, {N_FOLDERS * N_FILES:,} files: first {first_ms:.0f} ms, "
        f"later {later_ms:.1f} ms\n"
    )
    return int(not is_kept)


if __name__ == "__main__":
    sys.exit(main())
