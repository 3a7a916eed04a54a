"""Finds wanted lines that a model wrote a little differently: the one place, or similar ones. Pure.

Trailing blanks may differ: nobody sees them, editors and formatters remove them, and they hardly
ever matter, so if exactly one place fits, it is the place. Indentation, tabs for spaces, quotes,
case and anything else are never guessed (ENC-11). Where nothing fits, the model is shown the most
similar places: those that hold the most wanted lines, ignoring white space, or else those with a
line like the longest one. The work is bounded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from indwell.lazy_pattern import lazy_pattern
from indwell.tools.truncate import untorn
from indwell.workspace.text import shown, split_lines

MAX_VOTES = 5  # places for which one line of old votes
SHOWN_LINES = 12  # lines of the best place
OTHER_LINES = 3  # lines of each other place
SHOWN_CHARS = 1_200
MAX_PLACES = 3
LIKENESS = 60  # percent by which one line must be like the wanted one
FUZZY_CHARS = 200

_NUMBERED = lazy_pattern(r"\s*\d+(\t| ?\| ?)")
_QUOTES = str.maketrans(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb", '\'\'\'\'""""""'
)


def closest(text: str, old: str) -> str:
    """Say where something like ``old`` is, the best place first, with its lines."""
    wanted = [line.rstrip("\r\n") for line in split_lines(old)]
    if wanted and all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return "; leave out the line numbers and tabs that read_file puts before each line"
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    starts = _by_equal_lines(lines, wanted) or _by_likeness(lines, wanted)
    if not starts:
        return "; read_file it again, nothing there is like it"
    there = lines[starts[0] : starts[0] + len(wanted)]
    words = f"; {_difference(there, wanted)}the closest place is line {starts[0] + 1}:\n"
    words += _numbered(lines, starts[0], min(len(wanted), SHOWN_LINES))
    for start in starts[1:]:
        words += f"\nanother is line {start + 1}:\n"
        words += _numbered(lines, start, min(len(wanted), OTHER_LINES))
    return words


def _difference(there: Sequence[str], wanted: Sequence[str]) -> str:
    """Name the difference, if it is a single one."""
    if _alike(there, wanted, _squeezed):
        return f"only white space differs{_indentation(there, wanted)}; "
    if _alike(there, wanted, _composed):
        return (
            "only the form of some characters differs (Unicode NFC and NFD), so copy them from "
            "read_file; "
        )
    if _alike(there, wanted, lambda text: _squeezed(text.translate(_QUOTES))):
        return "only quotation marks differ; "
    return "only case differs; " if _alike(there, wanted, str.casefold) else ""


def _indentation(there: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the difference in indentation, if it is the same for all lines."""
    pairs = [pair for pair in zip(there, wanted, strict=False) if pair[0].strip()]
    if any(one.strip() != other.strip() for one, other in pairs):
        return ""
    amounts = {len(_indent(one)) - len(_indent(other)) for one, other in pairs}
    kinds = {char for pair in pairs for line in pair for char in _indent(line)}
    if len(amounts) != 1 or amounts == {0} or len(kinds) != 1:
        return ""
    (amount,), (kind,) = amounts, kinds
    word = {" ": "space", "\t": "tab"}.get(kind, "blank") + ("s" if abs(amount) > 1 else "")
    return f", each line is indented by {abs(amount)} {word} {'more' if amount > 0 else 'less'}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _alike(there: Sequence[str], wanted: Sequence[str], plain: Callable[[str], str]) -> bool:
    """Are the wanted lines there, except for what ``plain`` removes?

    The first and last ones may be parts of lines.
    """
    return plain("\n".join(wanted)).strip() in plain("\n".join(there))


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _numbered(lines: Sequence[str], start: int, n_lines: int) -> str:
    there = enumerate(lines[start : start + n_lines], start + 1)
    text = "\n".join(f"{number}\t{line}" for number, line in there)
    return shown(text if len(text) <= SHOWN_CHARS else untorn(text[:SHOWN_CHARS]))


def _by_equal_lines(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return places with the most lines of ``wanted``, ignoring white space; best first."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(map(_squeezed, wanted)):
        if line:
            places.setdefault(line, []).append(number)
    votes: dict[int, int] = {}
    for number, line in enumerate(map(_squeezed, lines)):
        for wanted_number in places.get(line, ())[:MAX_VOTES]:
            start = max(number - wanted_number, 0)
            # A brace alone says little about a place; a long line says much.
            votes[start] = votes.get(start, 0) + min(len(line), 40)
    if not votes:
        return []
    best = sorted(votes, key=lambda start: (-votes[start], start))[: 4 * MAX_PLACES]
    chosen = [best[0]]
    for start in best[1:]:
        is_apart = all(abs(start - other) >= len(wanted) for other in chosen)
        if is_apart and 3 * votes[start] >= 2 * votes[best[0]]:
            chosen.append(start)
    return chosen[:MAX_PLACES]


def _by_likeness(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return places of lines like the longest line of ``wanted``; best first."""
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return []
    query = _plain_start(wanted[number])
    found = _extract()(query, map(_plain_start, lines), score_cutoff=LIKENESS, limit=MAX_PLACES)
    if not found:
        return []
    good = [(at, score) for _, score, at in found if score > found[0][1] - 10]
    return [max(at - number, 0) for at, _ in good]


def _plain_start(line: str) -> str:
    """Return a line for comparison, without differences of quotes, case and character form."""
    start = line.strip()[:FUZZY_CHARS]
    return start if start.isascii() else _composed(start.translate(_QUOTES))


@cache
def _extract() -> Callable[..., Any]:
    from rapidfuzz.process import extract  # noqa: PLC0415 # 15 ms that start-up need not pay

    return extract


MOST_EXAMINED = 1_000  # places of one line that are examined
BLANKS = " \t\r\n"


def find_alike(text: str, old: str) -> tuple[int, int] | None:
    """Return where ``old`` occurs except for trailing blanks; None unless it is one place."""
    wanted = [line.rstrip(BLANKS) for line in split_lines(old)]
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return None
    if not 0 < text.count(wanted[number]) <= MOST_EXAMINED:
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
