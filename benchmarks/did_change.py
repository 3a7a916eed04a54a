"""Measures keystrokes: one change in a 50,000-line document, and 10,000 changes in a burst.

    python benchmarks/did_change.py [--json]

A round trip is a ``didChange`` and a ``codeAction`` elsewhere that the server answers at once. The
floor is that request alone.
"""

from __future__ import annotations

from random import Random
from time import perf_counter

from lsp_pipe import NOWHERE, SERVERS, Pipe, frame, opened, serving, typed
from report import show, spread

LINES = 50_000
TRIPS = 300
BURST = 10_000
BARE_BURST = 1_000  # changes for bare pygls, which takes 2 ms each; the result is multiplied by ten
URI = "file:///a/large.py"


def trips(pipe: Pipe, *, change: bool) -> list[float]:
    """Return the milliseconds of each round trip."""
    random, taken = Random(1), []
    for version in range(2, TRIPS + 2):
        message = typed(URI, version, random.randrange(LINES))
        started = perf_counter()
        if change:
            pipe.notify("textDocument/didChange", message)
        pipe.request("textDocument/codeAction", NOWHERE)
        taken.append((perf_counter() - started) * 1e3)
    return taken


def one_change(name: str) -> dict[str, dict[str, float]]:
    text = "".join(f"    value_{number} = compute({number})\n" for number in range(LINES))
    with serving(SERVERS[name]) as pipe:
        pipe.initialize()
        pipe.notify("textDocument/didOpen", opened(URI, text))
        pipe.request("textDocument/codeAction", NOWHERE)
        floor = spread(trips(pipe, change=False))
        return {f"{name}, no change": floor, name: spread(trips(pipe, change=True))}


def burst(name: str, n_changes: int) -> float:
    """Return the seconds for 10,000 changes of a 6 kB document, extrapolated from fewer."""
    text = "".join(f"line {number:03} of the file, some words\n" for number in range(160))
    random = Random(2)
    changes = b"".join(
        frame(
            {
                "jsonrpc": "2.0",
                "method": "textDocument/didChange",
                "params": typed(URI, version, random.randrange(160)),
            }
        )
        for version in range(2, n_changes + 2)
    )
    with serving(SERVERS[name]) as pipe:
        pipe.initialize()
        pipe.notify("textDocument/didOpen", opened(URI, text))
        pipe.request("textDocument/codeAction", NOWHERE)
        assert pipe.process.stdin
        started = perf_counter()
        pipe.process.stdin.write(changes)
        pipe.process.stdin.flush()
        pipe.request("textDocument/codeAction", NOWHERE)
        return (perf_counter() - started) * BURST / n_changes


def main() -> None:
    show(
        f"One change in {LINES:,} lines, milliseconds",
        {**one_change("indwell"), **one_change("bare pygls")},
        goal="≤ 0.6 ms round trip",
    )
    ours, bare = burst("indwell", BURST), burst("bare pygls", BARE_BURST)
    show(
        f"{BURST:,} changes of 6 kB in a burst, seconds",
        {
            "indwell": {"seconds": ours, "ratio": ours / bare},
            "bare pygls": {"seconds": bare, "ratio": 1.0},
        },
        goal="≤ 2 s",
    )


if __name__ == "__main__":
    main()
