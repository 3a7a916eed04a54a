"""Defines the command-line options of ``indwell eval``."""

from __future__ import annotations

import argparse
from pathlib import Path

from indwell.cli.run.batch_grammar import BatchArguments, RunsArguments, options_of_many_runs
from indwell.cli.run.grammar import count
from indwell.messages import EFFORTS, Effort

SWE_BENCH = "swe-bench:"
"""The beginning of a suite that SWE-bench's package loads by the name of the data set."""


class EvalArguments(RunsArguments, frozen=True, kw_only=True):
    """The options of ``indwell eval``."""

    suite: str
    model: tuple[str, ...] = ()
    effort: tuple[Effort, ...] = ()
    settings: tuple[str, ...] = ()
    seeds: int = 1
    only: str = "*"
    grade: bool = False
    graded: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the suite in a report."""
        return Path(self.suite.removeprefix(SWE_BENCH)).stem

    @property
    def place(self) -> Path:
        """The folder for results and report."""
        return Path(self.to or f"{self.name}.eval").resolve()

    def batch(self, *, trust: bool) -> BatchArguments:
        """Return the options of the batch that runs the tasks."""
        shared = {name: getattr(self, name) for name in RunsArguments.__struct_fields__}
        own = {"to": str(self.place), "trust": trust, "json": self.json and self.dry_run}
        return BatchArguments(tasks=self.suite, **{**shared, **own})


def evaluate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell eval`` to its parser."""
    command.description = (
        "Runs a suite of tasks with hidden checks, and reports pass rates with intervals, tokens, "
        "cost, rounds and time, as a table, as JSON and as an HTML page."
    )
    command.epilog = (
        "Exit codes: 0 each run has an outcome, 1 a run has no outcome, 2 the command line or a "
        "task was wrong, 3 --max-cost is used up, 130 Ctrl-C, 143 SIGTERM."
    )
    command.add_argument(
        "suite",
        metavar="SUITE",
        help="`shipped`, `sessions`, a state folder, a file of tasks as in `indwell batch`, or a "
        "data set of SWE-bench (.json, .jsonl, .parquet, or `swe-bench:NAME` from a hub)",
    )
    command.add_argument(
        "--to", default="", metavar="FOLDER", help="folder for results (default: SUITE.eval)"
    )
    command.add_argument(
        "--model",
        action="append",
        default=[],
        help="a model to measure; the first is compared with each other (repeatable)",
    )
    command.add_argument(
        "--effort",
        action="append",
        default=[],
        choices=EFFORTS,
        help="a reasoning effort to measure, for each model (repeatable)",
    )
    command.add_argument(
        "--settings",
        action="append",
        default=[],
        metavar="FILE",
        help="a .toml file with settings to measure, for each model and effort (repeatable)",
    )
    command.add_argument(
        "--seeds",
        type=count,
        default=1,
        metavar="N",
        help="runs of each task; the shipped suite has other names and numbers for each seed",
    )
    command.add_argument(
        "--only", default="*", metavar="PATTERN", help="only tasks with such an id, as 'fix-*'"
    )
    command.add_argument(
        "--graded",
        action="append",
        default=[],
        metavar="FILE",
        help="a report of SWE-bench's own package (repeatable)",
    )
    for name, words in (
        ("--grade", "check the patches of SWE-bench with its own package, in Docker"),
        ("--resume", "go on with the runs that have no result, and write the report again"),
        ("--dry-run", "print what would run, and what it would cost at most"),
        ("--trust", "trust every workspace; the workspaces of `shipped` are always trusted"),
        ("--allow-commands", "run commands without asking, in the sandbox"),
        ("--scripted", "use the scripted model that ships with Indwell, to try a suite"),
        ("--json", "print the report as one JSON object"),
    ):
        command.add_argument(name, action="store_true", help=words)
    options_of_many_runs(command)
