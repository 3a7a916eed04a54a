"""A question with a yes or a no at the terminal; the answer is an exit code."""

from __future__ import annotations

from indwell.cli import STOPPED


def yes_or_no(question: str, *more: str) -> int:
    """0 if the user says yes, 1 if not, 130 after Ctrl-C.

    Args:
        question: What is asked; "[y/N]" is put behind it.
        more: Words that are a yes besides.
    """
    try:
        return 0 if input(f"{question} [y/N] ").strip().lower() in {"y", "yes", *more} else 1
    except EOFError:
        print()
        return 1
    except KeyboardInterrupt:
        print()
        return STOPPED
