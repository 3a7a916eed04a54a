"""Stores a text in blocks, so that a change costs only the work of one block. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise

from indwell.workspace.text import index_in_line, split_lines, units_in_line

BLOCK = 4_096  # the size of a block in characters; 500 blocks make 2 MB, and one is spliced in 5 µs
_FAR = 1 << 30  # a character offset beyond any line's end


class LineBlocks:
    """A text that is read by line and changed by range.

    Args:
        text: The whole text.
        size: The approximate number of characters in a block; no block is over twice as long.
    """

    __slots__ = (
        "_blocks",
        "_ends",
        "_firsts",
        "_found",
        "_offsets",
        "_size",
        "_starts",
        "_text",
        "_unit",
        "_units",
    )

    def __init__(self, text: str, *, size: int = BLOCK) -> None:
        self._size = size
        self._blocks = _cut(text, size)
        self._ends = [_n_ends(block) for block in self._blocks]
        self._firsts: list[int] | None = None  # the number of line ends before each block
        self._offsets: list[int] | None = None  # the number of characters before each block
        self._found = (
            -1,
            0,
            0,
        )  # The last used line is cached, because both ends of a range are often in one line.
        # the encoding of the next two attributes; empty until a long line needs them
        self._unit = ""
        self._units: list[int] = []  # the number of code units in each block
        self._starts: list[int] | None = None  # the number of code units before each block
        self._text: str | None = text

    @property
    def text(self) -> str:
        """Return the whole text.

        The text is joined once after a change, and is then the same object until the next change.
        """
        if self._text is None:
            self._text = "".join(self._blocks)
        return self._text

    @property
    def blocks(self) -> tuple[str, ...]:
        """The stored blocks; no block ends within a CRLF or between two surrogates."""
        return tuple(self._blocks)

    @property
    def n_lines(self) -> int:
        """Return the number of lines; after the last line break, an empty line is counted."""
        return self._block_firsts()[-1] + self._ends[-1] + 1

    def line(self, number: int) -> str:
        """Return a line with its end, by its number from 0."""
        index, start = self._line_start(number)
        last = self._line_end(number)
        between = self._blocks[index:last]
        end = self._blocks[last]
        if not between:
            return end[start : _line_stop(end, start)]
        return "".join([between[0][start:], *between[1:], end[: _line_stop(end, 0)]])

    def offset(self, line: int, character: int, encoding: str) -> int:
        """Return the offset in code points of a position, limited to the document."""
        index, inside = self._place(line, character, encoding)
        return self._block_offsets()[index] + inside

    def position(self, offset: int, encoding: str) -> tuple[int, int]:
        """Return the line and character of an offset in code points."""
        offsets = self._block_offsets()
        index = min(bisect_right(offsets, offset), len(self._blocks)) - 1
        block, inside = self._blocks[index], offset - offsets[index]
        until = inside
        if inside and block[inside - 1 : inside + 1] == "\r\n":
            until -= 1  # between CR and LF, the line has not ended yet
        n_ends = _n_ends(block[:until])
        number = self._block_firsts()[index] + n_ends
        if n_ends or not index or self._line_start(number)[0] == index:
            start = max(block.rfind("\n", 0, until), block.rfind("\r", 0, until)) + 1
            return number, units_in_line(block[start:inside], inside - start, encoding)
        first, start = self._line_start(number)
        starts = self._unit_starts(encoding)
        before = starts[first] + units_in_line(self._blocks[first], start, encoding)
        return number, starts[index] + units_in_line(block, inside, encoding) - before

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str, unit: str) -> None:
        """Replace the range between two positions (line, character) in code units of ``unit``.

        A position outside the document means its beginning or end, and reversed positions mean the
        range between them, as in VS Code's own documents.
        """
        if start > end:
            start, end = end, start
        first, a = self._place(*start, unit)
        last, b = (first, a) if start == end else self._place(*end, unit)
        block = self._blocks[first]
        fresh = _joined(block[:a], text, self._blocks[last][b:])
        if first == last and 0 < a <= b < len(block) and self._stands_alone(fresh):
            was, now = block[a - 1 : b + 1], block[a - 1] + text + block[b]
            self._put(first, last, [fresh], [self._ends[first] + _n_ends(now) - _n_ends(was)])
            return
        if last + 1 < len(self._blocks) and self._needs_next(fresh, self._blocks[last + 1]):
            last += 1
            fresh = _joined(fresh, self._blocks[last])
        if first > 0 and fresh and _belong_together(self._blocks[first - 1][-1], fresh[0]):
            first -= 1
            fresh = _joined(self._blocks[first], fresh)
        is_all = first == 0 and last + 1 == len(self._blocks)
        pieces = _cut(fresh, self._size) if fresh or is_all else []
        self._put(first, last, pieces, [_n_ends(piece) for piece in pieces])
        if is_all:
            self._text = fresh

    def _put(self, first: int, last: int, pieces: list[str], ends: list[int]) -> None:
        """Replace the blocks from ``first`` to ``last`` with new ones."""
        if ends != self._ends[first : last + 1]:
            self._firsts = None
        self._blocks[first : last + 1] = pieces
        self._ends[first : last + 1] = ends
        if self._unit:
            self._units[first : last + 1] = [_n_units(piece, self._unit) for piece in pieces]
        self._text = self._offsets = self._starts = None
        self._found = (-1, 0, 0)

    def _stands_alone(self, fresh: str) -> bool:
        """Return whether the text is as large as a block."""
        return self._size // 4 <= len(fresh) <= 2 * self._size

    def _needs_next(self, fresh: str, following: str) -> bool:
        """Return whether a block is too small, or whether its end belongs to the following text."""
        if not fresh or len(fresh) < self._size // 4:
            return True
        return _belong_together(fresh[-1], following[0])

    def _place(self, line: int, character: int, encoding: str) -> tuple[int, int]:
        """Return the block of a position, and the offset within the block."""
        if line < 0:
            return 0, 0
        if line >= self.n_lines:
            return len(self._blocks) - 1, len(self._blocks[-1])
        index, start = self._line_start(line)
        character = min(max(character, 0), _FAR)
        block = self._blocks[index]
        last = self._line_end(line)
        if index < last and character >= len(block) - start:
            starts = self._unit_starts(encoding)
            wanted = starts[index] + units_in_line(block, start, encoding) + character
            found = min(bisect_right(starts, wanted) - 1, last)
            if found > index:
                index, start, character = found, 0, wanted - starts[found]
                block = self._blocks[index]
        stop = min(_line_stop(block, start), start + character + 2)
        return index, start + index_in_line(block[start:stop], character, encoding)

    def _line_start(self, line: int) -> tuple[int, int]:
        """Return the block in which a line begins, and the line's offset within the block."""
        if not line:
            return 0, 0
        found, index, start = self._found
        if found != line:
            index = self._line_end(line - 1)
            block = self._blocks[index]
            start = _start_of(block, line - self._block_firsts()[index], self._ends[index])
            if start == len(block) and index + 1 < len(self._blocks):
                index, start = index + 1, 0
            self._found = line, index, start
        return index, start

    def _line_end(self, line: int) -> int:
        """Return the block in which a line ends; the last line ends in the last block."""
        return bisect_left(self._block_firsts(), line + 1) - 1

    def _block_firsts(self) -> list[int]:
        if self._firsts is None:
            self._firsts = [0, *accumulate(self._ends[:-1])]
        return self._firsts

    def _block_offsets(self) -> list[int]:
        if self._offsets is None:
            self._offsets = [0, *accumulate(map(len, self._blocks[:-1]))]
        return self._offsets

    def _unit_starts(self, encoding: str) -> list[int]:
        """Return the number of code units before each block."""
        if self._unit != encoding:
            self._unit, self._starts = encoding, None
            self._units = [_n_units(block, encoding) for block in self._blocks]
        if self._starts is None:
            self._starts = [0, *accumulate(self._units[:-1])]
        return self._starts


