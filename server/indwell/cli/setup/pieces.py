"""What was put into a text, as pieces that can be cut out again byte for byte. Pure.

A piece remembers its own text, and of the user's text around it only digests: what stands there
may be secret.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from indwell.cli.setup.refusing import CannotMerge

_AROUND = 80  # characters on each side that tell two places apart
_BY_CHARACTER = 4_000  # above that no comparison by character
_LONG_LINES = 3  # so long a text stands once, or was copied by hand


class Piece(msgspec.Struct, frozen=True):
    """A text that was put in, and digests of what stood before and behind it."""

    text: str
    before: str
    behind: str


def pieces(before: str, after: str) -> tuple[Piece, ...]:
    """What ``after`` has more than ``before``.

    Raises:
        CannotMerge: Something of ``before`` is not in it any more.
    """
    found = []
    for start, end in _insertions(before, after):
        found.append(Piece(after[start:end], *_around(after, start, end)))
    if cut(after, found) != before:
        raise CannotMerge("it is written in a way that a change would rewrite")
    return tuple(found)


def cut(text: str, found: Sequence[Piece]) -> str:
    """The text without the pieces.

    Raises:
        CannotMerge: One of them is not there as it was put in, or more than once.
    """
    kept, done = [], 0
    for piece in found:
        start = _place(text, piece, done)
        kept.append(text[done:start])
        done = start + len(piece.text)
    return "".join(kept) + text[done:]


def _place(text: str, piece: Piece, begin: int) -> int:
    places = list(_places(text, piece.text))
    if len(places) == 1 and piece.text.count("\n") >= _LONG_LINES:
        exact = places
    else:
        wanted = (piece.before, piece.behind)
        exact = [at for at in places if _around(text, at, at + len(piece.text)) == wanted]
    if len(exact) != 1 or exact[0] < begin:
        raise CannotMerge("what setup wrote there was changed since")
    return exact[0]


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    return _digest(text[max(0, start - _AROUND) : start]), _digest(text[end : end + _AROUND])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _insertions(before: str, after: str) -> Iterator[tuple[int, int]]:
    """Where ``after`` has more; first as one place, then by lines."""
    whole = _one(before, after, 0)
    if whole is not None:
        yield from whole
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))
    lines = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in lines.get_opcodes():
        if kind != "equal":
            parts = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
            yield from _within(*parts, starts[new_from])


def _within(before: str, after: str, at: int) -> Iterator[tuple[int, int]]:
    whole = _one(before, after, at)
    if whole is None and len(before) + len(after) <= _BY_CHARACTER:
        match = difflib.SequenceMatcher(None, before, after, autojunk=False)
        codes = match.get_opcodes()
        if {code[0] for code in codes} <= {"equal", "insert"}:
            whole = [(at + one[3], at + one[4]) for one in codes if one[0] == "insert"]
    if whole is None:
        raise CannotMerge("it is written in a way that a change would rewrite")
    yield from whole


def _one(before: str, after: str, at: int) -> list[tuple[int, int]] | None:
    """The one place where ``after`` has more; None if it is more than one place, or less."""
    if len(after) < len(before):
        return None
    head = _alike(before, after)
    tail = len(before) - head
    if tail and not after.endswith(before[head:]):
        return None
    return [] if len(after) == len(before) else [(at + head, at + len(after) - tail)]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    for count, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return count
    return min(len(one), len(other))
