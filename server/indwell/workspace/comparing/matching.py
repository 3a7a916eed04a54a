"""Finds the equal lines of two texts, and the changed blocks between them.

Each line becomes a small number; a longest common subsequence of the numbers is equal (rapidfuzz:
Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004; one bit for each pair of lines).
Larger inputs are first split at lines that are unique in both texts (patience diff, Bram Cohen), so
that time and memory stay bounded. Apart from the ``common_`` functions, all functions of this
module work on lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

from indwell.lazy_pattern import lazy_pattern

WHOLE = 1 << 18  # The direct algorithm takes 0.05 ms and 32 KB for this many pairs of lines.
MOST = 1 << 25  # One computation takes 3 ms and 4 MB for this many pairs of lines.
PER_ANCHOR = 64  # A large text is split at one of 64 lines.
MAX_ANCHORS = 2_048
OFTEN = 8  # A line that occurs more often does not identify a position.
WINDOW = 4_096  # Texts of up to this many lines are matched without a split, in 1.5 ms.


class MatchingBlock(NamedTuple):
    """Lines [a0, a1) of the old text became lines [b0, b1) of the new text."""

    a0: int
    a1: int
    b0: int
    b1: int


class _EqualRun(NamedTuple):
    """Equal lines from ``a`` in the old text and from ``b`` in the new text."""

    a: int
    b: int
    size: int


def changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[MatchingBlock]:
    """Return the changed blocks in order; at least one equal line separates two blocks."""
    # Rapidfuzz compares hashes; a small number is its own hash, so there are no collisions.
    numbers = dict(zip(new, range(len(new)), strict=True))
    there = list(map(numbers.get, old, repeat(-1)))
    here = list(map(numbers.__getitem__, new))
    solve = _exact if len(old) * len(new) <= WHOLE else _split
    blocks: list[MatchingBlock] = []
    a = b = 0
    for run in [*solve(there, here), _EqualRun(len(old), len(new), 0)]:
        if a < run.a or b < run.b:
            blocks.append(MatchingBlock(a, run.a, b, run.b))
        a, b = run.a + run.size, run.b + run.size
    return blocks


def _exact(a: Sequence[int], b: Sequence[int]) -> list[_EqualRun]:
    """Return the equal runs of a longest common subsequence."""
    return [
        _EqualRun(a0, b0, a1 - a0) for kind, a0, a1, b0, _ in _opcodes()(a, b) if kind == "equal"
    ]


@cache
def _opcodes() -> Callable[[Sequence[int], Sequence[int]], Any]:
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 # 15 ms that start-up need not pay

    return LCSseq.opcodes


def _split(a: Sequence[int], b: Sequence[int]) -> Iterator[_EqualRun]:
    """Yield the equal runs, solved separately between anchors."""
    a0 = b0 = 0
    for a1, b1 in [*_anchors(a, b), (len(a), len(b))]:
        solve = _exact if (a1 - a0) * (b1 - b0) <= WHOLE else _by_telling_lines
        for run in solve(a[a0:a1], b[b0:b1]):
            yield _EqualRun(a0 + run.a, b0 + run.b, run.size)
        a0, b0 = a1, b1  # The anchor itself begins the next part.


def _anchors(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return some pairs of equal lines that are unique in both texts and in the same order."""
    n_b = Counter(b)
    both = [number for number, n_a in Counter(a).items() if n_a == 1 == n_b.get(number)]
    # One anchor per ``EVERY`` lines is enough to split the work, and few enough to be fast.
    n_wanted = min(len(a) // PER_ANCHOR, MAX_ANCHORS) + 1
    both = both[:: 1 + len(both) // n_wanted]
    a_place = dict(zip(a, range(len(a)), strict=True))
    b_place = dict(zip(b, range(len(b)), strict=True))
    ordered = sorted(both, key=b_place.__getitem__)
    return [
        (a_place[number], b_place[number])
        for run in _exact(both, ordered)
        for number in both[run.a : run.a + run.size]
    ]


def _by_telling_lines(a: Sequence[int], b: Sequence[int]) -> Iterator[_EqualRun]:
    """Yield equal runs around distinctive lines, because most other lines match by accident."""
    telling = _telling(a, b)
    a_at = [at for at, number in enumerate(a) if number in telling]
    b_at = [at for at, number in enumerate(b) if number in telling]
    solve: Callable[[Sequence[int], Sequence[int]], Iterable[_EqualRun]]
    solve = _exact if len(a_at) * len(b_at) <= MOST else _by_windows
    a_stop = b_stop = 0
    for run in solve([a[at] for at in a_at], [b[at] for at in b_at]):
        for i in range(run.size):
            x, y = a_at[run.a + i], b_at[run.b + i]
            if x < a_stop or y < b_stop:
                continue  # The line is within the previous run.
            n_before = 0
            while x - n_before > a_stop and y - n_before > b_stop:
                if a[x - n_before - 1] != b[y - n_before - 1]:
                    break
                n_before += 1
            n_after = _n_same(a, b, x, y)
            yield _EqualRun(x - n_before, y - n_before, n_before + n_after)
            a_stop, b_stop = x + n_after, y + n_after


def _telling(a: Sequence[int], b: Sequence[int]) -> AbstractSet[int]:
    """Return lines that occur rarely in both texts, or all common lines if there are none."""
    n_a, n_b = Counter(a), Counter(b)
    both = n_a.keys() & n_b.keys()
    most = max(OFTEN, min(len(a), len(b)) // 64)
    return {number for number in both if n_a[number] <= most and n_b[number] <= most} or both


def _n_same(a: Sequence[int], b: Sequence[int], x: int, y: int) -> int:
    """Count equal lines from ``x`` and ``y`` on, by doubling and halving."""
    most = min(len(a) - x, len(b) - y)
    n_same, step = 0, 1
    is_growing = True
    while step:
        stop = n_same + step
        if stop <= most and a[x + n_same : x + stop] == b[y + n_same : y + stop]:
            n_same = stop
        else:
            is_growing = False
        step = step * 2 if is_growing else step // 2
    return n_same


def _by_windows(a: Sequence[int], b: Sequence[int]) -> Iterator[_EqualRun]:
    """Yield equal runs of lines that are too repetitive for a split; not always optimal."""
    a0 = b0 = 0
    while a0 < len(a) and b0 < len(b):
        is_last = a0 + WINDOW >= len(a) and b0 + WINDOW >= len(b)
        # Matches at the end of a window may be better in the next window.
        room = WINDOW if is_last else WINDOW * 3 // 4
        a_stop = b_stop = 0
        for run in _exact(a[a0 : a0 + WINDOW], b[b0 : b0 + WINDOW]):
            size = min(run.size, room - run.a, room - run.b)
            if size > 0:
                yield _EqualRun(a0 + run.a, b0 + run.b, size)
                a_stop, b_stop = run.a + size, run.b + size
        if is_last:
            return
        if max(a_stop, b_stop) < WINDOW // 4:  # Advance, with or without a match.
            a_stop = b_stop = WINDOW // 4
        a0, b0 = a0 + a_stop, b0 + b_stop


_END = lazy_pattern(r"\r\n|\n|\r")


def common_prefix(old: str, new: str, limit: int, old_start: int = 0, new_start: int = 0) -> int:
    """Count the characters, at most ``limit``, that two texts share from given offsets on."""
    low, step, high = 0, 64, limit
    while low < high:
        stop = min(low + step, high)
        one = old[old_start + low : old_start + stop]
        if one == new[new_start + low : new_start + stop]:
            low = stop
            step *= 2
        else:
            high = stop - 1
            step = (high - low + 1) // 2
    return low


def common_suffix(old: str, new: str, limit: int) -> int:
    """Count the characters, at most ``limit``, that two texts share at their end."""
    low, step, high = 0, 64, limit
    while low < high:
        stop = min(low + step, high)
        one = old[len(old) - stop : len(old) - low]
        if one == new[len(new) - stop : len(new) - low]:
            low = stop
            step *= 2
        else:
            high = stop - 1
            step = (high - low + 1) // 2
    return low


def common_lines(old: str, new: str, limit: int, old_start: int = 0, new_start: int = 0) -> int:
    """Count shared characters as ``common_prefix`` does, from line starts and in whole lines."""
    size = common_prefix(old, new, limit, old_start, new_start)
    while size and not (
        is_line_start(old, old_start + size) and is_line_start(new, new_start + size)
    ):
        stop = old_start + size
        found = max(old.rfind("\n", old_start, stop), old.rfind("\r", old_start, stop)) + 1
        size = max((found if found < stop else found - 1) - old_start, 0)
    return size


def common_last_lines(old: str, new: str, limit: int) -> int:
    """Count shared characters as ``common_suffix`` does, in whole lines of both texts."""
    size = common_suffix(old, new, limit)
    while size and not (
        is_line_start(old, len(old) - size) and is_line_start(new, len(new) - size)
    ):
        line_end = _END.search(old, len(old) - size)
        size = 0 if line_end is None else len(old) - line_end.end()
    return size


def common_characters(old: str, new: str) -> tuple[int, int]:
    """Count the characters shared at both ends, without splitting a surrogate pair or a CRLF."""
    front = common_prefix(old, new, min(len(old), len(new)))
    while front and (_splits(old, front) or _splits(new, front)):
        front -= 1
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    while back and (_splits(old, len(old) - back) or _splits(new, len(new) - back)):
        back -= 1
    return front, back


def is_line_start(text: str, offset: int) -> bool:
    r"""Return whether a line begins at ``offset``, which is never inside a CRLF."""
    if offset == 0 or text[offset - 1] == "\n":
        return True
    return text[offset - 1] == "\r" and text[offset : offset + 1] != "\n"


def _splits(text: str, offset: int) -> bool:
    """Return whether a cut at ``offset`` splits a CRLF or a surrogate pair."""
    if not 0 < offset < len(text):
        return False
    left, right = text[offset - 1], text[offset]
    is_pair = "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff"
    return is_pair or (left == "\r" and right == "\n")
