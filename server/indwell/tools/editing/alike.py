"""Finds whole lines that differ from the wanted ones only in trailing blanks.

Nobody sees those blanks, editors and formatters remove them, and they hardly ever matter; so if
exactly one place fits, it is the place. Indentation, tabs for spaces, quotes, case and anything
else are never guessed (ENC-11). This module knows no disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indwell.workspace.text import split_lines

MAX_PLACES = 1_000  # places of one line that are examined
BLANKS = " \t\r\n"


def find_alike(text: str, old: str) -> tuple[int, int] | None:
    """Return where ``old`` occurs except for trailing blanks; None unless it is one place."""
    wanted = [line.rstrip(BLANKS) for line in split_lines(old)]
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return None
    if not 0 < text.count(wanted[number]) <= MAX_PLACES:
        return None
    lines = split_lines(text)
    plain = [line.rstrip(BLANKS) for line in lines]
    found: int | None = None
    for first in _candidates(plain, wanted[number], number):
        if plain[first : first + len(wanted)] != wanted:
            continue
        if found is not None:
            return None
        found = first
    if found is None:
        return None
    start = sum(map(len, lines[:found]))
    there = lines[found : found + len(wanted)]
    stop = start + sum(map(len, there))
    if not old.endswith(("\n", "\r")):
        stop -= len(there[-1]) - len(there[-1].rstrip("\r\n"))
    return start, stop


def _candidates(lines: Sequence[str], line: str, number: int) -> Iterator[int]:
    """Return first lines at which the wanted ones may begin; ``line`` has this number."""
    at = number - 1
    while True:
        try:
            at = lines.index(line, at + 1)
        except ValueError:
            return
        yield at - number  # not below 0, where a slice would begin at the end
