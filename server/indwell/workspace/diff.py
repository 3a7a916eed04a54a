"""What changed between two texts: as a unified diff, as two counts, as minimal edits.

The equal ends are cut off first, at the speed of memory comparison; so a local edit of a huge file
costs what was edited. What is left is matched by lines: first by those that are unique in both
texts (patience diff, Bram Cohen), then in each gap by the shortest edit (Myers), within bounds.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from indwell.workspace.text import line_at, split_lines

CONTEXT = 3  # lines around a change; H47
MAX_STEPS = 250_000  # work of one diff: at most 500 edited lines in one gap, about 0.1 s
_END = re.compile(r"\r\n|\n|\r")


class TextEdit(NamedTuple):
    """Replace the code points from ``start`` up to ``stop`` by ``text``."""

    start: int
    stop: int
    text: str


class _Block(NamedTuple):
    """Lines [a0, a1) of the old text became lines [b0, b1) of the new one."""

    a0: int
    a1: int
    b0: int
    b1: int


class _Middle(NamedTuple):
    """What is left of two texts without their equal ends, in whole lines."""

    start: int  # code points before it, in both
    first: int  # lines before it, in both
    old: list[str]
    new: list[str]


def unified_diff(before: str | None, after: str | None, name: str) -> str:
    """The unified diff with three lines of context; empty if nothing changed.

    Args:
        before: The old text; None if the file is created.
        after: The new text; None if the file is deleted.
        name: Its path as shown after ``a/`` and ``b/``.
    """
    old, new = before or "", after or ""
    if before == after:
        return ""
    head = f"--- {'/dev/null' if before is None else f'a/{name}'}\n"
    head += f"+++ {'/dev/null' if after is None else f'b/{name}'}\n"
    middle = _middle(old, new)
    blocks = _blocks(middle.old, middle.new)
    # The context around the middle: a few lines before and after it.
    lead = _last_lines(old, middle.start, CONTEXT)
    stop = middle.start + sum(map(len, middle.old))
    trail = _first_lines(old, stop, CONTEXT)
    offset = middle.first - len(lead)
    a = [*lead, *middle.old, *trail]
    b = [*lead, *middle.new, *trail]
    shifted = [_Block(*(value + len(lead) for value in block)) for block in blocks]
    return head + "".join(_hunk(hunk, a, b, offset) for hunk in _hunks(shifted))


def count_changes(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    middle = _middle(before, after)
    blocks = _blocks(middle.old, middle.new)
    return sum(x.b1 - x.b0 for x in blocks), sum(x.a1 - x.a0 for x in blocks)


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    r"""Minimal edits that make ``after`` of ``before``: by lines, then trimmed by characters.

    Offsets are code points of ``before``, ascending, without overlap. No edit begins or ends
    between ``\r`` and ``\n`` or within a surrogate pair, in either text.
    """
    middle = _middle(before, after)
    edits = []
    at, line = middle.start, 0
    for block in _blocks(middle.old, middle.new):
        start = at + sum(map(len, middle.old[line : block.a0]))
        old = "".join(middle.old[block.a0 : block.a1])
        new = "".join(middle.new[block.b0 : block.b1])
        edits.append(_trimmed(start, old, new))
        at, line = start + len(old), block.a1
    return tuple(edits)


def apply_edits(before: str, edits: Sequence[TextEdit]) -> str:
    """Apply ascending edits that do not overlap."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [before[at : edit.start], edit.text]
        at = edit.stop
    return "".join([*pieces, before[at:]])


def common_prefix(old: str, new: str) -> int:
    """How many characters two texts share at their beginning, by halving."""
    if old.startswith(new) or new.startswith(old):
        return min(len(old), len(new))
    low, high, step = 0, min(len(old), len(new)), 64
    while low + step < high and old[low : low + step] == new[low : low + step]:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        half = (low + high + 1) // 2
        if old[low:half] == new[low:half]:
            low = half
        else:
            high = half - 1
    return low


def common_suffix(old: str, new: str, limit: int) -> int:
    """How many characters, at most ``limit``, two texts share at their end."""
    low, high, step = 0, limit, 64
    while low + step < high and _same_end(old, new, low, low + step):
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        half = (low + high + 1) // 2
        if _same_end(old, new, low, half):
            low = half
        else:
            high = half - 1
    return low


def _same_end(old: str, new: str, low: int, high: int) -> bool:
    """Are characters ``low`` to ``high``, counted from the end, the same?"""
    return old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]


def _middle(old: str, new: str) -> _Middle:
    start = common_prefix(old, new)
    while start and not (_is_line_start(old, start) and _is_line_start(new, start)):
        found = max(old.rfind("\n", 0, start), old.rfind("\r", 0, start))
        start = found + 1 if found + 1 < start else found
        start = max(start, 0)
    end = common_suffix(old, new, min(len(old), len(new)) - start)
    while end and not (_is_line_start(old, len(old) - end) and _is_line_start(new, len(new) - end)):
        line_end = _END.search(old, len(old) - end)
        end = 0 if line_end is None else len(old) - line_end.end()
    return _Middle(
        start=start,
        first=line_at(old, start) - 1,
        old=split_lines(old[start : len(old) - end]),
        new=split_lines(new[start : len(new) - end]),
    )


def _is_line_start(text: str, offset: int) -> bool:
    if offset == 0 or text[offset - 1] == "\n":
        return True
    return text[offset - 1] == "\r" and text[offset : offset + 1] != "\n"


