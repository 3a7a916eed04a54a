"""Where the lines of a text stand after an edit. Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at


class Block(NamedTuple):
    """Lines in place of lines, 1-based; either side may have none.

    Attributes:
        old: First line in the old text.
        n_old: How many.
        new: First line in the new text.
        n_new: How many.
    """

    old: int
    n_old: int
    new: int
    n_new: int


class LineMap:
    """From lines of an old text to those of a new one.

    Args:
        blocks: What was replaced, in order; none for equal texts.
        is_known: False if nobody knows what was edited: then every line may have moved.
    """

    def __init__(self, blocks: tuple[Block, ...] = (), *, is_known: bool = True) -> None:
        self.blocks = blocks
        self.is_known = is_known
        self._old = [block.old for block in blocks]
        self._new = [block.new for block in blocks]

    def moved(self, line: int) -> tuple[int, bool]:
        """Where an old line stands now, and whether it still stands: else, what replaced it."""
        at = bisect_right(self._old, line) - 1
        if at < 0:
            return line, True
        block = self.blocks[at]
        beyond = line - block.old
        if beyond < block.n_old:
            return block.new + min(beyond, max(block.n_new - 1, 0)), False
        return line + block.new + block.n_new - block.old - block.n_old, True

    def is_new(self, line: int) -> bool:
        """Is this line of the new text one that came with the edit?"""
        at = bisect_right(self._new, line) - 1
        return at >= 0 and line - self._new[at] < self.blocks[at].n_new

    def is_touched(self, line: int) -> bool:
        """As ``is_new``, or do lines right before or behind it go with the edit?"""
        if self.is_new(line):
            return True
        return any(not block.n_new and line in {block.new - 1, block.new} for block in self.blocks)


SAME = LineMap()
UNKNOWN = LineMap(is_known=False)


def line_map(before: str | None, after: str | None) -> LineMap:
    """The map of an edit; None stands for a file that is not there."""
    blocks = []
    text = before or ""
    at, line, shift = 0, 1, 0
    for place in compare(before, after).places:
        line += line_at(text[at : place.start], place.start - at) - 1
        at = place.start
        blocks.append(Block(line, len(place.old), line + shift, len(place.new)))
        shift += len(place.new) - len(place.old)
    return LineMap(tuple(blocks))
