"""From the user's action to the arrival of the request at the endpoint, for the first prompt.

    python benchmarks/first_prompt.py [--json]

Warm: the editor asked for code actions a few seconds before, as it does when a menu is opened.
Cold: the prompt is the first thing that the server hears. A second prompt is the floor.
"""

from __future__ import annotations

import time

from lsp_pipe import NOWHERE, Pipe
from report import show, spread
from stream_to_editor import URI, stamps, streaming

ROUNDS = 8
SOON_S = 4.0  # from the first look at the actions to the prompt; imports take about one


def arrival(pipe: Pipe, text: str) -> float:
    """Milliseconds from the prompt to the stamp that the endpoint makes when it has read it all."""
    started = time.monotonic_ns()
    asked = pipe.ask("indwell/prompt", {"text": text})
    first = 0
    while (message := pipe.read()).get("id") != asked:
        found = stamps(message)
        first = first or (found[0] if found else 0)
    assert first, message
    return (first - started) / 1e6


def once(*, is_warm: bool) -> tuple[float, float]:
    """The first prompt, and the second."""
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
