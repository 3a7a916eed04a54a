"""Detects a file's encoding by byte order mark, UTF-8, declaration, or a guess. Pure.

Every accepted encoding restores exactly the same bytes.

A guess affects only the display of a text, never the written bytes: bytes outside an edit are kept,
and an edit may not add new characters.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.text import SNIFF_B, Decoded, Errors, binary_kind, decode_as, halves

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The entry comes before UTF-16, whose mark begins in the same way.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Control characters in Latin-1 are printable in the encodings that browsers use instead.
_C1 = lazy_pattern(rb"[\x80-\x9f]")
_JAPANESE_MAIL = b"\x1b$"  # ISO-2022-JP has only ASCII bytes; this escape starts its characters.


def nothing_declared() -> str | None:
    """Return None, because no .editorconfig declares a charset."""
    return None


def decode(
    data: bytes,
    project: Callable[[], str | None] = nothing_declared,
    before: str | None = None,
) -> Decoded | None:
    """Decode a file's bytes; return None for a binary file (``binary_kind`` names its type).

    Args:
        data: All bytes.
        project: Looks up the charset that the project declares; called only if needed.
        before: The last guess for the same file, so that guesses do not change.
    """
    marked = _by_mark(data)
    if marked is not None:
        return marked
    kind = binary_kind(data)
    if kind is not None:
        return _wide(data, project) if kind == "binary file" else None
    try:
        plain = decode_as(data, "utf-8")
    except UnicodeError:
        return _by_declaration(data, project) or _mostly_utf8(data) or _by_guess(data, before)
    if not plain.text.isascii():
        return _with_conflict(plain, declared(data[:HEAD_B], data[-HEAD_B:]))
    return (_japanese_mail(data) if _JAPANESE_MAIL in data else None) or plain


def stray_words(n_stray: int, encoding: str) -> str:
    """Return the note for the model about bytes that are invalid in ``encoding``.

    Invalid bytes become lone halves of UTF-16 pairs in the text.
    """
    what, how = ("byte", "\\xNN") if encoding else ("half character", "\\uNNNN")
    no_text = f" that {'is' if n_stray == 1 else 'are'} no {encoding}" if encoding else ""
    if n_stray == 1:
        return f"1 {what}{no_text} is shown as {how}; leave it out of edits, and it stays"
    return (
        f"{n_stray:,} {what}s{no_text} are shown as {how}; leave them out of edits, and they stay"
    )


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if not data.startswith(mark):
            continue
        unusual: Errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
        decoded = _first(data, ((encoding, "strict"), (encoding, unusual)), mark)
        if decoded is not None:
            return _told(decoded)
        if encoding.startswith("utf-16"):
            text = data[len(mark) :].decode(encoding, "backslashreplace")
            note = f"it is not valid {encoding} throughout: undecodable bytes are shown as \\xNN"
            return Decoded(text, encoding, mark, lossless=False, notes=(note,))
    return None


def _wide(data: bytes, project: Callable[[], str | None]) -> Decoded | None:
    """Decode UTF-16 or UTF-32 without a byte order mark."""
    wanted = known(project() or "") or ""
    if wanted.startswith(("utf-16", "utf-32")):
        decoded = _first(data, ((mark_of(wanted)[0], "strict"),))
        if decoded is not None:
            return _noted(decoded, f"the file is in {decoded.encoding}, as the project declares")
    encoding = is_wide(data[:SNIFF_B])
    decoded = None if encoding is None else _first(data, ((encoding, "strict"),))
    return None if decoded is None else _guessed(decoded)


def _by_declaration(data: bytes, project: Callable[[], str | None]) -> Decoded | None:
    told = declared(data[:HEAD_B], data[-HEAD_B:])
    if told is not None:
        if told == "iso8859-1" and _C1.search(data):
            told = WIDER[told]
        ways: tuple[tuple[str, Errors], ...] = (
            (told, "strict"),
            (WIDER.get(told, told), "strict"),
            (told, "surrogateescape"),
        )
        decoded = _first(data, ways)
        if decoded is not None:
            if decoded.encoding == "utf-8":
                return _told(decoded)
            return _noted(_told(decoded), f"the file is in {decoded.encoding}, as it declares")
    wanted = known(project() or "")
    if wanted is not None:
        decoded = _first(data, ((wanted, "strict"), (WIDER.get(wanted, wanted), "strict")))
        if decoded is not None:
            return _noted(decoded, f"the file is in {decoded.encoding}, as .editorconfig declares")
    return None


def _mostly_utf8(data: bytes) -> Decoded | None:
    """Decode UTF-8 with stray bytes, at most as many as there are multi-byte characters."""
    sample = sample_of(data).decode("utf-8", "surrogateescape")
    n_stray = len(halves(sample))
    n_wide = len(sample) - len(sample.encode("ascii", "ignore")) - n_stray
    return _told(decode_as(data, "utf-8", "surrogateescape")) if n_wide >= n_stray else None


def _by_guess(data: bytes, before: str | None) -> Decoded:
    is_given_up = before == "utf-8"  # If no guess was possible before, no guess is made now.
    for encoding in () if is_given_up else _candidates(data, before):
        decoded = _first(data, ((encoding, "strict"),))
        if decoded is not None:
            return _guessed(decoded)
    decoded = decode_as(data, "utf-8", "surrogateescape")
    return _told(msgspec.structs.replace(decoded, is_guess=True))


def _candidates(data: bytes, before: str | None) -> Iterator[str]:
    if before is not None:
        yield before
    yield from guesses(data)


def _japanese_mail(data: bytes) -> Decoded | None:
    decoded = _first(data, (("iso2022_jp", "strict"), ("iso2022_jp_2", "strict")))
    if decoded is None or decoded.text.isascii():
        return None
    return _noted(decoded, f"the file is in {decoded.encoding}")


def _first(data: bytes, ways: tuple[tuple[str, Errors], ...], mark: bytes = b"") -> Decoded | None:
    for encoding, errors in ways:
        try:
            return decode_as(data, encoding, errors, mark)
        except (UnicodeError, LookupError):
            continue
    return None


def _with_conflict(plain: Decoded, told: str | None) -> Decoded:
    if told in {None, "utf-8"}:
        return plain
    return _noted(plain, f"the file declares {told}, but its bytes are UTF-8")


def _guessed(decoded: Decoded) -> Decoded:
    guess = msgspec.structs.replace(decoded, is_guess=True)
    return _noted(guess, f"read as {decoded.encoding}, which is a guess")


def _told(decoded: Decoded) -> Decoded:
    """Add a note about undecodable bytes, if there are any."""
    n_stray = 0 if decoded.errors == "strict" else len(halves(decoded.text))
    if not n_stray:
        return decoded
    is_wide = decoded.errors == "surrogatepass"
    return _noted(decoded, stray_words(n_stray, "" if is_wide else decoded.encoding))


def _noted(decoded: Decoded, note: str) -> Decoded:
    return msgspec.structs.replace(decoded, notes=(*decoded.notes, note))


# The first bytes are searched for a declaration, as in HTML; modelines may also be at the end.
HEAD_B = 1_024
_LINES = 5  # As in Vim, a modeline may be in the first or last 5 lines.

_NAME = r"([A-Za-z][\w.:-]{1,30})"
_EVERYWHERE = (
    lazy_pattern(rf"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']{_NAME}["']"""),
    lazy_pattern(rf"""\A@charset\s+"{_NAME}";"""),
    lazy_pattern(rf"""<meta\s[^>]*?charset\s*=\s*["']?{_NAME}""", re.IGNORECASE),
)
_FIRST_TWO = (
    # The pattern is a declaration by PEP 263.
    lazy_pattern(rf"^[ \t\f]*#.*?coding[:=][ \t]*{_NAME}", re.MULTILINE),
    # The pattern is a declaration for Emacs.
    lazy_pattern(rf"-\*-.*?\bcoding:[ \t]*{_NAME}.*?-\*-"),
)
_MODELINE = lazy_pattern(rf"\b(?:vim?|ex):.*?\b(?:fileencoding|fenc)={_NAME}")

