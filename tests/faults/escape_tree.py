"""Commands whose seven children flee in all ways, ended again and again: nothing may be left.

    python tests/faults/escape_tree.py 200

Each round starts the tree, waits until all of it runs, and cancels it (PRC-02), or lets its time be
over (PRC-01), or starts two at once, of which one is cancelled and the other goes on. No process
may be left when the end is reported. Also within a sandbox, by what this machine has for it, and by
Landlock alone. The tests run it in short.
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
    "{sleep} &",  # in the background
    "nohup {sleep} >/dev/null 2>&1 &",
    "setsid {sleep} &",  # a session of its own
    "( ({sleep} &) & );",  # forked twice: its parents are gone
    "{sleep} & disown;",
    "(trap '' TERM HUP INT; {sleep}) &",
    "(cd / && exec env -i setsid {sleep} >/dev/null 2>&1 </dev/null) &",  # no mark, nothing of ours
)


class Round(NamedTuple):
    """The result of one round: seconds until the reported end, and the remaining processes."""

    seconds: float
    survivors: int


def tree(number: int) -> str:
    """Shell text that starts all seven, each asleep for ``number`` seconds, and then waits."""
    started = " ".join(way.format(sleep=f"{SLEEP} {number}") for way in WAYS)
    return f"{started} trap '' TERM; echo ready; {SLEEP} {number}; wait"


def asleep(number: int) -> list[int]:
    """The processes that sleep for ``number`` seconds; zombies have no arguments."""
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
    """A tree that is cancelled once it has grown."""
    task = asyncio.create_task(spawn(tree(number), cwd=folder, timeout_s=60))
    await grown(number)
    return await _ended(task, number)


async def cancelled_in_a_sandbox(folder: Path, number: int) -> Round:
    """A tree that is held by the best that this machine has."""
    bounds = Confinement((str(folder),))
    task = asyncio.create_task(spawn(tree(number), cwd=folder, timeout_s=60, confinement=bounds))
    await grown(number)
    return await _ended(task, number)


async def cancelled_by_landlock(folder: Path, number: int) -> Round:
    """A tree that is held where bubblewrap is missing."""

    start = partial(start_held, confinement=Confinement((str(folder),)), scratch=folder)
    words = ["bash", "-c", tree(number)]
    task = asyncio.create_task(run_program(words, cwd=folder, timeout_s=60, start=start))
    await grown(number)
    return await _ended(task, number)


async def timed_out(folder: Path, number: int) -> Round:
    """A tree whose time is over once it has grown."""
    began = monotonic()
    finished = await spawn(tree(number), cwd=folder, timeout_s=0.4)
    assert finished.timed_out, finished.output
    return Round(monotonic() - began - 0.4, len(asleep(number)))


async def beside_another(folder: Path, number: int) -> Round:
    """Cancels one tree while another continues unaffected; then cancels the other."""
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
    """``n`` rounds of a kind."""
    first = 900_000 + os.getpid() % 1_000 * 100
    return [await KINDS[kind](folder, first + at) for at in range(n)]


async def main(n: int) -> None:
    """Run and tell."""
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
