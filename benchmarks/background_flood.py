"""Measures how long a background command with endless output blocks the event loop.

    python benchmarks/background_flood.py [--json]

The floors are an equally busy command without output, and such a command with a thread that never
sleeps.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter

from report import percentile, show, spread

from indwell.agent.features.background.board import BackgroundBoard
from indwell.cli.serve.command import SWITCH_S
from indwell.files.private import write_private
from indwell.secrets import Hider
from indwell.tools.base import ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.known_texts import KnownTexts
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace

SECONDS = 5.0
TICK_S = 0.001
QUIET = "yes > /dev/null"
FLOODS = {
    "short lines (yes)": "yes",
    "one line": "tr '\\0' x < /dev/zero",
    "base64": "base64 /dev/urandom",
    "bytes at random": "cat /dev/urandom",
    "escapes": "yes $'\\e[31mred\\e[0m\\rx'",
}


async def waits() -> list[float]:
    """Return the milliseconds that a task of the loop waited beyond its time."""
    taken, stop = [], perf_counter() + SECONDS
    while perf_counter() < stop:
        began = perf_counter()
        await asyncio.sleep(TICK_S)
        taken.append(max(perf_counter() - began - TICK_S, 0.0) * 1e3)
    return taken


@contextmanager
def busy_thread() -> Iterator[None]:
    """Run a thread that never sleeps."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            sum(range(1_000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


async def beside(command: str, folder: Path) -> dict[str, float]:
    """Return the waits while the command runs and is inspected twice."""
    n_spilled = count()

    async def spill(label: str, text: str) -> Path:
        return write_private(folder / f"{next(n_spilled)}-{label}", text.encode())

    board = BackgroundBoard(begin_s=0.1)
    context = ToolContext(
        DiskWorkspace([folder]), KnownTexts(), spill, lambda _text: None, hide=Hider().hide
    )
    bash = standard_tools(Shell(folder), background=board)
    await bash.bind("bash", json.dumps({"command": command, "background": True})).run(context)
    (one,) = board.commands
    measuring = asyncio.create_task(waits())
    for _ in range(2):
        await asyncio.sleep(SECONDS / 3)
        await one.output.take_news(one.where)
    taken = await measuring
    await board.stop(one, "user")
    return {**spread(taken), "p99": percentile(taken, 99)}


async def main() -> None:
    sys.setswitchinterval(SWITCH_S)
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        for number, (title, command) in enumerate({"nothing written": QUIET, **FLOODS}.items()):
            folder = Path(name) / str(number)
            folder.mkdir()
            rows[title] = await beside(command, folder)
            if command == QUIET:
                (folder / "thread").mkdir()
                with busy_thread():
                    rows["a busy thread"] = await beside(command, folder / "thread")
    show("Waits of the event loop beside a background command, milliseconds", rows, goal="10")


if __name__ == "__main__":
    asyncio.run(main())
