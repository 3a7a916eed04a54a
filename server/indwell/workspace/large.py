"""Searches and edits a file by its bytes, because the file is too large to read at once."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.workspace.encoding.decoding import stray_words
from indwell.workspace.line_index import LineIndex, Read, line_ends, n_line_ends, start_of
from indwell.workspace.text import PIECE, halves

# The largest text that is read at once has this many bytes; joining 16 MB blocks all threads for 13
# ms.
LARGE_B = 8 << 20
AROUND_B = 4_096  # A match has this many bytes of context on each side, unless a line ends sooner.
AROUND_LINES = 3
_LONGEST_B = 4  # The longest character in UTF-8 has 4 bytes.

Piece: TypeAlias = bytes | range
"""A part of an edited text: new bytes, or a range of offsets in the file on disk."""


class ByteSplice(NamedTuple):
    """An edit that replaces the bytes from ``start`` up to ``stop`` with ``data``."""

    start: int
    stop: int
    data: bytes


class Large:
    """The bytes of a large file, on disk or with edits applied.

    Args:
        path: The absolute, resolved path.
        read: Reads the file on disk.
        index: The line index of the file on disk.
        pieces: The parts of the edited text, or None for the unedited file.
    """

    def __init__(
        self, path: Path, read: Read, index: LineIndex, pieces: Sequence[Piece] | None = None
    ) -> None:
        self.path = path
        self.index = index
        self.pieces = tuple(pieces) if pieces is not None else (range(index.size_b),)
        self._read = read
        self._stops = tuple(accumulate(map(len, self.pieces)))

    @property
    def size_b(self) -> int:
        """The size of the text in bytes."""
        return self._stops[-1] if self._stops else 0

    def read(self, offset: int, size: int) -> bytes:
        """Read up to ``size`` bytes at ``offset``."""
        found: list[bytes] = []
        number = bisect_right(self._stops, offset)
        while size > 0 and number < len(self.pieces):
            piece = self.pieces[number]
            skip = offset - (self._stops[number] - len(piece))
            part = piece[skip : skip + size]
            data = part if isinstance(part, bytes) else self._read(part.start, len(part))
            found.append(data)
            offset, size, number = offset + len(part), size - len(part), number + 1
        return b"".join(found)

    def spliced(self, splices: Sequence[ByteSplice]) -> Large:
        """Return the text with parts replaced; the splices ascend and do not overlap."""
        pieces: list[Piece] = []
        at = 0
        for splice in splices:
            pieces += [*self._between(at, splice.start), splice.data]
            at = splice.stop
        pieces += self._between(at, self.size_b)
        return Large(self.path, self._read, self.index, [piece for piece in pieces if len(piece)])

    def back(self) -> tuple[ByteSplice, ...]:
        """Return splices that turn this text back into the file on disk."""
        splices: list[ByteSplice] = []
        # The numbers say where the new text starts and continues, and how much of the file is used.
        start = at = was = 0
        for piece in (*self.pieces, range(self.index.size_b, self.index.size_b)):
            if isinstance(piece, range):
                if start < at or was < piece.start:
                    splices.append(ByteSplice(start, at, self._read(was, piece.start - was)))
                was = piece.stop
            at += len(piece)
            start = at if isinstance(piece, range) else start
        return tuple(splices)

    def find(self, wanted: bytes, *, overlapping: bool) -> Iterator[range]:
        """Yield the matches of some bytes, in order, never splitting a CRLF.

        Args:
            wanted: At least one byte.
            overlapping: Whether to include a match that overlaps the previous match.
        """
        step = max(PIECE, 2 * len(wanted))
        at = 0
        for start in range(0, self.size_b, step):
            first = max(start - 1, 0)  # One more byte on each side shows a split CRLF.
            last = start - first + step + len(wanted) - 1
            data = self.read(first, last + 1)
            at = max(at, start)
            while (found := data.find(wanted, at - first, last)) >= 0:
                at = first + found + 1
                if not _is_within_pair(data, found) and not _is_within_pair(
                    data, found + len(wanted)
                ):
                    yield range(first + found, first + found + len(wanted))
                    at = at if overlapping else first + found + len(wanted)

    def find_lines(self, wanted: bytes, *, overlapping: bool) -> Iterator[range]:
        """Yield matches as ``find`` does, where any line ending matches any other line ending."""
        wanted = _plain(wanted)
        longest = len(wanted) + wanted.count(b"\n")
        step = max(PIECE, 2 * longest)
        at = 0
        for start in range(0, self.size_b, step):
            first = max(start - 1, 0)
            data = self.read(first, start - first + step + longest + 1)
            begin = start - first + _is_within_pair(data, start - first)
            plain = _plain(data[begin:])
            from_ = len(_plain(data[begin : max(at - first, begin)]))
            found = plain.find(wanted, from_)
            # Each CRLF is one byte shorter in the plain text.
            ends = re.finditer(b"\r\n", data[begin:]) if found >= 0 else ()
            pairs = [pair.start() - number for number, pair in enumerate(ends)]
            while found >= 0:
                stop = found + len(wanted)
                place = range(
                    first + begin + found + bisect_left(pairs, found),
                    first + begin + stop + bisect_left(pairs, stop),
                )
                if place.start >= start + step:
                    break
                yield place
                at = place.start + 1 if overlapping else place.stop
                found = plain.find(wanted, found + 1 if overlapping else stop)

    def line_numbers(self, offsets: Sequence[int]) -> tuple[int, ...]:
        """Return the line numbers (from 1) of ascending offsets."""
        numbers: list[int] = []
        n_ends, at = 0, 0
        for offset in offsets:
            while at < offset:
                size = min(PIECE, offset - at)
                n_ends += n_line_ends(self.read(at, size + 1), size)
                at += size
            numbers.append(n_ends + 1)
        return tuple(numbers)

    def around(self, place: range) -> range:
        """Extend a range by some whole lines, unless the lines are too long."""
        first = max(place.start - AROUND_B, 0)
        size = place.start - first
        starts = [*([] if first else [0]), *line_ends(self.read(first, size + 1), size)]
        start = first + (starts[-AROUND_LINES - 1 :] or [0])[0]
        after = self.read(place.stop, AROUND_B + 1)
        # The list has the end of the line in which the range ends, and of some more lines.
        ends = list(line_ends(after, AROUND_B))[: AROUND_LINES + 1]
        is_all = len(after) <= AROUND_B and len(ends) <= AROUND_LINES
        stop = place.stop + (min(len(after), AROUND_B) if is_all or not ends else ends[-1])
        return range(self.whole(start), self.whole(stop))

    def ending_near(self, offset: int) -> tuple[str, int]:
        """Return the line ending after an offset, and the last offset to which this applies.

        If no ending follows, return the line ending before; in a text without line endings, return
        a line feed.
        """
        for start in range(offset, self.size_b, PIECE):
            for end in line_ends(self.read(start, PIECE + 1), PIECE):
                ending = self._ending(start + end)
                return ending, start + end - len(ending)
        for stop in range(offset, 0, -PIECE):
            first = max(stop - PIECE, 0)
            data = self.read(first, stop - first)
            end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
            if end:
                return self._ending(first + end), self.size_b
        return "\n", self.size_b

    def decoded(self, data: bytes) -> str:
        """Decode bytes; undecodable bytes become lone surrogates."""
        return data.decode(self.index.encoding, self.index.errors)

    def encoded(self, text: str) -> bytes:
        """Encode text.

        Raises:
            UnicodeEncodeError: The file's encoding cannot represent the text.
        """
        return text.encode(self.index.encoding, self.index.errors)

    def cuts(self, offset: int) -> bool:
        """Return whether an offset is inside a character or a CRLF."""
        start = self.whole(offset)
        return start < offset and not halves(self.decoded(self.read(start, _LONGEST_B))[:1])

    def whole(self, offset: int) -> int:
        """Move ``offset`` to the start of its UTF-8 character or CRLF."""
        if not 0 < offset < self.size_b:
            return offset
        first = max(offset - _LONGEST_B + 1, 0)
        data = self.read(first, offset - first + 1)
        if data.endswith(b"\r\n"):
            return offset - 1
        if self.index.encoding != "utf-8":
            return offset
        for at in range(len(data) - 1, -1, -1):
            if data[at] & 0xC0 != 0x80:  # noqa: PLR2004 - it continues no character
                return first + at if data[at] >= 0xC0 else offset  # noqa: PLR2004 - it begins one
        return offset

    def _between(self, start: int, stop: int) -> Iterator[Piece]:
        """Yield the parts between two offsets."""
        number = bisect_right(self._stops, start)
        while start < stop:
            piece = self.pieces[number]
            skip = start - (self._stops[number] - len(piece))
            part = piece[skip : skip + stop - start]
            yield part
            start, number = start + len(part), number + 1

    def _ending(self, stop: int) -> str:
        """Return the line ending right before an offset."""
        data = self.read(max(stop - 2, 0), min(stop, 2))
        return "\r\n" if data == b"\r\n" else data[-1:].decode("ascii")


def _plain(data: bytes) -> bytes:
    """Replace all line endings with line feeds."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _is_within_pair(data: bytes, offset: int) -> bool:
    """Return whether an offset is inside a CRLF."""
    return offset > 0 and data[offset - 1 : offset + 1] == b"\r\n"


