"""The former line matching of Indwell, with which benchmarks/diff.py compares the present one.

The matching first takes the lines that are unique in both texts (patience diff, Bram Cohen). In
each gap it then finds the shortest edit (Myers), within a limit on the work.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

# limit on the work of one diff: at most 500 edited lines in one gap, about 0.1 s
MAX_STEPS = 250_000


class Block(NamedTuple):
    """Lines [a0, a1) of the old text became lines [b0, b1) of the new one."""

    a0: int
    a1: int
    b0: int
    b1: int


def changed_blocks(old: list[str], new: list[str]) -> list[Block]:
    """Return the changed blocks in order; equal lines separate the blocks."""
    blocks: list[Block] = []
    a, b, steps = 0, 0, MAX_STEPS
    for a_next, b_next in [*_anchors(old, new), (len(old), len(new))]:
        a0, b0, a1, b1 = a, b, a_next, b_next
        while a0 < a1 and b0 < b1 and old[a0] == new[b0]:
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and old[a1 - 1] == new[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
        if a0 == a1 or b0 == b1:
            found = [Block(0, a1 - a0, 0, b1 - b0)] if (a0, b0) != (a1, b1) else []
        else:
            found, spent = _shortest(old[a0:a1], new[b0:b1], math.isqrt(steps))
            steps -= spent
        blocks += [Block(a0 + i0, a0 + i1, b0 + j0, b0 + j1) for i0, i1, j0, j1 in found]
        a, b = a_next + 1, b_next + 1
    return blocks


def _shortest(a: list[str], b: list[str], max_edits: int) -> tuple[list[Block], int]:
    """Return the fewest lines to delete and insert (Myers, "An O(ND) Difference Algorithm", 1986).

    Return one block that replaces everything if there are more than ``max_edits``. The second value
    is the amount of work.
    """
    furthest = {1: 0}  # by diagonal: the furthest position in ``a``
    trail: list[dict[int, int]] = []
    for n_edits in range(max_edits + 1):
        trail.append(furthest.copy())
        for diagonal in range(-n_edits, n_edits + 1, 2):
            x = _entry(furthest, diagonal, n_edits)[1]
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _walk_back(trail, x, x - diagonal), n_edits * n_edits
    return [Block(0, len(a), 0, len(b))], max_edits * max_edits


def _entry(furthest: Mapping[int, int], diagonal: int, n_edits: int) -> tuple[int, int]:
    """Return the previous diagonal of the best path, and the position in ``a``."""
    inserts = diagonal == -n_edits or (
        diagonal != n_edits and furthest[diagonal - 1] < furthest[diagonal + 1]
    )
    if inserts:
        return diagonal + 1, furthest[diagonal + 1]
    return diagonal - 1, furthest[diagonal - 1] + 1


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> list[Block]:
    """Return the edits on the path to (x, y); join adjacent edits."""
    blocks: list[Block] = []
    for n_edits in range(len(trail) - 1, 0, -1):
        came_from, landed = _entry(trail[n_edits], x - y, n_edits)
        stop = Block(0, landed, 0, landed - (x - y))
        x = trail[n_edits][came_from]
        y = x - came_from
        step = Block(x, stop.a1, y, stop.b1)
        if blocks and (blocks[-1].a0, blocks[-1].b0) == (step.a1, step.b1):
            last = blocks.pop()
            step = Block(step.a0, last.a1, step.b0, last.b1)
        blocks.append(step)
    return blocks[::-1]


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return pairs of equal lines that are unique in both texts and in the same order."""
    n_old, n_new = Counter(old), Counter(new)
    place = {line: at for at, line in enumerate(new) if n_new[line] == 1}
    pairs = [(at, place[line]) for at, line in enumerate(old) if line in place and n_old[line] == 1]
    # The longest run of pairs that ascends in the new text too (patience sorting).
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        pile = bisect.bisect_left(tops, at)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(at)
            piles.append(number)
        else:
            tops[pile], piles[pile] = at, number
    chosen: list[tuple[int, int]] = []
    number = piles[-1] if piles else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]