# Browsers use these encodings if the declared encoding does not fit.
WIDER = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}
_DECLARED_MARKS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-8-sig": codecs.BOM_UTF8,
}
_KNOWN = lazy_pattern(
    r"utf-8(?:-sig)?|ascii|utf-(?:16|32)(?:-[lb]e)?|iso8859-\d+|cp(?:125\d|437|85\d|86\d|874|932|949|950)"
    r"|koi8-[rut]|mac-\w+|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|shift_jis\w*|euc_(?:jp|kr|jis)\w*"
    r"|iso2022_\w+|johab|tis-620|kz1048|ptcp154"
)


def declared(head: bytes, tail: bytes = b"") -> str | None:
    """Return the declared encoding by Python's name, or None if it is missing or unknown.

    Args:
        head: The first bytes of the file.
        tail: The last bytes, which may hold a modeline.
    """
    start = head[:HEAD_B].decode("latin-1")
    lines = start.splitlines()
    end = tail[-HEAD_B:].decode("latin-1").splitlines()
    places: Sequence[tuple[Sequence[re.Pattern[str]], str]] = (
        (_EVERYWHERE, start),
        (_FIRST_TWO, "\n".join(lines[:2])),
        ((_MODELINE,), "\n".join([*lines[:_LINES], *end[-_LINES:]])),
    )
    for patterns, text in places:
        for pattern in patterns:
            found = pattern.search(text)
            if found is not None:
                return known(found.group(1))
    return None


