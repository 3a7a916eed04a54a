"""Memory of the server: after the first ``codeAction``, and after 100 turns of the scripted model.

    python benchmarks/memory.py [--json]

Resident megabytes; Linux.
"""

from __future__ import annotations

import statistics

from lsp_pipe import NOWHERE, SERVERS, Pipe, opened, serving
from report import show

ROUNDS = 3
TURNS = 100
SOURCE = "def total(items):\n    return sum(items) + 1\n"


def after_start(name: str) -> float:
    """Everything is loaded that an editor needs before the first prompt."""
    with serving(SERVERS[name]) as pipe:
        pipe.initialize()
        pipe.request("textDocument/codeAction", NOWHERE)
        return pipe.rss_b() / 1e6


def after_turns() -> tuple[float, float]:
    """After one turn, and after a hundred."""
    with serving(SERVERS["indwell"]) as pipe:
        pipe.initialize()
        path = pipe.workspace / "shop.py"
        path.write_text(SOURCE)
        pipe.notify("textDocument/didOpen", opened(path.as_uri(), SOURCE))
        turn(pipe)
        first = pipe.rss_b() / 1e6
        for _ in range(TURNS - 1):
            turn(pipe)
        return first, pipe.rss_b() / 1e6


def turn(pipe: Pipe) -> None:
    """A prompt to its end."""
    result = pipe.request("indwell/prompt", {"text": "What can you do?"})
    assert result["ending"] == "done", result


def main() -> None:
    ours, bare = (
        statistics.median(after_start(name) for _ in range(ROUNDS))
        for name in ("indwell", "bare pygls")
    )
    first, last = after_turns()
    show(
        "Resident memory, MB",
        {
            "bare pygls": {"MB": bare, "over bare": 0.0},
            "indwell, first codeAction": {"MB": ours, "over bare": ours - bare},
            "indwell, 1 turn": {"MB": first, "over bare": first - bare},
            f"indwell, {TURNS} turns": {"MB": last, "over bare": last - bare},
        },
        goal="≤ bare + 15 MB before the first turn; ≤ 90 MB after 100 turns",
    )


if __name__ == "__main__":
    main()
