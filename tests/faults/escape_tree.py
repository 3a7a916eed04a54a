"""Ends commands whose seven children try to escape; no process may remain.

    python tests/faults/escape_tree.py 200

Each round starts the tree of processes and waits until all of them run. The round then cancels the
tree (PRC-02), lets it time out (PRC-01), or cancels one of two trees while the other continues. No
process may remain when the end is reported. Other rounds use the machine's sandbox, or Landlock
alone. The tests run a short form.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.sandbox import run_program, spawn
from indwell.sandbox.confine.landlock import start_held
from indwell.sandbox.confinement import Confinement

SLEEP = "/bin/sleep"
WAYS = (
    "{sleep} &",  # a child in the background
    "nohup {sleep} >/dev/null 2>&1 &",
    "setsid {sleep} &",  # a child with a new session
    "( ({sleep} &) & );",  # a child that was forked twice, whose parents have ended
    "{sleep} & disown;",
    "(trap '' TERM HUP INT; {sleep}) &",
    # a child without Indwell's marker in its environment
    "(cd / && exec env -i setsid {sleep} >/dev/null 2>&1 </dev/null) &",
)


class Round(NamedTuple):
    """The result of one round: seconds until the reported end, and the remaining processes."""

    seconds: float
    survivors: int


def tree(number: int) -> str:
    """Return shell text that starts all seven children, each asleep for ``number`` seconds."""
    started = " ".join(way.format(sleep=f"{SLEEP} {number}") for way in WAYS)
    return f"{started} trap '' TERM; echo ready; {SLEEP} {number}; wait"


def asleep(number: int) -> list[int]:
    """Return the processes that sleep for ``number`` seconds; zombies have no arguments."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdecimal():
            try:
                words = (one / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [SLEEP.encode(), str(number).encode()]:
                found.append(int(one.name))
    return found


async def grown(number: int) -> None:
    """Wait until the whole tree is asleep."""
    async with asyncio.timeout(60):
        while len(asleep(number)) < len(WAYS) + 1:  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(0.005)


async def cancelled(folder: Path, number: int) -> Round:
    """Cancel a tree after all its processes run."""
    task = asyncio.create_task(spawn(tree(number), cwd=folder, timeout_s=60))
    await grown(number)
    return await _ended(task, number)


async def cancelled_in_a_sandbox(folder: Path, number: int) -> Round:
    """Cancel a tree in the machine's best sandbox."""
    bounds = Confinement((str(folder),))
    task = asyncio.create_task(spawn(tree(number), cwd=folder, timeout_s=60, confinement=bounds))
    await grown(number)
    return await _ended(task, number)


async def cancelled_by_landlock(folder: Path, number: int) -> Round:
    """Cancel a tree in a sandbox without bubblewrap."""

    start = partial(start_held, confinement=Confinement((str(folder),)), scratch=folder)
    words = ["bash", "-c", tree(number)]
    task = asyncio.create_task(run_program(words, cwd=folder, timeout_s=60, start=start))
    await grown(number)
    return await _ended(task, number)


async def timed_out(folder: Path, number: int) -> Round:
    """Let a tree time out after all its processes run."""
    began = monotonic()
    finished = await spawn(tree(number), cwd=folder, timeout_s=0.4)
    assert finished.timed_out, finished.output
    return Round(monotonic() - began - 0.4, len(asleep(number)))


async def beside_another(folder: Path, number: int) -> Round:
    """Cancel one tree while another continues unaffected; then cancel the other."""
    other = number + 1_000_000
    first = asyncio.create_task(spawn(tree(number), cwd=folder, timeout_s=60))
    second = asyncio.create_task(spawn(tree(other), cwd=folder, timeout_s=60))
    await asyncio.gather(grown(number), grown(other))
    before = asleep(other)
    ended = await _ended(first, number)
    assert asleep(other) == before, "the other command lost a child"
    last = await _ended(second, other)
    return Round(max(ended.seconds, last.seconds), ended.survivors + last.survivors)


async def _ended(task: asyncio.Task[object], number: int) -> Round:
    began = monotonic()
    task.cancel()
    await asyncio.wait({task})
    seconds = monotonic() - began
    assert task.cancelled()
    return Round(seconds, len(asleep(number)))


KINDS: dict[str, Callable[[Path, int], Awaitable[Round]]] = {
    "cancelled": cancelled,
    "timed out": timed_out,
    "beside another": beside_another,
    "cancelled in a sandbox": cancelled_in_a_sandbox,
    "cancelled by Landlock": cancelled_by_landlock,
}


async def rounds(kind: str, n: int, folder: Path) -> list[Round]:
    """Run ``n`` rounds of a kind."""
    first = 900_000 + os.getpid() % 1_000 * 100
    return [await KINDS[kind](folder, first + at) for at in range(n)]


async def main(n: int) -> None:
    """Run all rounds, and print the results."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            done = await rounds(kind, n, Path(folder))
            times = sorted(one.seconds for one in done)
            print(
                f"{kind}: {n} rounds, {sum(one.survivors for one in done)} survivors, ended within "
                f"p50 {times[n // 2] * 1e3:.0f} ms, p95 {times[int(n * 0.95)] * 1e3:.0f} ms, "
                f"max {times[-1] * 1e3:.0f} ms"
            )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
