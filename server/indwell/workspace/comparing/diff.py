"""Compares two texts: unified diff, line counts, and minimal edits.

Equal parts are skipped at the speed of a memory comparison. A difference is matched by lines
(``matching``) only until the texts agree again, so the time for a huge file depends on the edits.
All three results come from one comparison.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.comparing.matching import (
    MatchingBlock,
    changed_blocks,
    common_characters,
    common_last_lines,
    common_lines,
)
from indwell.workspace.text import line_at, shown, split_lines

CONTEXT = 3  # Each change is shown with 3 lines of context (H47).
NEAR = 4_096  # After a difference, this many characters are matched first: about 100 lines.
# One step matches this many characters; a rest of up to 16 times more is matched as a whole.
FAR = 16_384
_HEADER = lazy_pattern(r"^@@ .*\n", re.MULTILINE)  # No line of a text begins like this in a diff.


class TextEdit(NamedTuple):
    """An edit that replaces the code points from ``start`` up to ``stop`` with ``text``."""

    start: int
    stop: int
    text: str


class ReplacedLines(NamedTuple):
    """Lines that replace lines; at least one equal line separates two replacements.

    Attributes:
        start: The offset of the lines in the old text, in code points.
        old: The removed lines.
        new: The added lines.
    """

    start: int
    old: list[str]
    new: list[str]

    @property
    def stop(self) -> int:
        """The end offset of the old lines."""
        return self.start + sum(map(len, self.old))


class TextDiff(NamedTuple):
    """The comparison of two texts.

    Attributes:
        before: The old text, or None if the file is created.
        after: The new text, or None if the file is deleted.
        places: The replaced lines, in order.
    """

    before: str | None
    after: str | None
    places: tuple[ReplacedLines, ...]

    @property
    def n_added(self) -> int:
        """The number of added lines."""
        return sum(len(place.new) for place in self.places)

    @property
    def n_removed(self) -> int:
        """The number of removed lines."""
        return sum(len(place.old) for place in self.places)


def compare(before: str | None, after: str | None) -> TextDiff:
    """Compare two texts; None means a missing file."""
    return TextDiff(before, after, tuple(_replaced(before or "", after or "")))


def unified(difference: TextDiff, name: str) -> str:
    """Format a unified diff with three lines of context; return an empty text if nothing changed.

    Args:
        difference: The comparison.
        name: The file's path as shown after ``a/`` and ``b/``.
    """
    before, after, places = difference
    if before == after:
        return ""
    pieces = [
        f"--- {'/dev/null' if before is None else f'a/{name}'}\n",
        f"+++ {'/dev/null' if after is None else f'b/{name}'}\n",
    ]
    text = before or ""
    at, line, shift = 0, 1, 0
    for hunk in grouped(text, places):
        start, stop = hunk[0].start, hunk[-1].stop
        line += line_at(text[at:start], start - at) - 1
        at = start
        lead = _last_lines(text, start, CONTEXT)
        lines = [" " + one for one in lead]
        inside = start
        for place in hunk:
            lines += [" " + one for one in split_lines(text[inside : place.start])]
            lines += ["-" + one for one in place.old]
            lines += ["+" + one for one in place.new]
            inside = place.stop
        lines += [" " + one for one in _first_lines(text, stop, CONTEXT)]
        n_removed = sum(len(place.old) for place in hunk)
        n_added = sum(len(place.new) for place in hunk)
        first = line - len(lead)
        old_range = _range(first, len(lines) - n_added)
        new_range = _range(first + shift, len(lines) - n_removed)
        pieces.append(f"@@ -{old_range} +{new_range} @@\n")
        pieces += map(_ended, lines)
        shift += n_added - n_removed
    return "".join(pieces)


def unified_diff(before: str | None, after: str | None, name: str) -> str:
    """Format the unified diff of two texts; see ``unified``."""
    return unified(compare(before, after), name)


def count_changes(before: str, after: str) -> tuple[int, int]:
    """Count added and removed lines."""
    difference = compare(before, after)
    return difference.n_added, difference.n_removed


def line_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    r"""Return minimal edits from ``before`` to ``after``: by lines, then trimmed by characters.

    Offsets are code points of ``before``, ascending, without overlap. In neither text does an edit
    begin or end inside a CRLF or a surrogate pair.
    """
    edits = []
    for place in _replaced(before, after):
        old, new = "".join(place.old), "".join(place.new)
        front, back = common_characters(old, new) if old and new else (0, 0)
        stop = place.start + len(old) - back
        edits.append(TextEdit(place.start + front, stop, new[front : len(new) - back]))
    return tuple(edits)


def apply_edits(before: str, edits: Sequence[TextEdit]) -> str:
    """Apply ascending edits that do not overlap."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [before[at : edit.start], edit.text]
        at = edit.stop
    return "".join([*pieces, before[at:]])


