r"""Indexes the lines of a large file, with its digest and encoding, in one pass.

The index has the number of line endings before each part of the file: 800 numbers for 200 MB. A
line ends at each ``\n``, and at each ``\r`` without a following ``\n``. A function supplies the
bytes, so this module does not access the disk.
"""

from __future__ import annotations

import bisect
import codecs
import hashlib
from array import array
from collections.abc import Callable, Iterator

import msgspec

from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.encoding.decoding import HEAD_B, WIDER, declared, guesses, known
from indwell.workspace.text import PIECE, Errors

Read = Callable[[int, int], bytes]
"""Reads up to a number of bytes from an offset; returns fewer only at the end of the file."""

_END = lazy_pattern(rb"\n|\r(?!\n)")
_SAMPLE_B = 1 << 18


class LineIndex(msgspec.Struct, frozen=True):
    """The result of one pass over a file's bytes.

    Attributes:
        size_b: The file's size.
        digest: Digest of all bytes; never equal to a text's digest.
        ends: The number of line endings before each part, and finally of the whole file.
        n_lines: The number of lines, including a last line without an ending.
        encoding: The encoding of the lines.
        is_guess: Whether the encoding is a guess, because nothing declares it.
        n_stray: The number of undecodable bytes, if the encoding is UTF-8.
    """

    size_b: int
    digest: str
    ends: array[int]
    n_lines: int
    encoding: str
    is_guess: bool = False
    n_stray: int = 0

    @property
    def errors(self) -> Errors:
        """The error handler of the decoder: undecodable bytes become lone surrogates."""
        return "surrogateescape"


def index_of(read: Read, size_b: int, project: Callable[[], str | None]) -> LineIndex:
    """Read the whole file once; ``read`` may raise an error to stop."""
    hashed = hashlib.blake2b(digest_size=16)
    ends = array("Q", [0])
    looked = _Encoding()
    last = b""
    for start in range(0, size_b, PIECE):
        data = read(start, PIECE + 1)
        piece = data[:PIECE]
        hashed.update(piece)
        ends.append(ends[-1] + n_line_ends(data, PIECE))
        looked.feed(piece, is_last=start + PIECE >= size_b)
        last = piece[-1:] or last
    head, tail = read(0, HEAD_B), read(max(size_b - HEAD_B, 0), HEAD_B)
    encoding, is_guess = looked.result(declared(head, tail), project)
    return LineIndex(
        size_b=size_b,
        digest=f"bytes:{hashed.hexdigest()}",
        ends=ends,
        n_lines=ends[-1] + (last not in {b"", b"\n", b"\r"}),
        encoding=encoding,
        is_guess=is_guess,
        n_stray=looked.n_stray if encoding == "utf-8" else 0,
    )


def start_of(number: int, index: LineIndex, read: Read) -> int:
    """Return the offset at which line ``number`` (from 0) begins."""
    if not number:
        return 0
    piece = bisect.bisect_left(index.ends, number) - 1
    wanted = number - index.ends[piece] - 1
    base = piece * PIECE
    for place, end in enumerate(line_ends(read(base, PIECE + 1), PIECE)):
        if place == wanted:
            return base + end
    raise ToolError("the file became shorter while it was read; read_file it again")


def n_line_ends(data: bytes, stop: int) -> int:
    """Count line endings that begin before ``stop``; ``data`` has one byte more than ``stop``."""
    n_returns = data.count(b"\r", 0, stop)
    n_pairs = data.count(b"\r\n", 0, stop + 1) if n_returns else 0
    return data.count(b"\n", 0, stop) + n_returns - n_pairs


def line_ends(data: bytes, stop: int) -> Iterator[int]:
    """Yield the offset after each line ending before ``stop``; ``data`` has one byte more."""
    if b"\r" in data:
        for found in _END.finditer(data):
            if found.start() >= stop:
                return
            yield found.end()
        return
    at = data.find(b"\n", 0, stop)
    while at >= 0:
        yield at + 1
        at = data.find(b"\n", at + 1, stop)


class _Encoding:
    """Checks bytes for UTF-8 part by part, and collects evidence for other encodings."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._sample: list[bytes] = []
        self._sample_b = 0
        self._n_wide = 0
        self.n_stray = 0

    def feed(self, piece: bytes, *, is_last: bool) -> None:
        if piece.isascii() and not is_last:
            # The part completes the last character of the previous part.
            text = self._decoder.decode(piece)
            if text.isascii():
                return
        else:
            text = self._decoder.decode(piece, final=is_last)
        n_wide = len(text) - len(text.encode("ascii", "ignore"))
        n_stray = len(text.encode("utf-8", "surrogateescape")) - len(text.encode("utf-8", "ignore"))
        self._n_wide += n_wide - n_stray
        self.n_stray += n_stray
        if n_stray and self._sample_b < _SAMPLE_B:
            self._sample.append(piece)
            self._sample_b += len(piece)

    def result(self, told: str | None, project: Callable[[], str | None]) -> tuple[str, bool]:
        """Return the encoding, and whether it is a guess."""
        if not self.n_stray or told == "utf-8" or self._n_wide >= self.n_stray:
            return "utf-8", False
        for wanted in (told, known(project() or "")):
            if wanted is not None and not wanted.startswith(("utf-16", "utf-32")):
                return (wanted if is_simple(wanted) else WIDER.get(wanted, wanted)), False
        return next(guesses(b"".join(self._sample)), "utf-8"), True


def is_simple(encoding: str) -> bool:
    """Return whether the encoding is UTF-8, or a single-byte encoding that extends ASCII."""
    if encoding == "utf-8":
        return True
    try:
        plain = bytes(range(128)).decode(encoding)
        high = bytes(range(128, 256)).decode(encoding, "replace")
    except (UnicodeError, LookupError):
        return False
    return plain.encode("ascii", "replace") == bytes(range(128)) and len(high) == len(plain)
