"""Decoded text with its encoding, and lines as editors count them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern

Errors: TypeAlias = Literal["strict", "surrogateescape", "surrogatepass"]
LineEnd: TypeAlias = Literal["\n", "\r\n"]

SNIFF_B = 8_192  # The first bytes are searched for a NUL byte, as in git.
# Between two pauses for other threads, this many bytes or characters take about 1 ms.
PIECE = 1 << 18
_HALF = lazy_pattern(r"[\ud800-\udfff]")
# These characters end a line for Python, but not for editors.
_OTHER_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_HALVES = lazy_pattern(r"[\ud800-\udfff]+")
_LINE = lazy_pattern(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)


class Decoded(msgspec.Struct, frozen=True):
    """A file's text, and what is needed to write the file again.

    Attributes:
        text: The text without the byte order mark, with unchanged line endings.
        encoding: The name of a Python codec.
        mark: The byte order mark, or empty if the file has none.
        errors: How undecodable bytes appear in ``text`` and are written again.
        lossless: Whether ``encode`` restores the same bytes; if not, ``text`` is read-only.
        is_guess: Whether the encoding is a guess, because neither the bytes nor a declaration
            determine it.
        notes: Sentences for the model about the decoding.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    errors: Errors = "strict"
    lossless: bool = True
    is_guess: bool = False
    notes: tuple[str, ...] = ()


def decode_as(data: bytes, encoding: str, errors: Errors = "strict", mark: bytes = b"") -> Decoded:
    """Decode ``data``, which begins with ``mark``, in parts, so that other threads can run.

    Raises:
    UnicodeError: The data is not in that encoding, or would not encode to the same bytes.
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
    """Encode ``text`` by the encoding of the file ``like``.

    Raises:
        UnicodeEncodeError: The encoding cannot represent a character of ``text``.
    """
    encoder = codecs.getincrementalencoder(like.encoding)(like.errors)
    pieces = [like.mark]
    pieces += (encoder.encode(piece) for piece in in_pieces(text))
    pieces.append(encoder.encode("", final=True))
    return b"".join(pieces)


def in_pieces(text: str) -> Iterator[str]:
    """Yield ``text`` in small parts."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def binary_kind(data: bytes) -> str | None:
    """Name the type of a binary file by its first bytes or a NUL byte; return None for a text.

    UTF-16 and UTF-32 contain NUL bytes, too, so try those encodings first.
    """
    for magic, kind in _IMAGES:
        if data.startswith(magic) and (kind != "BMP" or b"\0" in data[:SNIFF_B]):
            return f"{kind} image"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP image"
    return "binary file" if b"\0" in data[:SNIFF_B] else None


def picture_type(data: bytes) -> str:
    """Return the media type of an image that models can read, by its first bytes, or no text."""
    kind = (binary_kind(data) or "").removesuffix(" image").lower()
    return f"image/{kind}" if kind in {"png", "jpeg", "gif", "webp"} else ""


def wide_mark(data: bytes) -> str | None:
    """Name UTF-16 or UTF-32 if the file begins with its byte order mark; return None otherwise."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    return "UTF-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def shown(text: str) -> str:
    r"""Format text for display: undecodable bytes as ``\xNN``, other lone surrogates ``\uNNNN``.

    Undecodable bytes are lone surrogates in a text, which JSON and UTF-8 cannot represent.
    """
    if text.isascii():
        return text
    return _HALF.sub(_spelled, text)


def halves(text: str) -> str:
    """Return all lone surrogates of ``text``, in order."""
    if text.isascii():
        return ""
    return "".join("".join(_HALVES.findall(piece)) for piece in in_pieces(text))


def split_lines(text: str) -> list[str]:
    r"""Split a text into lines with endings; only ``\r\n``, ``\n`` and ``\r`` end a line.

    ``str.splitlines`` also splits at form feeds and U+2028, unlike every editor.
    """
    if any(map(text.__contains__, _OTHER_ENDS)):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)


def count_lines(text: str) -> int:
    """Count the lines of ``split_lines``, part by part."""
    n_ends = sum(n_line_ends(text, start, stop) for start, stop in _stretches(text))
    return n_ends + (text[-1:] not in {"", "\n", "\r"})


def line_spans(text: str, first: int) -> Iterator[tuple[int, int]]:
    """Yield start and end (after the line ending) of each line from line ``first`` on."""
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
    """Return the line number (from 1) of the character at ``offset``."""
    n_ends = n_line_ends(text, 0, offset)
    # Inside a CRLF, the line has not ended yet.
    inside = 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n"
    return 1 + n_ends - int(inside)


def n_line_ends(text: str, start: int, stop: int) -> int:
    r"""Count the line endings in a part of ``text``; a ``\r`` at the part's end counts as one."""
    n_returns = text.count("\r", start, stop)
    n_pairs = text.count("\r\n", start, stop) if n_returns else 0
    return text.count("\n", start, stop) + n_returns - n_pairs


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of parts of ``text`` that split no CRLF."""
    start = 0
    while start < len(text):
        stop = start + PIECE
        stop += text[stop - 1 : stop + 1] == "\r\n"
        yield start, min(stop, len(text))
        start = stop


def _line_stop(text: str, at: int) -> int:
    """Return the end of the line at ``at``, by a search in growing steps."""
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
    """Split a text into lines with endings; a final line break adds an empty line."""
    lines = split_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}
"""For each position encoding: the codec of its code units, and the bytes of one code unit."""


def index_in_line(line: str, units: int, encoding: str) -> int:
    """Convert an offset in code units to code points, clamped to the line's text.

    An offset inside a character, such as inside a surrogate pair, means the character's start.
    """
    body = line.rstrip("\r\n")
    if units <= 0:
        return 0
    if encoding == "utf-32" or body.isascii():
        return min(units, len(body))
    codec, unit_b = _CODECS[encoding]
    # A character has at least one unit, so the rest of the line is irrelevant.
    encoded = body[:units].encode(codec, "surrogatepass")
    stop = min(units * unit_b, len(encoded))
    while stop < len(encoded) and _is_inside(encoded, stop, unit_b):
        stop -= unit_b
    return len(encoded[:stop].decode(codec, "surrogatepass"))


def units_in_line(line: str, index: int, encoding: str) -> int:
    """Convert an index in code points to an offset in code units."""
    if encoding == "utf-32" or line.isascii():
        return min(index, len(line))
    codec, unit_b = _CODECS[encoding]
    return len(line[:index].encode(codec, "surrogatepass")) // unit_b


def _is_inside(encoded: bytes, stop: int, unit_b: int) -> bool:
    """Return whether a cut at ``stop`` would split a character of UTF-8 or UTF-16."""
    if unit_b == 1:
        return encoded[stop] & 0xC0 == 0x80  # noqa: PLR2004 - a continuation byte
    halves = encoded[stop - 1] & 0xFC, encoded[stop + 1] & 0xFC
    return halves == (0xD8, 0xDC)