def known(name: str) -> str | None:
    """Return Python's name for an encoding of files, or None for any other name.

    A name in a file must not select a codec that is no text encoding, such as ``rot13``.
    """
    wanted = name.lower()
    wanted = wanted.removeprefix("x-")
    # The name may have one of Emacs's suffixes.
    wanted = wanted.removesuffix("-unix").removesuffix("-dos").removesuffix("-mac")
    if wanted in {"latin1", "latin-1"}:
        wanted = "iso8859-1"
    if "." in wanted:
        return None
    try:
        found = codecs.lookup(wanted).name
    except (LookupError, ValueError):
        return None
    return found if _KNOWN.fullmatch(found) else None


def mark_of(encoding: str) -> tuple[str, bytes]:
    """Return a new file's codec and byte order mark for a declared encoding."""
    if encoding == "utf-16":
        encoding = "utf-16-le"
    mark = _DECLARED_MARKS.get(encoding, b"")
    return ("utf-8" if encoding == "utf-8-sig" else encoding), mark


# For this many bytes of lines that are not ASCII, charset-normalizer needs about 1 ms.
SAMPLE_B = 8_192

_CANDIDATES = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp866", "iso8859_2",
)  # fmt: skip
_WIDE_B = 8  # Fewer bytes are no evidence.
_WIDE_SHARE = 0.7  # At least 70 % of the characters are below U+0100.
_LOOK_PIECE_B = 1 << 16
# A minified line must not fill the whole sample, so at most 200 bytes of it are used.
_AROUND_B = 200
_HIGH = lazy_pattern(rb"[\x80-\xff]")
_SIGN = lazy_pattern(rb"[\x00-\x3f]")  # The byte is never the second byte of a character.
_KANA = ("\u3040", "\u30ff")  # The pair has the first and the last kana.
_HALF_KANA = ("\uff66", "\uff9f")
_HANGUL = ("\uac00", "\ud7a3")
_JAPANESE = 0.2  # At least 20 % of the letters are kana.
# At most 80 % are half-width letters, because Russian in KOI8-R looks like half-width letters.
_NOT_JAPANESE = 0.8
_KOREAN = 0.95  # At least 95 % are Hangul, because Chinese read as Korean mixes Hangul and Han.
_WORD = lazy_pattern(r"[^\W\d_]{2,}")
_INSIDE = lazy_pattern(r"[a-z]([^\w\s])[a-z]")
_JOINING = frozenset("'-\N{RIGHT SINGLE QUOTATION MARK}\N{SOFT HYPHEN}\N{MIDDLE DOT}\N{EN DASH}")
_WESTERN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœŠšŽžŸ")


def guesses(data: bytes) -> Iterator[str]:
    """Yield possible encodings of ``data``, likeliest first; the caller tries each."""
    # A repeated line adds no evidence.
    sample = b"\n".join(dict.fromkeys(sample_of(data).split(b"\n")))
    if _is_western(sample):
        yield "cp1252"
    # The import is here, because it takes 50 ms and few files need it.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    found = [one.encoding for one in from_bytes(sample, cp_isolation=list(_CANDIDATES))]
    yield from dict.fromkeys([*_asian(sample, found[:1]), *found])


def _asian(sample: bytes, first: list[str]) -> Iterator[str]:
    """Yield East Asian encodings, which their scripts identify better than letter frequencies."""
    for encoding in ("euc_jp", "cp932"):
        # GB 18030 has kana at the same code points.
        if _share(sample, encoding, _KANA) >= _JAPANESE:
            yield encoding
    if first == ["cp949"] and _share(sample, "cp949", _HANGUL) < _KOREAN:
        yield "gb18030"
    if first == ["cp932"] and _share(sample, "cp932", _HALF_KANA) >= _NOT_JAPANESE:
        yield "koi8_r"


def sample_of(data: bytes) -> bytes:
    """Return the first lines with bytes above 127; long lines only in part."""
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
    """Return the line around a byte, or a part of a long line, and the position of its end."""
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
    """Detect UTF-16 without a mark, in which every other byte of plain letters is NUL."""
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
    """Return whether the text is in a western language: ASCII letters, accents, no odd signs."""
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
    """Return the fraction of these letters among the non-ASCII characters in an encoding."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    wide = [char for char in text if not char.isascii() and char.isalpha()]
    first, last = letters
    return sum(first <= char <= last for char in wide) / len(wide) if wide else 0.0


def _is_odd(char: str) -> bool:
    """Return whether this is a control or unassigned character, which texts never contain."""
    return char not in "\t\n\r\f\x1b" and unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"}
