"""A question with a yes or a no at the terminal; the answer is an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from indwell.cli import STOPPED
from indwell.cli.typed_line import MOST_TRIES, YES_OR_NO


def yes_or_no(question: str, more: Mapping[str, bool] | None = None) -> int:
    """0 if the user says yes, 1 if not, 130 after Ctrl-C.

    Args:
        question: What is asked; "[y/N]" is put behind it.
        more: Other words that are a yes or a no.
    """
    try:
        return 0 if says_yes(lambda: input(f"{question} [y/N] "), sys.stdout, more) else 1
    except KeyboardInterrupt:
        print()
        return STOPPED


def says_yes(
    ask: Callable[[], str], stream: TextIO, more: Mapping[str, bool] | None = None
) -> bool:
    """Ask until the answer is a yes or a no; the end of input and too many others are a no.

    Args:
        ask: Shows the question and gives the line that was typed.
        stream: Where the question is shown.
        more: Other words that are a yes or a no.
    """
    known = {**YES_OR_NO, **(more or {})}
    for _ in range(MOST_TRIES):
        try:
            typed = ask().strip().lower()
        except EOFError:
            stream.write("\n")
            return False
        if typed in known:
            return known[typed]
        stream.write("Type y for yes, or n (or Enter) for no.\n")
        stream.flush()
    return False
