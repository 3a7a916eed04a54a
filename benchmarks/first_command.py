"""What the first command of a session costs in a workspace of very many files.

    python benchmarks/first_command.py [FILES] [--json]

The model answers at once, which is the hardest case: a real one takes a second or more until its
first call, and the look at the workspace goes on meanwhile. The floor is ``os.walk`` over the same
files in the same run. The goal: the first ``echo`` takes at most 0.5 s, and nothing keeps the event
loop from its work for over 10 ms.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from report import percentile, show

from indwell.agent import events
from indwell.agent.prompt import Prompt
from indwell.agent.turn import run_turn
from indwell.cli.chosen_model import Model
from indwell.cli.compose import open_session
from indwell.cli.folder_trust import FolderTrust
from indwell.cli.review_ledger import open_ledger
from indwell.cli.serve import SWITCH_S
from indwell.cli.terminal_approver import AllowingApprover
from indwell.messages import Reply, ToolCall
from indwell.providers.scripted import ScriptedProvider
from indwell.settings.model import Settings
from indwell.workspace.disk import DiskWorkspace

FILES = 200_000
PER_FOLDER = 50
TIMES = 3
COMMANDS = {"`echo`": "echo", "one that may write (`touch`)": "touch made"}
TICK_S = 0.001


def fill(folder: Path, n_files: int) -> None:
    """Make folders of small source files."""
    for number in range(0, n_files, PER_FOLDER):
        below = folder / f"p{number // 5_000:03}" / f"m{number // PER_FOLDER % 100:02}"
        below.mkdir(parents=True)
        for name in range(min(PER_FOLDER, n_files - number)):
            (below / f"f{number + name}.py").write_text(f"x = {name}\n" * 30)


def walked(folder: Path) -> float:
    """Seconds that ``os.walk`` takes."""
    began = perf_counter()
    assert sum(len(names) for _, _, names in os.walk(folder))
    return perf_counter() - began


async def waits(taken: list[float]) -> None:
    """Milliseconds that a task of the loop waited beyond its time, until it is stopped."""
    while True:
        began = perf_counter()
        await asyncio.sleep(TICK_S)
        taken.append(max(perf_counter() - began - TICK_S, 0.0) * 1e3)


async def measured(folder: Path, state: Path, command: str) -> tuple[list[float], list[float]]:
    """Seconds of each command, from its call to its result; and the waits of the loop."""
    calls = [
        ToolCall(f"c{number}", "bash", f'{{"command": "{command} {number}"}}')
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
    began: dict[str, float] = {}
    seconds: list[float] = []

    def hear(event: events.Event) -> None:
        if isinstance(event, events.ToolStarted):
            began[event.id] = perf_counter()
        elif isinstance(event, events.ToolFinished):
            seconds.append(perf_counter() - began[event.id])
        elif isinstance(event, events.Notice | events.TurnFinished) and event.message:
            sys.stderr.write(f"{event.message}\n")

    taken: list[float] = []
    ticking = asyncio.create_task(waits(taken))
    try:
        await run_turn(session, Prompt("run it"), hear)
    finally:
        ticking.cancel()
        await session.close()
    return seconds, taken


def main() -> None:
    numbers = [one for one in sys.argv[1:] if one.isdecimal()]
    n_files = int(numbers[0]) if numbers else FILES
    sys.setswitchinterval(SWITCH_S)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "tree"
        fill(folder, n_files)
        floor = min(walked(folder) for _ in range(3))
        rows = {"os.walk (floor)": {"seconds": floor, "times os.walk": 1.0}}
        waited: list[float] = []
        for words, command in COMMANDS.items():
            state = Path(place, f"state-{len(rows)}")
            (first, *others), taken = asyncio.run(measured(folder, state, command))
            rows[f"{words}, first"] = {"seconds": first, "times os.walk": first / floor}
            rows[f"{words}, later"] = {"seconds": min(others), "times os.walk": min(others) / floor}
            waited += taken
    show(
        f"Seconds of a command in a workspace of {n_files:,} files",
        rows,
        goal="`echo`, first ≤ 0.5 s",
    )
    show(
        "Milliseconds that the event loop waited",
        {"waits": {"p99": percentile(waited, 99), "largest": max(waited)}},
        goal="≤ 10 ms",
    )


if __name__ == "__main__":
    main()
