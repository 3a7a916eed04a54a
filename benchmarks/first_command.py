"""Measures the first command of a session in a workspace of very many files.

    python benchmarks/first_command.py [FILES | FOLDER] [--json]

With a FOLDER, the script measures that folder, and several runs can share a tree. The script
removes the files that the commands create. The script waits some seconds after making a tree, since
no file may be very new.

The model answers at once, which is the hardest case: a real model takes a second or more until its
first call, while the server examines the workspace. The floor is ``os.walk`` over the same files in
the same run. The tables also contain the processor time, which depends less on other work of the
machine. The goal: the first ``echo`` takes at most 0.5 s, and nothing blocks the event loop for
over 10 ms.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from report import percentile, show

from indwell.agent.core import events
from indwell.agent.core.prompt import Prompt
from indwell.agent.loop.turn import run_turn
from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.serve.command import SWITCH_S
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.messages import Reply, ToolCall
from indwell.providers.scripted import ScriptedProvider
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.settings.model import Settings
from indwell.wiring.compose import open_session
from indwell.wiring.model import Model
from indwell.wiring.preload import load_rest, warm_up
from indwell.workspace.disk import DiskWorkspace

FILES = 200_000
PER_FOLDER = 50
TIMES = 7
AGE_S = 3.0  # seconds to wait, since the server reads files younger than 2 s before each command
MADE = "made-by-first-command"
COMMANDS = {"`echo`": "echo {}", "one that may write (`touch`)": f"touch {MADE}-{{}}"}
TICK_S = 0.001
IDLE_S = 5.0


class Taken(NamedTuple):
    """The time of one command from its call to its result: seconds, and processor seconds."""

    wall_s: float
    cpu_s: float


def fill(folder: Path, n_files: int) -> None:
    """Make folders of small source files."""
    for number in range(0, n_files, PER_FOLDER):
        below = folder / f"p{number // 5_000:03}" / f"m{number // PER_FOLDER % 100:02}"
        below.mkdir(parents=True)
        for name in range(min(PER_FOLDER, n_files - number)):
            (below / f"f{number + name}.py").write_text(f"x = {name}\n" * 30)


def walked(folder: Path) -> float:
    """Return the seconds that ``os.walk`` takes."""
    began = perf_counter()
    assert sum(len(names) for _, _, names in os.walk(folder))
    return perf_counter() - began


async def waits(taken: list[float]) -> None:
    """Record the milliseconds that a task of the loop waited beyond its time, until stopped."""
    while True:
        began = perf_counter()
        await asyncio.sleep(TICK_S)
        taken.append(max(perf_counter() - began - TICK_S, 0.0) * 1e3)


async def idle() -> list[float]:
    """Return the delays of an idle loop, which other work on the machine causes."""
    taken: list[float] = []
    ticking = asyncio.create_task(waits(taken))
    await asyncio.sleep(IDLE_S)
    ticking.cancel()
    return taken


def waited_words(taken: list[float]) -> dict[str, float]:
    """Return the row of a table."""
    return {"p99": percentile(taken, 99), "largest": max(taken)}


async def measured(folder: Path, state: Path, command: str) -> tuple[list[Taken], list[float]]:
    """Return the time of each command, and the delays of the loop."""
    calls = [
        ToolCall(f"c{number}", "bash", f'{{"command": "{command.format(number)}"}}')
        for number in range(TIMES)
    ]
    replies = [Reply("", (call,), finish="tool_calls") for call in calls]
    provider = ScriptedProvider([*replies, Reply("done")])
    model = Model(provider, "scripted", 64_000, 4_096, lambda _usage: 0.0)
    environment = {**os.environ, "INDWELL_STATE": str(state), "INDWELL_TRUSTED": str(folder)}
    settings = Settings(provider="scripted", trusted=(str(folder),))
    workspace = DiskWorkspace([folder])
    trust = FolderTrust(environment, is_given=True)
    trust.look(workspace.roots, settings)
    ledger = await open_ledger(environment, workspace.roots, lambda: settings)
    session = await open_session(
        workspace,
        AllowingApprover(),
        lambda: settings,
        model,
        environment=environment,
        trust=trust,
        review=ledger,
    )
    began: dict[str, Taken] = {}
    done: list[Taken] = []

    def hear(event: events.Event) -> None:
        if isinstance(event, events.ToolStarted):
            began[event.id] = Taken(perf_counter(), process_time())
        elif isinstance(event, events.ToolFinished):
            wall_s, cpu_s = began[event.id]
            done.append(Taken(perf_counter() - wall_s, process_time() - cpu_s))
        elif isinstance(event, events.Notice | events.TurnFinished) and event.message:
            sys.stderr.write(f"{event.message}\n")

    taken: list[float] = []
    ticking = asyncio.create_task(waits(taken))
    try:
        await run_turn(session, Prompt("run it"), hear)
    finally:
        ticking.cancel()
        await session.close()
    return done, taken


def report(folder: Path, states: Path) -> None:
    """Measure all commands in this folder, and show the tables."""
    time.sleep(AGE_S)
    n_files = sum(len(names) for _, _, names in os.walk(folder))
    floor = min(walked(folder) for _ in range(3))
    loops = {"nothing (floor)": waited_words(asyncio.run(idle()))}
    rows = {"os.walk (floor)": {"seconds": floor, "processor": floor, "times os.walk": 1.0}}
    for number, (words, command) in enumerate(COMMANDS.items()):
        done, waited = asyncio.run(measured(folder, states / f"state-{number}", command))
        wall_s, cpu_s = (statistics.median(each) for each in zip(*done[1:], strict=True))
        for which, one in (("first", done[0]), ("later, median", Taken(wall_s, cpu_s))):
            rows[f"{words}, {which}"] = {
                "seconds": one.wall_s,
                "processor": one.cpu_s,
                "times os.walk": one.wall_s / floor,
            }
        loops[words] = waited_words(waited)
        for made in folder.glob(f"{MADE}-*"):
            made.unlink()
    show(
        f"Seconds of a command in a workspace of {n_files:,} files",
        rows,
        goal="`echo`, first ≤ 0.5 s",
    )
    show("Milliseconds that the event loop waited", loops, goal="≤ 10 ms")


def main() -> None:
    words = [one for one in sys.argv[1:] if not one.startswith("--")]
    sys.setswitchinterval(SWITCH_S)
    warm_up(Settings())  # the server also does this at its first use
    load_rest()
    with tempfile.TemporaryDirectory() as place:
        if words and not words[0].isdecimal():
            report(Path(words[0]).resolve(strict=True), Path(place))
            return
        folder = Path(place).resolve() / "tree"
        fill(folder, int(words[0]) if words else FILES)
        report(folder, Path(place))


if __name__ == "__main__":
    main()
