"""What changed between two texts: as a unified diff, as two counts, as minimal edits.

The equal ends are cut off first, at the speed of memory comparison; so a local edit of a huge file
costs what was edited. What is left is matched by lines (``matching``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indwell.workspace.matching import Block, changed_blocks
from indwell.workspace.text import line_at, split_lines

CONTEXT = 3  # lines around a change; H47
_END = re.compile(r"\r\n|\n|\r")


class TextEdit(NamedTuple):
    """Replace the code points from ``start`` up to ``stop`` by ``text``."""

    start: int
    stop: int
    text: str


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
    blocks = changed_blocks(middle.old, middle.new)
    # The context around the middle: a few lines before and after it.
    lead = _last_lines(old, middle.start, CONTEXT)
    stop = middle.start + sum(map(len, middle.old))
    trail = _first_lines(old, stop, CONTEXT)
    offset = middle.first - len(lead)
    a = [*lead, *middle.old, *trail]
    b = [*lead, *middle.new, *trail]
    shifted = [Block(*(value + len(lead) for value in block)) for block in blocks]
    return head + "".join(_hunk(hunk, a, b, offset) for hunk in _hunks(shifted))


def count_changes(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    middle = _middle(before, after)
    blocks = changed_blocks(middle.old, middle.new)
    return sum(x.b1 - x.b0 for x in blocks), sum(x.a1 - x.a0 for x in blocks)


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    r"""Minimal edits that make ``after`` of ``before``: by lines, then trimmed by characters.

    Offsets are code points of ``before``, ascending, without overlap. No edit begins or ends
    between ``\r`` and ``\n`` or within a surrogate pair, in either text.
    """
    middle = _middle(before, after)
    edits = []
    at, line = middle.start, 0
    for block in changed_blocks(middle.old, middle.new):
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


def _hunks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks whose contexts touch, together."""
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block.a0 - hunk[-1].a1 > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _hunk(blocks: list[Block], a: list[str], b: list[str], offset: int) -> str:
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
