"""Text as it is read, kept and told: what it was decoded from, lines as editors count them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

Errors: TypeAlias = Literal["strict", "surrogateescape", "surrogatepass"]

SNIFF_B = 8_192  # how far a NUL byte is looked for, as git does
PIECE = 1 << 18  # bytes or characters between two chances for other threads: about 1 ms of work
_HALF = re.compile(r"[\ud800-\udfff]")
_OTHER_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # of lines for Python, and for no editor
_HALVES = re.compile(r"[\ud800-\udfff]+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)


class Decoded(msgspec.Struct, frozen=True):
    """The text of a file, and what is needed to write it again.

    Attributes:
        text: Without the byte order mark, line endings as they were.
        encoding: What it was decoded with: a name of Python's codecs.
        mark: The byte order mark; empty if there was none.
        errors: How bytes that are no text stand in ``text``, and are written again.
        lossless: ``encode`` gives the bytes again; if not, ``text`` is for reading only.
        is_guess: Neither the bytes nor a declaration say that it is this encoding.
        notes: Sentences for the model on how it was read.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    errors: Errors = "strict"
    lossless: bool = True
    is_guess: bool = False
    notes: tuple[str, ...] = ()


def decode_as(data: bytes, encoding: str, errors: Errors = "strict", mark: bytes = b"") -> Decoded:
    """Decode ``data``, which begins with ``mark``; piece by piece, so that others may run.

    Raises:
        UnicodeError: It is not of that encoding, or would not give the same bytes again.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    encoder = codecs.getincrementalencoder(encoding)(errors)
    pieces: list[str] = []
    at = len(mark)
    for start in range(len(mark), max(len(data), len(mark) + 1), PIECE):
        is_last = start + PIECE >= len(data)
        piece = decoder.decode(data[start : start + PIECE], final=is_last)
        again = encoder.encode(piece, final=is_last)
        if data[at : at + len(again)] != again:
            raise UnicodeError(f"not byte for byte {encoding}")
        at += len(again)
        pieces.append(piece)
    if at != len(data):
        raise UnicodeError(f"not byte for byte {encoding}")
    return Decoded("".join(pieces), encoding, mark, errors)


def encode(text: str, like: Decoded) -> bytes:
    """Encode ``text`` as the file ``like`` was.

    Raises:
        UnicodeEncodeError: The encoding cannot hold a character of ``text``.
    """
    encoder = codecs.getincrementalencoder(like.encoding)(like.errors)
    pieces = [like.mark]
    pieces += (encoder.encode(piece) for piece in in_pieces(text))
    pieces.append(encoder.encode("", final=True))
    return b"".join(pieces)


def in_pieces(text: str) -> Iterator[str]:
    """``text`` in pieces that are soon done with."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def binary_kind(data: bytes) -> str | None:
    """Name what is no text: an image by its first bytes, anything else by a NUL byte; else None.

    UTF-16 and UTF-32 hold NUL bytes too: ask this of what was not decoded as them.
    """
    for magic, kind in _IMAGES:
        if data.startswith(magic) and (kind != "BMP" or b"\0" in data[:SNIFF_B]):
            return f"{kind} image"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP image"
    return "binary file" if b"\0" in data[:SNIFF_B] else None


def picture_type(data: bytes) -> str:
    """The media type of a picture that models read, by its first bytes; else empty."""
    kind = (binary_kind(data) or "").removesuffix(" image").lower()
    return f"image/{kind}" if kind in {"png", "jpeg", "gif", "webp"} else ""


def wide_mark(data: bytes) -> str | None:
    """UTF-16 or UTF-32 by its mark, for people; else None."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    return "UTF-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def shown(text: str) -> str:
    r"""``text`` as it may be told: undecodable bytes as ``\xNN``, other half characters ``\uNNNN``.

    Both stand in a text as lone surrogates, which JSON and UTF-8 cannot carry.
    """
    if text.isascii():
        return text
    return _HALF.sub(_spelled, text)


def halves(text: str) -> str:
    """All lone surrogates of ``text``, in their order."""
    if text.isascii():
        return ""
    return "".join("".join(_HALVES.findall(piece)) for piece in in_pieces(text))


def split_lines(text: str) -> list[str]:
    r"""Lines with their ends; only ``\r\n``, ``\n`` and ``\r`` end a line, as in LSP.

    ``str.splitlines`` also splits at form feeds and U+2028, where no editor does.
    """
    if any(map(text.__contains__, _OTHER_ENDS)):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)


def count_lines(text: str) -> int:
    """How many lines ``split_lines`` would give; piece by piece."""
    n_ends = sum(n_line_ends(text, start, stop) for start, stop in _stretches(text))
    return n_ends + (text[-1:] not in {"", "\n", "\r"})


def line_spans(text: str, first: int) -> Iterator[tuple[int, int]]:
    """From and to of each line, with its end, beginning with line ``first`` (from 0)."""
    number = at = 0
    for start, stop in _stretches(text):
        n_ends = n_line_ends(text, start, stop)
        if number + n_ends >= first:
            at = start if first > number else at
            break
        number += n_ends
        at = stop
    while number < first and at < len(text):
        at = _line_stop(text, at)
        number += 1
    while at < len(text):
        stop = _line_stop(text, at)
        yield at, stop
        at = stop


def line_at(text: str, offset: int) -> int:
    """The line, 1-based, that the character at ``offset`` stands in."""
    n_ends = n_line_ends(text, 0, offset)
    # Between the two characters of a pair the line has not ended yet.
    inside = 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n"
    return 1 + n_ends - int(inside)


def n_line_ends(text: str, start: int, stop: int) -> int:
    r"""How many lines end in a part of ``text``; a ``\r`` at its very end counts as one."""
    n_returns = text.count("\r", start, stop)
    n_pairs = text.count("\r\n", start, stop) if n_returns else 0
    return text.count("\n", start, stop) + n_returns - n_pairs


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """From and to of pieces of ``text`` that cut no CRLF in two."""
    start = 0
    while start < len(text):
        stop = start + PIECE
        stop += text[stop - 1 : stop + 1] == "\r\n"
        yield start, min(stop, len(text))
        start = stop


def _line_stop(text: str, at: int) -> int:
    """Where the line ends that ``at`` stands in; looks further and further."""
    size = 1_024
    while at < len(text):
        feed = text.find("\n", at, at + size)
        back = text.find("\r", at, at + size if feed < 0 else feed)
        if back >= 0:
            return back + 2 if text[back + 1 : back + 2] == "\n" else back + 1
        if feed >= 0:
            return feed + 1
        at += size
        size *= 2
    return len(text)


def _spelled(half: re.Match[str]) -> str:
    code = ord(half.group())
    is_byte = "\udc80" <= half.group() <= "\udcff"
    return f"\\x{code - 0xDC00:02x}" if is_byte else f"\\u{code:04x}"


def document_lines(text: str) -> list[str]:
    """Lines with their endings; a text that ends with a line break has one more, empty line."""
    lines = split_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines
