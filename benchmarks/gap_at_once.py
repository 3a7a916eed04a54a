"""Measures the time between a model's answer and the next request: one turn, and four at once.

Four sessions in one event loop run 100 calls each, as in ``gap.py``. The model needs 0.1 s for an
answer; the second pair of rows has a model that answers at once, so that all four turns always
compete for one processor. Figures in milliseconds.

    python benchmarks/gap_at_once.py
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import IO, cast

from gap import make_files, ours

AT_ONCE = 4


def gaps_of(port: int, tools: list[float]) -> list[float]:
    """Return the gaps of one endpoint's conversation, without the tools' time, in milliseconds."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/times") as answer:
        times = json.loads(answer.read())
    pairs = zip(times, times[1:], tools, strict=False)
    return [(after[1] - before[2] - tool) * 1e3 for before, after, tool in pairs]


def measure(number: int, delay_s: float) -> float:
    """Run so many turns at once; print a row, and return the median gap."""
    endpoint = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).parent / "instant_endpoint.py"),
            str(number),
            str(delay_s),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, into = cast("IO[bytes]", endpoint.stdout), cast("IO[bytes]", endpoint.stdin)
    ports = [int(word) for word in out.readline().split()]
    try:
        with tempfile.TemporaryDirectory() as name:
            folders = [Path(name).resolve() / str(one) for one in range(number)]
            for folder in folders:
                folder.mkdir()
                make_files(folder)

            async def run() -> list[list[float]]:
                turns = zip(ports, folders, strict=True)
                urls = [(f"http://127.0.0.1:{port}/v1", folder) for port, folder in turns]
                return await asyncio.gather(*(ours(url, folder, "chat") for url, folder in urls))

            tools = asyncio.run(run())
            gaps = [gap for pair in zip(ports, tools, strict=True) for gap in gaps_of(*pair)]
    finally:
        into.close()
        endpoint.wait(5)
    median, p95 = statistics.median(gaps), sorted(gaps)[int(len(gaps) * 0.95)]
    print(f"{number} at once, model {delay_s:.1f} s: median {median:6.2f}  p95 {p95:6.2f}")
    return median


def main() -> None:
    """Compare one turn with four, for a slow and an instant model."""
    measure(1, 0.0)  # imports and caches are warm, as in a running server
    for delay_s in (0.1, 0.0):
        alone, four = measure(1, delay_s), measure(AT_ONCE, delay_s)
        print(f"the gap of a turn among {AT_ONCE} is {four / alone:.2f} times that of one alone")


if __name__ == "__main__":
    main()