class LongLine(msgspec.Struct, frozen=True):
    """The beginning of a line without its ending, and the number of omitted bytes."""

    text: str
    more_b: int = 0


class Page(msgspec.Struct, frozen=True):
    """Some lines of a large file.

    Attributes:
        path: The absolute, resolved path.
        lines: The requested lines, or as many as fit.
        n_lines: The number of lines of the whole file.
        size_b: The number of bytes of the whole file.
        digest: Digest of the whole file's bytes.
        notes: Sentences for the model.
    """

    path: Path
    lines: tuple[LongLine, ...]
    n_lines: int
    size_b: int
    digest: str
    notes: tuple[str, ...] = ()


def page_of(large: Large, first: int, n_lines: int, *, line_b: int, total_b: int) -> Page:
    """Return lines of the file from ``first`` (from 0), each cut to ``line_b`` bytes."""
    lines: list[LongLine] = []
    if first < large.index.n_lines:
        for start, stop in _lines(large, start_of(first, large.index, large.read)):
            line = _line(large, start, stop, line_b)
            total_b -= len(line.text) + 1
            if total_b < 0:
                break
            lines.append(line)
            if len(lines) == n_lines:
                break
    return Page(
        path=large.path,
        lines=tuple(lines),
        n_lines=large.index.n_lines,
        size_b=large.size_b,
        digest=large.index.digest,
        notes=tuple(_notes(large.index)),
    )


def _lines(large: Large, start: int) -> Iterator[tuple[int, int]]:
    """Yield start and end (after the line ending) of each line from ``start`` on."""
    line = start
    for at in range(start, large.size_b, PIECE):
        for end in line_ends(large.read(at, PIECE + 1), PIECE):
            yield line, at + end
            line = at + end
    if line < large.size_b:
        yield line, large.size_b


def _line(large: Large, start: int, stop: int, line_b: int) -> LongLine:
    data = large.read(start, min(stop - start, line_b))
    if stop - start <= line_b:
        return LongLine(large.decoded(data.rstrip(b"\r\n")))
    cut = large.whole(start + line_b) - start
    return LongLine(large.decoded(data[:cut]), more_b=stop - start - cut)


def _notes(index: LineIndex) -> Iterator[str]:
    if index.is_guess:
        yield f"read as {index.encoding}, which is a guess"
    elif index.encoding != "utf-8":
        yield f"the file is in {index.encoding}, as declared"
    if index.n_stray:
        yield stray_words(index.n_stray, index.encoding)
