"""Measures the time from the first prompt to the arrival of its request at the endpoint.

    python benchmarks/first_prompt.py [--json]

Warm: the editor has requested code actions a few seconds before, as for a menu. Cold: the prompt is
the server's first message after its start. A second prompt is the floor.
"""

from __future__ import annotations

import time

from lsp_pipe import NOWHERE, Pipe
from report import show, spread
from stream_to_editor import URI, stamps, streaming

ROUNDS = 8
SOON_S = 4.0  # seconds between the request of code actions and the prompt; imports take about one


def arrival(pipe: Pipe, text: str) -> float:
    """Return the milliseconds from the prompt to the complete request at the endpoint."""
    started = time.monotonic_ns()
    asked = pipe.ask("indwell/prompt", {"text": text})
    first = 0
    while (message := pipe.read()).get("id") != asked:
        found = stamps(message)
        first = first or (found[0] if found else 0)
    assert first, message
    return (first - started) / 1e6


def once(*, is_warm: bool) -> tuple[float, float]:
    """Return the times of the first and the second prompt."""
    with streaming(2, 1_000.0) as pipe:
        if is_warm:
            pipe.request("textDocument/codeAction", {**NOWHERE, "textDocument": {"uri": URI}})
            time.sleep(SOON_S)
        return arrival(pipe, "first"), arrival(pipe, "second")


def main() -> None:
    warm = [once(is_warm=True) for _ in range(ROUNDS)]
    cold = [once(is_warm=False) for _ in range(ROUNDS)]
    show(
        f"From the prompt to the request's arrival, milliseconds, {ROUNDS} processes each",
        {
            "first, warm": spread([first for first, _ in warm]),
            "first, cold": spread([first for first, _ in cold]),
            "second (floor)": spread([second for _, second in warm]),
        },
        goal="first, warm ≤ 10 ms",
    )


if __name__ == "__main__":
    main()
