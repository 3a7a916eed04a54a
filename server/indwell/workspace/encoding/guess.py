"""Guess the encoding of bytes that are no UTF-8 and declare none, from a bounded sample. Pure.

A guess decides how a text is shown, never what is written: bytes outside an edit are kept by the
round trip that ``encodings`` demands, and an edit may bring in no new character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

SAMPLE_B = 8_192  # of lines that are not ASCII; charset-normalizer takes about 1 ms for them

_CANDIDATES = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp866", "iso8859_2",
)  # fmt: skip
_WIDE_B = 8  # less is no evidence
_WIDE_SHARE = 0.7  # of the characters are below U+0100
_LOOK_PIECE_B = 1 << 16
_AROUND_B = 200  # of a long line: a minified one must not be the whole sample
_HIGH = re.compile(rb"[\x80-\xff]")
_SIGN = re.compile(rb"[\x00-\x3f]")  # never the second byte of a character
_KANA = ("\u3040", "\u30ff")  # from and to
_HALF_KANA = ("\uff66", "\uff9f")
_HANGUL = ("\uac00", "\ud7a3")
_JAPANESE = 0.2  # of the letters are kana, at least
_NOT_JAPANESE = 0.8  # are of half width; Russian in KOI8-R looks so
_KOREAN = 0.95  # are Hangul; Chinese read as Korean is Hangul and Han mixed
_WORD = re.compile(r"[^\W\d_]{2,}")
_INSIDE = re.compile(r"[a-z]([^\w\s])[a-z]")
_JOINING = frozenset("'-\N{RIGHT SINGLE QUOTATION MARK}\N{SOFT HYPHEN}\N{MIDDLE DOT}\N{EN DASH}")
_WESTERN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœŠšŽžŸ")


def guesses(data: bytes) -> Iterator[str]:
    """Encodings that ``data`` may be in, the likeliest first; each is for the caller to try."""
    # A line that is repeated says no more than once.
    sample = b"\n".join(dict.fromkeys(sample_of(data).split(b"\n")))
    if _is_western(sample):
        yield "cp1252"
    # It takes 50 ms to import, and few files need it.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    found = [one.encoding for one in from_bytes(sample, cp_isolation=list(_CANDIDATES))]
    yield from dict.fromkeys([*_asian(sample, found[:1]), *found])


def _asian(sample: bytes, first: list[str]) -> Iterator[str]:
    """What the scripts of East Asia tell better than the frequency of letters does."""
    for encoding in ("euc_jp", "cp932"):
        if _share(sample, encoding, _KANA) >= _JAPANESE:  # GB 18030 has them at the same place
            yield encoding
    if first == ["cp949"] and _share(sample, "cp949", _HANGUL) < _KOREAN:
        yield "gb18030"
    if first == ["cp932"] and _share(sample, "cp932", _HALF_KANA) >= _NOT_JAPANESE:
        yield "koi8_r"


def sample_of(data: bytes) -> bytes:
    """The first lines with bytes above 127; long lines in parts, cut beside ASCII signs."""
    pieces: list[bytes] = []
    room = SAMPLE_B
    for start in range(0, len(data), _LOOK_PIECE_B):
        piece = data[start : start + _LOOK_PIECE_B]
        at = 0
        while room > 0 and (high := _HIGH.search(piece, at)):
            line, at = _line_around(piece, high.start())
            pieces.append(line)
            room -= len(line) + 1
        if room <= 0:
            break
    return b"\n".join(pieces)


def _line_around(data: bytes, place: int) -> tuple[bytes, int]:
    """The line of a byte, or a part of it, and where that ends."""
    begin = data.rfind(b"\n", 0, place) + 1
    end = data.find(b"\n", place)
    end = len(data) if end < 0 else end
    start, stop = max(begin, place - _AROUND_B), min(end, place + _AROUND_B)
    if start > begin:
        sign = _SIGN.search(data, start, place)
        start = sign.end() if sign else place
    if stop < end:
        sign = _SIGN.search(data, stop, stop + _AROUND_B)
        stop = sign.start() if sign else stop
    return data[start:stop], max(stop, place + 1)


def is_wide(data: bytes) -> str | None:
    """UTF-16 without a mark: which of the two, if every other byte of plain letters is NUL."""
    head = data[:SAMPLE_B]
    if len(head) % 2 or len(head) < _WIDE_B:
        return None
    for encoding, high, low in (("utf-16-le", head[1::2], head[::2]),
                                ("utf-16-be", head[::2], head[1::2])):  # fmt: skip
        if high.count(0) >= _WIDE_SHARE * len(high) and not low.count(0):
            text = head.decode(encoding, "replace")
            return None if any(map(_is_odd, text)) else encoding
    return None


def _is_western(sample: bytes) -> bool:
    """Words of a western language: ASCII letters with accents among them, no odd signs."""
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if any(sign not in _JOINING and not sign.isascii() for sign in _INSIDE.findall(text.lower())):
        return False
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    if any(not letter.isascii() and letter not in _WESTERN for letter in "".join(words)):
        return False
    n_mixed = sum(any(map(str.isascii, word)) for word in words)
    return n_mixed * 2 >= len(words) and not any(map(_is_odd, text))


def _share(sample: bytes, encoding: str, letters: tuple[str, str]) -> float:
    """How many of the characters beyond ASCII are such letters, if it is that encoding."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    wide = [char for char in text if not char.isascii() and char.isalpha()]
    first, last = letters
    return sum(first <= char <= last for char in wide) / len(wide) if wide else 0.0


def _is_odd(char: str) -> bool:
    """Does no text hold this character: a control, or one that is not assigned?"""
    return char not in "\t\n\r\f\x1b" and unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"}
