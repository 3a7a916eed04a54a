"""Measures the server's memory after the first ``codeAction``, 100 turns and 100 tool calls.

    python benchmarks/memory.py [--json]

The figures are resident megabytes on Linux.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from gap import make_files
from instant_endpoint import TURNS as N_ROUNDS
from lsp_pipe import NOWHERE, SERVERS, Pipe, opened, serving
from report import show

ROUNDS = 3
TURNS = 100
SOURCE = "def total(items):\n    return sum(items) + 1\n"


def after_start(name: str) -> float:
    """Return the memory when the server has loaded everything for an editor before a prompt."""
    with serving(SERVERS[name]) as pipe:
        pipe.initialize()
        pipe.request("textDocument/codeAction", NOWHERE)
        return pipe.rss_b() / 1e6


def after_turns() -> tuple[float, float]:
    """Return the memory after one turn and after a hundred turns."""
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


def after_tool_rounds() -> float:
    """Return the memory after a turn of 100 tool calls through the real SDK (100 files, 0.5 MB)."""
    endpoint = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "instant_endpoint.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert endpoint.stdin is not None
    assert endpoint.stdout is not None
    url = f"http://127.0.0.1:{int(endpoint.stdout.readline())}/v1"
    variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "INDWELL_MODEL": "m"}
    command = (sys.executable, "-m", "indwell", "serve", "--stdio")
    try:
        with serving(command, **variables) as pipe:
            make_files(pipe.workspace)
            config = pipe.workspace.parent / "indwell" / "config.toml"
            config.parent.mkdir()
            config.write_text("window = 400000\nround_limit = 200\n")
            pipe.initialize()
            result = pipe.request("indwell/prompt", {"text": "Read them all."})
            assert (result["ending"], result["rounds"]) == ("done", N_ROUNDS + 1), result
            return pipe.rss_b() / 1e6
    finally:
        endpoint.stdin.close()
        endpoint.wait()


def turn(pipe: Pipe) -> None:
    """Run a prompt until the turn ends."""
    result = pipe.request("indwell/prompt", {"text": "What can you do?"})
    assert result["ending"] == "done", result


def main() -> None:
    ours, bare = (
        statistics.median(after_start(name) for _ in range(ROUNDS))
        for name in ("indwell", "bare pygls")
    )
    first, last = after_turns()
    tools = after_tool_rounds()
    show(
        "Resident memory, MB",
        {
            "bare pygls": {"MB": bare, "over bare": 0.0},
            "indwell, first codeAction": {"MB": ours, "over bare": ours - bare},
            "indwell, 1 turn": {"MB": first, "over bare": first - bare},
            f"indwell, {TURNS} turns": {"MB": last, "over bare": last - bare},
            f"indwell, {N_ROUNDS} tool calls": {"MB": tools, "over bare": tools - bare},
        },
        goal="≤ bare + 15 MB before the first turn; ≤ 90 MB after 100 turns",
    )


if __name__ == "__main__":
    main()