def _replaced(old: str, new: str) -> Iterator[ReplacedLines]:
    a = b = common_lines(old, new, min(len(old), len(new)))
    end = common_last_lines(old, new, min(len(old), len(new)) - a)
    a_end, b_end, size = len(old) - end, len(new) - end, NEAR
    while a < a_end or b < b_end:
        n_rest = max(a_end - a, b_end - b)
        is_rest = n_rest <= size or size > max(FAR, n_rest // 16)
        a_lines = split_lines(old[a : a_end if is_rest else _cut(old, a, a_end, size)])
        b_lines = split_lines(new[b : b_end if is_rest else _cut(new, b, b_end, size)])
        blocks = changed_blocks(a_lines, b_lines)
        if not is_rest:
            blocks = _sure(blocks, len(a_lines), len(b_lines))
            size = size if blocks else size * 4
        line = 0
        for block in blocks:
            a += sum(map(len, a_lines[line : block.a0]))
            place = ReplacedLines(a, a_lines[block.a0 : block.a1], b_lines[block.b0 : block.b1])
            yield place
            a, line = place.stop, block.a1
        if is_rest:
            return
        if blocks:
            b += sum(map(len, b_lines[: blocks[-1].b1]))
            same = common_lines(old, new, min(a_end - a, b_end - b), a, b)
            a, b = a + same, b + same
            size = NEAR if same > NEAR else FAR


def _cut(text: str, start: int, stop: int, size: int) -> int:
    """Return the end of the last whole line within ``size`` characters, or ``start``."""
    return stop if stop - start <= size else max(text.rfind("\n", start, start + size) + 1, start)


def _sure(blocks: Sequence[MatchingBlock], n_old: int, n_new: int) -> list[MatchingBlock]:
    """Return blocks that more text would not change, or an empty list if too few lines match."""
    n_same = n_old - sum(block.a1 - block.a0 for block in blocks)
    if 2 * n_same < max(n_old, n_new):
        return []
    return [block for block in blocks if 4 * block.a1 <= 3 * n_old and 4 * block.b1 <= 3 * n_new]


def grouped(text: str, places: Sequence[ReplacedLines]) -> Iterator[list[ReplacedLines]]:
    """Group replacements whose context lines touch."""
    hunk: list[ReplacedLines] = []
    for place in places:
        if hunk:
            stop = hunk[-1].stop
            between = _first_lines(text, stop, 2 * CONTEXT)
            if sum(map(len, between)) < place.start - stop:
                yield hunk
                hunk = []
        hunk.append(place)
    if hunk:
        yield hunk


def _range(first: int, n_lines: int) -> str:
    """Format a line range for a unified diff; an empty range names the preceding line."""
    if n_lines == 1:
        return f"{first}"
    return f"{first if n_lines else first - 1},{n_lines}"


def _ended(line: str) -> str:
    if line.endswith("\n"):
        return line
    return f"{line}\n" if line.endswith("\r") else f"{line}\n\\ No newline at end of file\n"


def _last_lines(text: str, stop: int, n_lines: int) -> list[str]:
    """Return the last lines before ``stop``, which is a line start."""
    size = 64 * n_lines
    while True:
        start = max(stop - size, 0)
        lines = split_lines(text[start:stop])
        # Only the first line may be incomplete.
        if len(lines) > n_lines or not start:
            return lines[-n_lines:]
        size *= 4


def _first_lines(text: str, start: int, n_lines: int) -> list[str]:
    """Return the first lines from ``start``, which is a line start."""
    size = 64 * n_lines
    while True:
        lines = split_lines(text[start : start + size])
        # Only the last line may be incomplete.
        if len(lines) > n_lines or start + size >= len(text):
            return lines[:n_lines]
        size *= 4


class DiffHunk(NamedTuple):
    """A hunk of a unified diff.

    Attributes:
        id: A hash of the lines with a counter for equal hunks, which is unique in the diff.
        header: The first line, such as ``@@ -1,4 +1,5 @@``.
        text: The other lines.
    """

    id: str
    header: str
    text: str


class Taken(NamedTuple):
    """The result of applying some hunks of a change.

    Attributes:
        text: The old text with the chosen hunks applied.
        left: The hunks that were not applied.
    """

    text: str
    left: tuple[DiffHunk, ...]


class OtherHunks(ValueError):
    """The change no longer consists of the expected hunks."""


def diff_hunks(diff: str) -> tuple[DiffHunk, ...]:
    """Split a unified diff of one file into hunks, in order."""
    return tuple(_named(diff))


def take_hunks(
    before: str, after: str, name: str, *, of: Collection[str], ids: Collection[str]
) -> Taken:
    """Apply only some hunks of the change from ``before`` to ``after``.

    Args:
        before: The old text.
        after: The new text.
        name: The file's path as shown.
        of: The ids of all hunks that the user chose from.
        ids: The chosen ids.

    Raises:
        OtherHunks: The change has different hunks now.
    """
    difference = compare(before, after)
    hunks = diff_hunks(shown(unified(difference, name)))
    if {hunk.id for hunk in hunks} != set(of):
        raise OtherHunks
    groups = grouped(before, difference.places)
    edits = [
        TextEdit(place.start, place.stop, "".join(place.new))
        for hunk, group in zip(hunks, groups, strict=True)
        if hunk.id in ids
        for place in group
    ]
    return Taken(apply_edits(before, edits), tuple(one for one in hunks if one.id not in ids))


def is_same_change(was: str, of: str | None, now: str, of_now: str | None) -> bool:
    """Return whether a change is still the change that was shown, despite edits of the text.

    If the user types above the shown lines, the change moves. The user allowed the shown lines and
    their context, not the position. Shown lines that occur more than once in the text are
    ambiguous.

    Args:
        was: The diff that was shown.
        of: The text to which the shown change applied, or None if no change was shown or the change
            was too large.
        now: The current diff.
        of_now: The current text.
    """
    if _HEADER.sub("@@\n", was) != _HEADER.sub("@@\n", now):
        return False
    if of == of_now:
        return True
    texts = shown(of or ""), shown(of_now or "")
    return not any(_stands_twice(hunk, text) for hunk in diff_hunks(was) for text in texts)


def _stands_twice(hunk: DiffHunk, text: str) -> bool:
    old = "".join(line[1:] for line in split_lines(hunk.text) if line[0] in " -").rstrip("\r\n")
    at, n_found = text.find(old) if old else -1, 0
    while at >= 0:
        n_found += at == 0 or text[at - 1] in "\r\n"
        if n_found > 1:
            return True
        at = text.find(old, at + 1)
    return False


def _named(diff: str) -> Iterator[DiffHunk]:
    heads = list(_HEADER.finditer(diff))
    stops = [*(head.start() for head in heads[1:]), len(diff)]
    n_alike: dict[str, int] = {}
    for head, stop in zip(heads, stops, strict=True):
        text = diff[head.end() : stop]
        n_alike[text] = number = n_alike.get(text, 0) + 1
        hashed = hashlib.blake2b(f"{number}\n{text}".encode(), digest_size=6)
        yield DiffHunk(hashed.hexdigest(), head[0].rstrip("\n"), text)
