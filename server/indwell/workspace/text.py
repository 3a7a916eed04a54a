"""Bytes to text and back, byte for byte; lines as editors count them.

Line endings are never touched, and a byte order mark is kept beside the text, not in it.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, TypeAlias

import msgspec

Encoding: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be"]

SNIFF_B = 8_192  # how far a NUL byte is looked for, as git does
_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)


class Decoded(msgspec.Struct, frozen=True):
    r"""The text of a file, and what is needed to write it again.

    Attributes:
        text: Without the byte order mark, line endings as they were.
        encoding: What it was decoded with.
        mark: The byte order mark; empty if there was none.
        lossless: ``encode`` gives the bytes again; if not, ``text`` shows the undecodable bytes
            as ``\xNN`` and is for reading only.
    """

    text: str
    encoding: Encoding = "utf-8"
    mark: bytes = b""
    lossless: bool = True


def decode(data: bytes) -> Decoded:
    """Decode UTF-8, or UTF-16 with a byte order mark; anything else is not lossless."""
    mark, encoding = _mark(data)
    body = data[len(mark) :]
    try:
        return Decoded(body.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return Decoded(body.decode(encoding, "backslashreplace"), encoding, mark, lossless=False)


def encode(text: str, like: Decoded | None = None) -> bytes:
    """Encode ``text`` as the file ``like`` was; UTF-8 without a mark for a new file.

    Raises:
        UnicodeEncodeError: ``text`` holds a lone surrogate.
    """
    if like is None:
        return text.encode("utf-8")
    return like.mark + text.encode(like.encoding)


def binary_kind(data: bytes) -> str | None:
    """Name what is no text: an image by its first bytes, anything else by a NUL byte; else None."""
    for magic, kind in _IMAGES:
        if data.startswith(magic) and (kind != "BMP" or b"\0" in data[:SNIFF_B]):
            return f"{kind} image"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP image"
    if data.startswith(_WIDE):
        return "UTF-32 text"
    if _mark(data)[1] != "utf-8":
        return None
    return "binary file" if b"\0" in data[:SNIFF_B] else None


def split_lines(text: str) -> list[str]:
    r"""Lines with their ends; only ``\r\n``, ``\n`` and ``\r`` end a line, as in LSP.

    ``str.splitlines`` also splits at form feeds and U+2028, where no editor does.
    """
    if "\r" in text:
        return _LINE.findall(text)
    lines = text.split("\n")
    last = lines.pop()
    lines = [f"{line}\n" for line in lines]
    if last:
        lines.append(last)
    return lines


def line_at(text: str, offset: int) -> int:
    """The line, 1-based, that the character at ``offset`` stands in."""
    n_feeds = text.count("\n", 0, offset)
    n_returns = text.count("\r", 0, offset)
    n_pairs = text.count("\r\n", 0, offset) if n_returns else 0
    # Between the two characters of a pair the line has not ended yet.
    inside = n_returns and 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n"
    return 1 + n_feeds + n_returns - n_pairs - int(bool(inside))


def _mark(data: bytes) -> tuple[bytes, Encoding]:
    if data.startswith(_WIDE):  # begins like UTF-16, and is not
        return b"", "utf-8"
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", "utf-8"
