"""Use the sandbox as an ordinary user: ``python as_nobody.py bomb|environ|memory``, by root."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - nobody cannot read our Python's folder later
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.sandbox import CommandLimits, spawn
from indwell.sandbox.leftovers.processes import ram_b

NOBODY = 65_534


async def bomb() -> None:
    """Run a fork bomb that does not end by itself; Indwell or the kernel counts its processes."""
    text = ":() { :|:& }; :; sleep 20"
    finished = await spawn(
        text, cwd=Path("/tmp"), timeout_s=20, limits=CommandLimits(n_processes=100)
    )
    is_counted = finished.overrun == "over 100 processes and threads"
    is_refused = "fork: " in finished.output  # the kernel's limit for a user was reached first
    sys.stdout.write("held\n" if is_counted or is_refused else f"{finished}\n")
    after = await spawn("echo usable", cwd=Path("/tmp"), timeout_s=20)
    sys.stdout.write(f"{after.output}{after.left_running}\n")


async def environ() -> None:
    finished = await spawn(
        "cat /proc/$PPID/environ 2>&1 | sed 's/ .*: / /'; exit ${PIPESTATUS[0]}",
        cwd=Path("/tmp"),
        timeout_s=20,
    )
    sys.stdout.write(f"{finished.output}{finished.exit_code}\n")


async def memory() -> None:
    """Read the variables of a root process, such as the parent."""
    sys.stdout.write(f"{ram_b(os.getppid()) > 1_000_000}\n")


os.setgroups([])
os.setgid(NOBODY)
os.setuid(NOBODY)
asyncio.run({"bomb": bomb, "environ": environ, "memory": memory}[sys.argv[1]]())
