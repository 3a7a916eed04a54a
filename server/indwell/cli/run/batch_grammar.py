"""Defines the command-line options of ``indwell batch``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

import msgspec

from indwell.cli.run.grammar import count, dollars


class RunsArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options that ``indwell batch`` and ``indwell eval`` share."""

    to: str = ""
    resume: bool = False
    dry_run: bool = False
    jobs: int | None = None
    on: Literal["local", "ray"] = "local"
    max_cost: float | None = None
    tokens_per_minute: int | None = None
    trust: bool = False
    allow_commands: bool = False
    secret: tuple[str, ...] = ()
    scripted: bool = False
    json: bool = False


class BatchArguments(RunsArguments, frozen=True, kw_only=True):
    """The options of ``indwell batch``."""

    tasks: str

    @property
    def place(self) -> str:
        """The folder or the address for the results."""
        if "://" in self.to:
            return self.to.rstrip("/")
        return str(Path(self.to or f"{Path(self.tasks).stem}.batch").resolve())


def batch_options(batch: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell batch`` to its parser."""
    batch.description = (
        "Runs tasks over many repositories. Each task runs in a workspace of its own and ends with "
        "one result: a patch, checks before and after, a receipt and the session's log."
    )
    batch.epilog = (
        "Exit codes: 0 every task is done and its check passed, 1 a task failed or has no result, "
        "2 the command line or a task was wrong, 3 --max-cost is used up, 130 Ctrl-C, 143 SIGTERM."
    )
    batch.add_argument("tasks", metavar="TASKS", help="a .toml file, or JSON lines")
    batch.add_argument(
        "--to", default="", metavar="FOLDER", help="folder for results (default: TASKS.batch)"
    )
    for name, words in (
        ("--resume", "go on with the tasks that have no result in the folder"),
        ("--dry-run", "print what would run, and what it would cost at most"),
        ("--trust", "trust every workspace; Indwell only reads a workspace that is not trusted"),
        ("--allow-commands", "run commands without asking, in the sandbox"),
        ("--scripted", "use the scripted model that ships with Indwell"),
        ("--json", "print one event per line"),
    ):
        batch.add_argument(name, action="store_true", help=words)
    options_of_many_runs(batch)


def options_of_many_runs(command: argparse.ArgumentParser) -> None:
    """Add the options that decide where many runs happen, and what they may use together."""
    command.add_argument(
        "--jobs", type=count, metavar="N", help="runs at once (default: processors)"
    )
    command.add_argument(
        "--on", choices=("local", "ray"), default="local", help="where runs happen (default: local)"
    )
    command.add_argument(
        "--max-cost",
        type=dollars,
        metavar="USD",
        help="end before a model call that could raise the cost of all runs above this amount",
    )
    command.add_argument(
        "--tokens-per-minute",
        type=count,
        metavar="N",
        help="limit of tokens of all model calls in a minute",
    )
    command.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME",
        help="variable that each worker needs in its own environment (repeatable)",
    )
