"""Measures the time from the start to the answers to ``initialize`` and ``codeAction``.

    python benchmarks/start.py [--json]

The script runs Indwell, a bare pygls server and a raw asyncio loop in turns, and prints median
milliseconds.
"""

from __future__ import annotations

import statistics
from time import perf_counter

from lsp_pipe import NOWHERE, SERVERS, hello, serving
from report import show

ROUNDS = 15


def once(name: str) -> tuple[float, float]:
    """Return the milliseconds to each of the two answers."""
    started = perf_counter()
    with serving(SERVERS[name]) as pipe:
        greeted = pipe.ask("initialize", hello(pipe.workspace))
        pipe.wait(greeted)
        ready = perf_counter()
        pipe.notify("initialized", {})
        pipe.request("textDocument/codeAction", NOWHERE)
        acted = perf_counter()
    return (ready - started) * 1e3, (acted - started) * 1e3


def main() -> None:
    for name in SERVERS:
        once(name)  # warms the bytecode and the disk's cache
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in SERVERS}
    for _ in range(ROUNDS):
        for name in SERVERS:
            taken[name].append(once(name))
    medians = {
        name: [statistics.median(column) for column in zip(*figures, strict=True)]
        for name, figures in taken.items()
    }
    bare = medians["bare pygls"]
    rows = {
        name: {
            "initialize": ready,
            "ratio": ready / bare[0],
            "codeAction": acted,
            "its ratio": acted / bare[1],
        }
        for name, (ready, acted) in medians.items()
    }
    show(
        f"Start, milliseconds, median of {ROUNDS}; ratios to bare pygls",
        rows,
        goal="initialize ≤ 1.1 × bare, aim ≤ 0.4; first codeAction ≤ 0.6 ×",
    )


if __name__ == "__main__":
    main()
