"""Measures memory and the event loop's delay for commands with endless output.

    python tests/faults/output_flood.py

The commands write a gigabyte, a million short lines, escapes, or random bytes (PRC-05, PRC-06). The
output also names the longest delay of an idle event loop on the same machine.
``benchmarks/background_flood.py`` measures background commands.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.cli.serve.command import SWITCH_S
from indwell.workspace.disk import DiskWorkspace
from support.process_facts import facts, forget_peak
from tools.calling import Agent

FLOODS = {
    "1 GB in one line": "head -c 1000000000 /dev/zero | tr '\\0' x",
    "1 GB of lines": "yes | head -c 1000000000",
    "a million short lines": "seq 1 1000000",
    "20 MB of escapes": "yes $'\\e[31mred\\e[0m\\rx' | head -c 20000000",
    "20 MB at random": "head -c 20000000 /dev/urandom",
    "both streams": "for i in $(seq 1 20000); do echo o; echo e >&2; done",
}


async def longest_wait(work: Awaitable[object]) -> float:
    """Return the longest delay of the event loop in seconds while ``work`` ran."""
    task, longest = asyncio.ensure_future(work), 0.0
    while not task.done():
        began = perf_counter()
        await asyncio.sleep(0.001)
        longest = max(longest, perf_counter() - began - 0.001)
    await task
    return longest


async def main() -> None:
    """Run all commands, and print the figures."""
    sys.setswitchinterval(SWITCH_S)  # the server has the same setting
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = Agent(DiskWorkspace([folder]), folder / "spill")
        await agent.call("bash", command="true")
        for title, command in FLOODS.items():
            agent.live.clear()
            idle = await longest_wait(asyncio.sleep(1))
            forget_peak(os.getpid())
            before = facts(os.getpid()).rss_b
            held = await longest_wait(agent.call("bash", command=command))
            more = (facts(os.getpid()).peak_b - before) / 1e6
            print(f"{title}: {more:.1f} MB more, loop held {held * 1e3:.1f} ms ({idle * 1e3:.1f})")


if __name__ == "__main__":
    asyncio.run(main())