def _blocks(old: list[str], new: list[str]) -> list[_Block]:
    """The changed blocks, in order, with at least one equal line between two of them."""
    blocks: list[_Block] = []
    a, b, steps = 0, 0, MAX_STEPS
    for a_next, b_next in [*_anchors(old, new), (len(old), len(new))]:
        a0, b0, a1, b1 = a, b, a_next, b_next
        while a0 < a1 and b0 < b1 and old[a0] == new[b0]:
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and old[a1 - 1] == new[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
        if a0 == a1 or b0 == b1:
            found = [_Block(0, a1 - a0, 0, b1 - b0)] if (a0, b0) != (a1, b1) else []
        else:
            found, spent = _shortest(old[a0:a1], new[b0:b1], math.isqrt(steps))
            steps -= spent
        blocks += [_Block(a0 + i0, a0 + i1, b0 + j0, b0 + j1) for i0, i1, j0, j1 in found]
        a, b = a_next + 1, b_next + 1
    return blocks


def _shortest(a: list[str], b: list[str], max_edits: int) -> tuple[list[_Block], int]:
    """The fewest lines to delete and insert (Myers, "An O(ND) Difference Algorithm", 1986).

    Gives one block that replaces everything if that takes more than ``max_edits``. The second
    value is the work done.
    """
    furthest = {1: 0}  # by diagonal: how far into ``a`` one gets
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
    return [_Block(0, len(a), 0, len(b))], max_edits * max_edits


def _entry(furthest: Mapping[int, int], diagonal: int, n_edits: int) -> tuple[int, int]:
    """Which diagonal one comes from with one more edit, and where one lands in ``a``."""
    inserts = diagonal == -n_edits or (
        diagonal != n_edits and furthest[diagonal - 1] < furthest[diagonal + 1]
    )
    if inserts:
        return diagonal + 1, furthest[diagonal + 1]
    return diagonal - 1, furthest[diagonal - 1] + 1


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> list[_Block]:
    """The edits on the way to (x, y), those that touch joined."""
    blocks: list[_Block] = []
    for n_edits in range(len(trail) - 1, 0, -1):
        came_from, landed = _entry(trail[n_edits], x - y, n_edits)
        stop = _Block(0, landed, 0, landed - (x - y))
        x = trail[n_edits][came_from]
        y = x - came_from
        step = _Block(x, stop.a1, y, stop.b1)
        if blocks and (blocks[-1].a0, blocks[-1].b0) == (step.a1, step.b1):
            last = blocks.pop()
            step = _Block(step.a0, last.a1, step.b0, last.b1)
        blocks.append(step)
    return blocks[::-1]


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Pairs of equal lines that are unique in both texts and in the same order in both."""
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


def _trimmed(start: int, old: str, new: str) -> TextEdit:
    front = common_prefix(old, new)
    while front and (_splits(old, front) or _splits(new, front)):
        front -= 1
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    while back and (_splits(old, len(old) - back) or _splits(new, len(new) - back)):
        back -= 1
    return TextEdit(start + front, start + len(old) - back, new[front : len(new) - back])


def _splits(text: str, offset: int) -> bool:
    """Would a cut at ``offset`` part a CRLF or a surrogate pair?"""
    if not 0 < offset < len(text):
        return False
    left, right = text[offset - 1], text[offset]
    is_pair = "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff"
    return is_pair or (left == "\r" and right == "\n")


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Blocks whose contexts touch, together."""
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block.a0 - hunk[-1].a1 > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _hunk(blocks: list[_Block], a: list[str], b: list[str], offset: int) -> str:
    first, last = blocks[0], blocks[-1]
    a0, b0 = max(first.a0 - CONTEXT, 0), max(first.b0 - CONTEXT, 0)
    a1, b1 = min(last.a1 + CONTEXT, len(a)), min(last.b1 + CONTEXT, len(b))
    lines = [f"@@ -{_range(a0, a1, offset)} +{_range(b0, b1, offset)} @@\n"]
    at = a0
    for block in blocks:
        lines += [_marked(" ", line) for line in a[at : block.a0]]
        lines += [_marked("-", line) for line in a[block.a0 : block.a1]]
        lines += [_marked("+", line) for line in b[block.b0 : block.b1]]
        at = block.a1
    lines += [_marked(" ", line) for line in a[at:a1]]
    return "".join(lines)


def _range(start: int, stop: int, offset: int) -> str:
    """Lines as unified diffs count them: an empty range names the line before it."""
    n_lines = stop - start
    first = offset + start + (1 if n_lines else 0)
    return f"{first}" if n_lines == 1 else f"{first},{n_lines}"


def _marked(mark: str, line: str) -> str:
    if line.endswith("\n"):
        return f"{mark}{line}"
    if line.endswith("\r"):
        return f"{mark}{line}\n"
    return f"{mark}{line}\n\\ No newline at end of file\n"


def _last_lines(text: str, stop: int, n_lines: int) -> list[str]:
    """The last lines before ``stop``, which is a line start."""
    start = stop
    for _ in range(n_lines):
        if not start:
            break
        end = start - 2 if text.startswith("\r\n", start - 2) and start > 1 else start - 1
        start = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    return split_lines(text[start:stop])


def _first_lines(text: str, start: int, n_lines: int) -> list[str]:
    """The first lines from ``start``, which is a line start."""
    stop = start
    for _ in range(n_lines):
        found = _END.search(text, stop)
        stop = len(text) if found is None else found.end()
    return split_lines(text[start:stop])
