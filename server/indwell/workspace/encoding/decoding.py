"""Which encoding a file is in: by its mark, as UTF-8, as it declares, at last by a guess. Pure.

Whatever is accepted gives the very same bytes when it is encoded again.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

import msgspec

from indwell.workspace.encoding.declared import HEAD_B, WIDER, declared, known, mark_of
from indwell.workspace.encoding.guess import guesses, is_wide, sample_of
from indwell.workspace.text import (
    SNIFF_B,
    Decoded,
    Errors,
    binary_kind,
    decode_as,
    halves,
)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16, so it is tried before
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_C1 = re.compile(rb"[\x80-\x9f]")  # controls in Latin-1, signs in what it is taken for
_JAPANESE_MAIL = b"\x1b$"  # ISO-2022-JP is all ASCII bytes; this leads in its own characters


def nothing_declared() -> str | None:
    """For files that no .editorconfig says anything of."""
    return None


def decode(
    data: bytes,
    project: Callable[[], str | None] = nothing_declared,
    before: str | None = None,
) -> Decoded | None:
    """The text of a file's bytes; None if it is no text at all (then ``binary_kind`` names it).

    Args:
        data: All bytes.
        project: Looks up what the project declares; asked only where it matters.
        before: What the same file was guessed to be last time, so that guesses do not waver.
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
    """Say to the model that a file holds bytes that are no text in ``encoding``.

    Without one they are halves of UTF-16 pairs.
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
            note = f"it is no whole {encoding}: what is no text is shown as \\xNN"
            return Decoded(text, encoding, mark, lossless=False, notes=(note,))
    return None


def _wide(data: bytes, project: Callable[[], str | None]) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark."""
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
    """UTF-8 with stray bytes: no more bytes that are none than characters of several bytes."""
    sample = sample_of(data).decode("utf-8", "surrogateescape")
    n_stray = len(halves(sample))
    n_wide = len(sample) - len(sample.encode("ascii", "ignore")) - n_stray
    return _told(decode_as(data, "utf-8", "surrogateescape")) if n_wide >= n_stray else None


def _by_guess(data: bytes, before: str | None) -> Decoded:
    is_given_up = before == "utf-8"  # nothing was guessed of it before, and so it stays
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
    """With a note on what is no text, if there is anything."""
    n_stray = 0 if decoded.errors == "strict" else len(halves(decoded.text))
    if not n_stray:
        return decoded
    is_wide = decoded.errors == "surrogatepass"
    return _noted(decoded, stray_words(n_stray, "" if is_wide else decoded.encoding))


def _noted(decoded: Decoded, note: str) -> Decoded:
    return msgspec.structs.replace(decoded, notes=(*decoded.notes, note))
