"""Compares ``grep`` and ``glob`` with ripgrep in a tree of 40,000 files (median milliseconds).

    python benchmarks/search.py [--json] [FOLDER]

FOLDER keeps the generated tree for the next run. Each row compares one call of the tool with a
ripgrep process for the same search: the same rules for ignored files, hidden files and links,
unsorted and parallel. The script reads ripgrep's whole output; for a common word, only up to our
tool's limit. ``glob`` is compared with ``--files`` and the pattern, unsorted and newest first; the
tool sorts newest first. The table also contains the longest time that the event loop was blocked.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from time import perf_counter, thread_time

from report import show

from indwell.sandbox import find_program
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.known_texts import KnownTexts
from indwell.tools.searching.grep import SKIPPED
from indwell.tools.searching.ripgrep import WALK
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace

FILES = 40_000
ROUNDS = 11
GOAL_RATIO, GOAL_MS = 1.1, 15.0
RARE = "zyzzyva_needle"
WORDS = ("return", "value", "the", "import", "self", "index", "buffer", "config", "parse", "match")
ENDINGS = (".py", ".py", ".ts", ".ts", ".tsx", ".js", ".md", ".json", ".go", ".css", ".txt")
TOP = ("src", "src", "src", "lib", "tests", "docs", "packages", "node_modules", "build", ".github")


def make_tree(folder: Path) -> None:
    """Make a project with nested folders, ignored files and large files."""
    mark = folder / ".indwell-benchmark"
    if mark.exists():
        return
    chance = random.Random(7)
    lines = [
        f"{'    ' * chance.randrange(4)}{' '.join(chance.choices(WORDS, k=chance.randrange(2, 9)))}"
        for _ in range(2_000)
    ]
    folders = []
    for top in TOP:
        for _ in range(300):
            parts = [
                f"{chance.choice(WORDS)}{chance.randrange(40)}"
                for _ in range(chance.randrange(1, 6))
            ]
            folders.append(folder.joinpath(top, *parts))
    for one in folders:
        one.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        name = f"{chance.choice('abcdefx')}{number}{chance.choice(ENDINGS)}"
        n_lines = 60_000 if not (number + 17) % 8_000 else int(chance.expovariate(1 / 70)) + 1
        text = "\n".join(chance.choices(lines, k=n_lines))
        if not (number + 9) % 4_001:
            text += f"\n{RARE} = {number}\n"
        chance.choice(folders).joinpath(name).write_text(text)
    (folder / ".gitignore").write_text("node_modules/\n/build/\n*.log\n!keep.log\n")
    (folder / "src" / ".gitignore").write_text("*.generated.ts\n/parse1/\n")
    mark.write_text("")


class Held:
    """Measures the event loop's longest work between two checks, which are a millisecond apart.

    The measure is processor time, because other processes on a busy machine change the wall-clock
    time.
    """

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        before = thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = thread_time()
            self.longest = max(self.longest, now - before)
            before = now


def bare(argv: Sequence[str], folder: Path, until_lines: int = 0) -> float:
    """Return the milliseconds of a ripgrep process, which ends after ``until_lines`` if given."""
    began = perf_counter()
    with subprocess.Popen(
        [str(find_program("rg")), *argv],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        n_lines = 0
        while piece := process.stdout.read1(1 << 18):
            n_lines += piece.count(b"\n")
            if until_lines and n_lines >= until_lines:
                process.kill()
                break
    return (perf_counter() - began) * 1e3


def make_caller(folder: Path) -> Callable[..., Coroutine[object, object, Outcome]]:
    tools = standard_tools(Shell(folder))

    async def nowhere(_label: str, _text: str) -> Path:
        raise AssertionError

    context = ToolContext(
        workspace=DiskWorkspace([folder]),
        seen=KnownTexts(),
        spill=nowhere,
        on_output=lambda _: None,
    )

    async def call(tool: str, **arguments: object) -> Outcome:
        return await tools.bind(tool, json.dumps(arguments)).run(context)

    return call


async def compare(
    ours: Callable[[], Coroutine[object, object, Outcome]], peers: dict[str, Callable[[], float]]
) -> dict[str, float]:
    """Return one row; all programs run in turns, which spreads a busy moment over all."""
    taken: dict[str, list[float]] = {"indwell": [], **{name: [] for name in peers}}
    held = Held()
    for number in range(ROUNDS + 1):
        watcher = asyncio.create_task(held.watch())
        await asyncio.sleep(0.005)
        held.longest = 0 if number <= 1 else held.longest
        began = perf_counter()
        await ours()
        mine = (perf_counter() - began) * 1e3
        watcher.cancel()
        others = {name: run() for name, run in peers.items()}
        if number:  # the first round only warms the disk's cache and our imports
            taken["indwell"].append(mine)
            for name, time in others.items():
                taken[name].append(time)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    peer = medians[list(peers)[-1]]
    return {
        **medians,
        "ratio": medians["indwell"] / peer,
        "over": medians["indwell"] - GOAL_RATIO * peer,
        "loop held": held.longest * 1e3,
    }


def main() -> None:
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given[0] if given else temporary).resolve()
        make_tree(folder)
        asyncio.run(measure(folder))


async def measure(folder: Path) -> None:
    """Print both tables."""
    call = make_caller(folder)
    walk = [*WALK, *(f"--glob=!{name}" for name in SKIPPED)]

    def searching(pattern: str, *more: str, until_lines: int = 0) -> dict[str, Callable[[], float]]:
        argv = [
            "-n",
            *walk,
            "--max-columns=1200",
            "--max-columns-preview",
            *more,
            "-e",
            pattern,
        ]
        return {"rg": lambda: bare([*argv, "."], folder, until_lines)}

    grep = {
        "rare match": (RARE, {}, searching(RARE)),
        "no match": ("no_such_word", {}, searching("no_such_word")),
        "no match, no case": (
            "no_such_word",
            {"ignore_case": True},
            searching("no_such_word", "-i"),
        ),
        "expression": (r"\w+_needle = \d*9$", {}, searching(r"\w+_needle = \d*9$")),
        "common word": ("return", {}, searching("return", until_lines=200)),
        "common, *.md": (
            "buffer",
            {"glob": "*.md"},
            searching("buffer", "-tmd", until_lines=200),
        ),
        "rare, src/**/*.ts": (
            RARE,
            {"glob": "src/**/*.ts"},
            searching(RARE, "-g", "src/**/*.ts"),
        ),
    }
    rows = {}
    for name, (pattern, options, peers) in grep.items():
        rows[f"grep {name}"] = await compare(
            lambda pattern=pattern, options=options: call("grep", pattern=pattern, **options),
            peers,
        )
    show(
        f"grep, milliseconds, median of {ROUNDS}, {FILES:,} files",
        rows,
        goal=f"≤ {GOAL_RATIO} × rg + {GOAL_MS:g} ms: 'over' ≤ {GOAL_MS:g}; loop held ≤ 10",
    )
    rows = {}
    for pattern in ("**/*.py", "*.ts", "src/**/x*.{ts,tsx}", "**/*", "src/*/*.go", "*.none"):
        argv = ["--files", *WALK, "-g", "!.git", "-g", pattern]
        rows[f"glob {pattern}"] = await compare(
            lambda pattern=pattern: call("glob", pattern=pattern),
            {
                "rg --files": lambda argv=argv: bare(argv, folder),
                "rg, newest": lambda argv=argv: bare([*argv, "--sortr=modified"], folder),
            },
        )
    show(
        f"glob, milliseconds, median of {ROUNDS}; ratio to rg --files --sortr=modified",
        rows,
        goal=f"≤ {GOAL_RATIO} × rg, newest first + {GOAL_MS:g} ms: 'over' ≤ {GOAL_MS:g}",
    )


if __name__ == "__main__":
    main()