def _cut(text: str, size: int) -> list[str]:
    """Split a text into blocks of about ``size`` characters, if possible at line ends."""
    if len(text) <= 2 * size:
        return [text]
    return [text[start:stop] for start, stop in pairwise([0, *_cuts(text, size), len(text)])]


def _cuts(text: str, size: int) -> Iterator[int]:
    stop = 0
    while len(text) - stop > 2 * size:
        wanted, most = stop + size, stop + 2 * size
        end = text.find("\n", wanted, most)
        if end < 0:
            end = text.find("\r", wanted, most)
        stop = wanted if end < 0 else end + 1
        if _belong_together(text[stop - 1], text[stop]):
            stop += 1
        if stop < len(text):
            yield stop


def _belong_together(left: str, right: str) -> bool:
    """Return whether two characters are a CRLF, or the two surrogates of one character."""
    if left == "\r":
        return right == "\n"
    return "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff"


def _n_ends(text: str) -> int:
    """Return the number of lines that end in a text."""
    n_feeds = text.count("\n")
    if "\r" not in text:
        return n_feeds
    return n_feeds + text.count("\r") - text.count("\r\n")


def _n_units(text: str, encoding: str) -> int:
    return units_in_line(text, len(text), encoding)


def _start_of(block: str, line: int, n_ends: int) -> int:
    """Return where a line of a block begins."""
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
    """Return where the line that begins at ``start`` ends, including its line end."""
    feed = block.find("\n", start)
    stop = len(block) if feed < 0 else feed + 1
    alone = block.find("\r", start, stop)
    if alone < 0 or block[alone + 1 : alone + 2] == "\n":
        return stop
    return alone + 1


def _joined(*parts: str) -> str:
    """Join parts; two lone surrogates that meet become one character."""
    some = [part for part in parts if part]
    text = some[0] if len(some) == 1 else "".join(some)
    if text.isascii():
        return text
    for left, right in pairwise(some):
        if left[-1] != "\r" and _belong_together(left[-1], right[0]):
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
