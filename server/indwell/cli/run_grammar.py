"""The grammar of ``indwell run`` for scripts: where its prompts come from, and what it may take."""

from __future__ import annotations

import argparse
import math
from typing import Literal, TypeAlias

import msgspec

Format: TypeAlias = Literal["text", "jsonl"]
"""What stands on stdin: one text, or a prompt on each line."""


class Limits(msgspec.Struct, frozen=True):
    """What a run may take at most; None: as much as the settings allow.

    Attributes:
        cost: US dollars.
        tokens: In and out of all model calls.
        rounds: Model calls.
        seconds: From its beginning to its end.
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
    """Put them into the grammar."""
    run.epilog = _EPILOG
    run.add_argument(
        "--stdin",
        action="store_true",
        help="read the prompt from stdin; with words, a text that they are about",
    )
    run.add_argument(
        "--input-format",
        choices=("text", "jsonl"),
        default="text",
        help='jsonl: a prompt on each line of stdin, {"text": "…"}, one turn after the other in '
        "one session",
    )
    run.add_argument(
        "--max-cost",
        type=_dollars,
        metavar="USD",
        help="end before a model call that could make this run cost more",
    )
    run.add_argument(
        "--max-tokens",
        type=_count,
        metavar="N",
        help="end before a model call that could make it take more tokens, in and out",
    )
    run.add_argument(
        "--max-rounds",
        type=_count,
        metavar="N",
        help="end it after N model calls and a closing word; sub-agents' own not counted",
    )
    run.add_argument(
        "--time-limit", type=_seconds, metavar="SECONDS", help="end it after so many seconds"
    )


def limits_of(options: argparse.Namespace) -> Limits:
    """What was said."""
    return Limits(options.max_cost, options.max_tokens, options.max_rounds, options.time_limit)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 13 and int(text)):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


def _dollars(text: str) -> float:
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
