"""Where whole lines stand that differ from the wanted ones in blanks at their ends alone.

Nobody sees those blanks, editors and formatters take them away, and they mean next to nothing; so
where one place fits and no other, it is the place. Indentation, tabs for spaces, quotes, case and
anything else are never guessed (ENC-11). This module knows no disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from indwell.workspace.text import split_lines

MAX_PLACES = 1_000  # places of one line that are looked at
BLANKS = " \t\r\n"


def find_alike(text: str, old: str) -> tuple[int, int] | None:
    """From where to where ``old`` stands but for blanks at line ends; None if not just once."""
    wanted = [line.rstrip(BLANKS) for line in split_lines(old)]
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return None
    if text.count(wanted[number]) > MAX_PLACES:
        return None
    found: tuple[int, int] | None = None
    for start in _candidates(text, wanted[number], number):
        lines = _lines_from(text, start, len(wanted))
        if [line.rstrip(BLANKS) for line in lines] != wanted:
            continue
        if found is not None:
            return None
        stop = start + sum(map(len, lines))
        if not old.endswith(("\n", "\r")):
            stop -= len(lines[-1]) - len(lines[-1].rstrip("\r\n"))
        found = start, stop
    return found


def _candidates(text: str, line: str, number: int) -> Iterator[int]:
    """Line starts from which the wanted lines may stand: ``line`` is the one of that number."""
    last, at = -1, text.find(line)
    while at >= 0:
        start: int | None = _line_start(text, at)
        for _ in range(number):
            start = _line_before(text, start)
        if start is not None and start != last:
            last = start
            yield start
        at = text.find(line, at + len(line))


def _line_start(text: str, at: int) -> int:
    feed = text.rfind("\n", 0, at)
    return max(feed, text.rfind("\r", feed + 1, at)) + 1


def _line_before(text: str, start: int | None) -> int | None:
    """The start of the line before the one that begins at ``start``."""
    if not start:
        return None
    stop = start - 2 if text[max(start - 2, 0) : start] == "\r\n" else start - 1
    return _line_start(text, stop)


def _lines_from(text: str, start: int, n_lines: int) -> list[str]:
    size = 64 * n_lines
    while True:
        lines = split_lines(text[start : start + size])
        if len(lines) > n_lines or start + size >= len(text):
            return lines[:n_lines]
        size *= 4
