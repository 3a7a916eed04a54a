"""Measures the review ledger in milliseconds: 1,000 hunks in 100 files, and one large file.

    python benchmarks/review.py [--json]

"look" is the time for an editor's lenses after a change in one file: ``sync`` of this file and
``hunks`` of all files. "reject" is the server's time to reject one hunk: planning, and recording
the verdict. The log is in the temporary folder, and the time includes fsync.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from report import show

from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.record_builder import CommandChange

GOAL = "look at 1,000 hunks in 100 files within 20 ms; reject of one within 5 ms besides the disk"
N_FILES, N_HUNKS = 100, 10
ACTOR = Actor("session", 1)


def source(n_lines: int) -> list[str]:
    return [f"    value_{n} = compute({n}, previous)\n" for n in range(n_lines)]


def changed(lines: list[str], n_places: int) -> str:
    new = list(lines)
    for n in range(n_places):
        at = (n * 2 + 1) * len(lines) // (2 * n_places)
        new[at] = f"    value_{at} = another({at})\n    check(value_{at})\n"
    return "".join(new)


async def took_ms(run: Callable[[], Awaitable[None]], n_runs: int = 15) -> float:
    times = []
    for _ in range(n_runs):
        began = time.perf_counter()
        await run()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1_000


async def measured(folder: Path) -> dict[str, float]:
    ledger = await ReviewLedger.open(folder, [])
    lines = source(400)
    paths = [Path(f"/project/{n}.py") for n in range(N_FILES)]
    text = changed(lines, N_HUNKS)
    began = time.perf_counter()
    changes = [CommandChange(path, "".join(lines), text) for path in paths]
    await ledger.made_all(ACTOR, "use", changes, accepted=False)
    found = {"100 files noted": (time.perf_counter() - began) * 1_000}
    assert ledger.n_pending == N_FILES * N_HUNKS
    n_typed = 0

    async def look() -> None:
        nonlocal n_typed
        n_typed += 1
        ledger.sync(paths[7], text + "#" * n_typed)
        assert sum(len(ledger.hunks(path)) for path in ledger.paths()) == N_FILES * N_HUNKS

    found["look"] = await took_ms(look)
    plans: list[float] = []

    async def reject() -> None:
        path = paths[8 + len(plans)]
        began = time.perf_counter()
        plan = ledger.rejection(path, [ledger.hunks(path)[3].id])
        plans.append((time.perf_counter() - began) * 1_000)
        await ledger.rejected(plan, plan.text)

    found["reject, with the disk"] = await took_ms(reject)
    found["reject, planned"] = statistics.median(plans)
    began = time.perf_counter()
    again = await ReviewLedger.open(folder, [])
    assert again.n_pending == ledger.n_pending
    found["open again"] = (time.perf_counter() - began) * 1_000
    return found | await of_large(ledger)


async def of_large(ledger: ReviewLedger) -> dict[str, float]:
    lines = source(50_000)
    path, text = Path("/project/large.py"), changed(lines, 1)
    began = time.perf_counter()
    pending = await ledger.begin(ACTOR, "use", path, "".join(lines), text)
    await ledger.finish(pending, text, accepted=False)
    found = {"50,000 lines noted": (time.perf_counter() - began) * 1_000}
    n_typed = 0

    async def typed() -> None:
        nonlocal n_typed
        n_typed += 1
        ledger.sync(path, text[:1_000] + "x" * n_typed + text[1_000:])
        assert len(ledger.hunks(path)) == 1

    found["50,000 lines, a keystroke"] = await took_ms(typed)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder)))
    show("the review ledger, ms", {name: {"ms": ms} for name, ms in found.items()}, goal=GOAL)


if __name__ == "__main__":
    main()
