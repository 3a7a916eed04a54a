"""Defines the command-line options of ``indwell run``."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import Effort
from indwell.settings.model import Mode

Format: TypeAlias = Literal["text", "jsonl"]
"""The content of stdin: a single text, or one prompt per line."""


class RunLimits(msgspec.Struct, frozen=True):
    """The limits of a run; None means that only the limits in the settings apply.

    Attributes:
        cost: The limit in US dollars.
        tokens: The limit of input and output tokens for all model calls.
        rounds: The limit of model calls.
        seconds: The time limit for the whole run, in seconds.
    """

    cost: float | None = None
    tokens: int | None = None
    rounds: int | None = None
    seconds: float | None = None


_EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 the command line or stdin was wrong, 3 a limit ended it "
    "(rounds, budget or time), 130 stopped with Ctrl-C, 143 with SIGTERM."
)


def limit_options(run: argparse.ArgumentParser) -> None:
    """Add the options for limits to the parser."""
    run.epilog = _EPILOG
    run.add_argument(
        "--stdin",
        action="store_true",
        help="read the prompt from stdin; with a prompt on the command line, read a text that it "
        "is about",
    )
    run.add_argument(
        "--input-format",
        choices=("text", "jsonl"),
        default="text",
        help='jsonl: a prompt on each line of stdin, {"text": "…"}, one turn after the other in '
        "one session",
    )
    run.add_argument(
        "--quiet",
        "-q",
        action="store_true",
        help="print only the answer (on stdout) and failures (on stderr)",
    )
    run.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="write the answer to FILE instead of stdout; everything else still goes to stderr",
    )
    run.add_argument("--metered", action="store_true", help=argparse.SUPPRESS)
    run.add_argument(
        "--max-cost",
        type=dollars,
        metavar="USD",
        help="end the run before a model call that could exceed this cost",
    )
    run.add_argument(
        "--max-tokens",
        type=count,
        metavar="N",
        help="end the run before a model call that could exceed this number of input and output "
        "tokens",
    )
    run.add_argument(
        "--max-rounds",
        type=count,
        metavar="N",
        help="end the run after N model calls and a closing one; calls of sub-agents do not count",
    )
    run.add_argument(
        "--time-limit", type=_seconds, metavar="SECONDS", help="end the run after this many seconds"
    )


def limits_of(options: argparse.Namespace) -> RunLimits:
    """Return the limits of the parsed options."""
    return RunLimits(options.max_cost, options.max_tokens, options.max_rounds, options.time_limit)


def count(text: str) -> int:
    """Return a whole number of at least 1, for argparse."""
    if not (text.isascii() and text.isdecimal() and len(text) < 13 and int(text)):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def dollars(text: str) -> float:
    """Return an amount of US dollars, for argparse."""
    return _positive(text.removeprefix("$"), "an amount of US dollars, such as 0.50")


def _seconds(text: str) -> float:
    return _positive(text, "a number of seconds")


def _positive(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return number


NEWEST = "newest"  # The word is not a session's id, because ids begin with a date.


class RunOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell run``; ``place`` is ``PATH`` or ``PATH:L1-L2``.

    ``mode``, ``model`` and ``effort`` override the settings. ``session`` is the id of a session to
    resume, the beginning of its id, or ``NEWEST``. A resumed session needs no ``words``. ``turn``
    rewinds the session to the end of the given turn; ``files`` also restores the files. ``origin``
    is the id of a session whose task the new session inherits. ``trust`` trusts the folder during
    the run. ``approves`` carries out the session's plan. ``stdin`` reads prompts, or a text to
    which the prompt refers, from standard input. ``quiet`` shows only the answer and failures.
    ``output`` is the file for the answer.
    ``worktree`` lets the session work in a copy of the folder. ``metered`` asks the starting
    program before each model call.
    """

    words: str
    folder: Path
    place: str | None = None
    json: bool = False
    scripted: bool = False
    allow: bool = False
    mode: Mode | None = None
    model: str = ""
    effort: Effort | None = None
    session: str = ""
    turn: int | None = None
    files: bool = False
    origin: str = ""
    trust: bool = False
    approves: bool = False
    stdin: Format | None = None
    quiet: bool = False
    output: str | None = None
    worktree: bool = False
    metered: bool = False
    limits: RunLimits = RunLimits()
