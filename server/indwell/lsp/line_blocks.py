r"""A text in blocks of whole lines: a change costs what its block is long. Pure.

A list of lines would cost as little to change, and six times as much to put together again; and
whoever edits needs the whole text. Only ``\r\n``, ``\n`` and ``\r`` end a line, as in the protocol.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise

from indwell.lsp.positions import index_in_line, units_in_line
from indwell.workspace.text import split_lines

BLOCK = 16_384  # characters; 100 blocks make 1.6 MB, and one is spliced in 10 µs
_FAR = 1 << 30  # a character offset behind any line's end


class LineBlocks:
    """A text that is read by line and changed by range.

    Args:
        text: The whole of it.
        size: Characters of a block, at the least; a longer line is one block.
    """

    __slots__ = ("_blocks", "_ends", "_firsts", "_offsets", "_size", "_text")

    def __init__(self, text: str, *, size: int = BLOCK) -> None:
        self._size = size
        self._blocks = _cut(text, size)
        self._ends = [_n_ends(block) for block in self._blocks]
        self._firsts: list[int] | None = None  # the line that each block begins with
        self._offsets: list[int] | None = None  # characters before each block
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text; put together once a change, and the same object until the next one."""
        if self._text is None:
            self._text = "".join(self._blocks)
        return self._text

    @property
    def blocks(self) -> tuple[str, ...]:
        """As the text is kept: each but the last ends with a line."""
        return tuple(self._blocks)

    @property
    def n_lines(self) -> int:
        """Lines as editors count them: behind the last line break stands one more."""
        return sum(self._ends) + 1

    def line(self, number: int) -> str:
        """A line with its end, by its number from 0."""
        index, start = self._line_start(number)
        block = self._blocks[index]
        return block[start : _line_stop(block, start)]

    def offset(self, line: int, character: int, encoding: str) -> int:
        """The offset in code points of a position; clamped to the document."""
        index, inside = self._place(line, character, encoding)
        return self._block_offsets()[index] + inside

    def position(self, offset: int, encoding: str) -> tuple[int, int]:
        """Line and character of an offset in code points."""
        offsets = self._block_offsets()
        index = min(bisect_right(offsets, offset), len(self._blocks)) - 1
        block, inside = self._blocks[index], offset - offsets[index]
        until = inside
        if block[inside - 1 : inside + 1] == "\r\n" and inside:
            until -= 1  # between the two the line has not ended yet
        number = self._block_firsts()[index] + _n_ends(block[:until])
        start = max(block.rfind("\n", 0, until), block.rfind("\r", 0, until)) + 1
        return number, units_in_line(block[start:inside], inside - start, encoding)

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str, unit: str) -> None:
        """Replace the range between two positions (line, character) in code units of ``unit``.

        Whatever the positions are, they mean a place: outside the document its beginning or end,
        in the wrong order the range between them (as VS Code's own documents do).
        """
        if start > end:
            start, end = end, start
        first, a = self._place(*start, unit)
        last, b = self._place(*end, unit)
        fresh = _joined(self._blocks[first][:a], text, self._blocks[last][b:])
        if last + 1 < len(self._blocks) and self._needs_next(fresh, self._blocks[last + 1]):
            last += 1
            fresh += self._blocks[last]
        if first > 0 and fresh[:1] == "\n" and self._blocks[first - 1][-1] == "\r":
            first -= 1
            fresh = self._blocks[first] + fresh
        is_all = first == 0 and last + 1 == len(self._blocks)
        pieces = _cut(fresh, self._size) if fresh or is_all else []
        ends = [_n_ends(piece) for piece in pieces]
        if ends != self._ends[first : last + 1]:
            self._firsts = None
        self._blocks[first : last + 1] = pieces
        self._ends[first : last + 1] = ends
        self._text = self._offsets = None

    def _needs_next(self, fresh: str, following: str) -> bool:
        """Does a block end within a line, or is it too small to stand alone?"""
        if not fresh or len(fresh) < self._size // 4 or fresh[-1] not in "\r\n":
            return True
        return fresh[-1] == "\r" and following[0] == "\n"

    def _place(self, line: int, character: int, encoding: str) -> tuple[int, int]:
        """The block, and the offset in it, of a position."""
        if line < 0:
            return 0, 0
        if line >= self.n_lines:
            return len(self._blocks) - 1, len(self._blocks[-1])
        index, start = self._line_start(line)
        block = self._blocks[index]
        # A line of millions of characters is not copied for a place at its beginning.
        stop = min(_line_stop(block, start), start + max(character, 0) + 2)
        return index, start + index_in_line(block[start:stop], min(character, _FAR), encoding)

    def _line_start(self, line: int) -> tuple[int, int]:
        firsts = self._block_firsts()
        index = bisect_right(firsts, line) - 1
        return index, _start_of(self._blocks[index], line - firsts[index], self._ends[index])

    def _block_firsts(self) -> list[int]:
        if self._firsts is None:
            self._firsts = [0, *accumulate(self._ends[:-1])]
        return self._firsts

    def _block_offsets(self) -> list[int]:
        if self._offsets is None:
            self._offsets = [0, *accumulate(map(len, self._blocks[:-1]))]
        return self._offsets


def _cut(text: str, size: int) -> list[str]:
    """Blocks of whole lines of about ``size`` characters; an empty text is one empty block."""
    if len(text) <= 2 * size:
        return [text]
    return [text[start:stop] for start, stop in pairwise([0, *_cuts(text, size), len(text)])]


def _cuts(text: str, size: int) -> Iterator[int]:
    last_feed, last_return = text.rfind("\n"), text.rfind("\r")
    stop = 0
    while len(text) - stop > 2 * size:
        wanted = stop + size
        feed = text.find("\n", wanted) if last_feed >= wanted else len(text)
        found = text.find("\r", wanted, feed) if last_return >= wanted else -1
        if found >= 0 and found + 1 != feed:
            feed = found
        stop = feed + 1
        if stop >= len(text):
            return
        yield stop


def _n_ends(text: str) -> int:
    """How many lines end in a text."""
    n_feeds = text.count("\n")
    if "\r" not in text:
        return n_feeds
    return n_feeds + text.count("\r") - text.count("\r\n")


def _start_of(block: str, line: int, n_ends: int) -> int:
    """Where a line of a block begins."""
    if not line:
        return 0
    if line == n_ends and block[-1] in "\r\n":
        return len(block)
    if "\r" in block and block.count("\n") != n_ends:
        return sum(map(len, split_lines(block)[:line]))
    low, high = 0, len(block)
    while high - low > 256:  # noqa: PLR2004 - characters; counting fewer costs more than finding
        half = (low + high) // 2
        n_feeds = block.count("\n", low, half)
        if n_feeds < line:
            line -= n_feeds
            low = half
        else:
            high = half
    for _ in range(line):
        low = block.index("\n", low) + 1
    return low


def _line_stop(block: str, start: int) -> int:
    """Where the line that begins at ``start`` ends, with its end."""
    feed = block.find("\n", start)
    stop = len(block) if feed < 0 else feed + 1
    alone = block.find("\r", start, stop)
    if alone < 0 or block[alone + 1 : alone + 2] == "\n":
        return stop
    return alone + 1


def _joined(*parts: str) -> str:
    """Parts put together; two halves of a character that meet become one."""
    text = "".join(parts)
    for left, right in pairwise(filter(None, parts)):
        if "\ud800" <= left[-1] <= "\udbff" and "\udc00" <= right[0] <= "\udfff":
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
