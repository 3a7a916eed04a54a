"""Encodes a text for its file, or refuses if the next reader would see another text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from indwell.workspace.encoding.decoding import (
    HEAD_B,
    declared,
    decode,
    known,
    mark_of,
    nothing_declared,
)
from indwell.workspace.text import Decoded, decode_as, encode, halves, in_pieces


def created(text: str, project: Callable[[], str | None] = nothing_declared) -> bytes:
    """Encode a new file in the encoding that the file or its project declares, or in UTF-8.

    Raises:
        ValueError: The next reader would see another text; the message says why.
    """
    like = _for_new_text(text, project)
    _check_characters(text, Decoded(""))
    data = _encoded(text, like)
    _check_meaning(data, text, like, project)
    return data


def rewritten(
    text: str, held: Decoded, project: Callable[[], str | None] = nothing_declared
) -> bytes:
    """Encode ``text`` to replace ``held``, in the same encoding.

    Raises:
        ValueError: The next reader would see another text; the message says why.
    """
    # An empty file may be new: the editor may have just created it.
    if not held.text and not held.mark:
        return created(text, project)
    like, told = held, _declared_in(text)
    if held.text.isascii() and not held.mark and held.encoding == "utf-8":
        like = held if text.isascii() else _for_ascii(text, project)
    elif (
        told is not None
        and not text.isascii()
        and told not in {held.encoding, _declared_in(held.text)}
    ):
        raise ValueError(
            f"it would declare {told}, while the file is in {held.encoding}; convert the file "
            "with a command (iconv) first"
        )
    _check_characters(text, held)
    data = _encoded(text, like)
    _check_meaning(data, text, like, project)
    return data


def _encoded(text: str, like: Decoded) -> bytes:
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        if "\ud800" <= char <= "\udfff":
            raise ValueError(_half(char)) from error
        raise ValueError(
            f"it holds {char!r} (U+{ord(char):04X}), which {like.encoding}, the file's encoding, "
            "cannot hold; write it another way (an escape, ASCII), or convert the file first"
        ) from error


def _half(char: str) -> str:
    return (
        f"it holds {char!r}, half of a surrogate pair, which no file can hold; write the whole "
        "character"
    )


def _for_new_text(text: str, project: Callable[[], str | None]) -> Decoded:
    wanted = _declared_in(text) or known(project() or "")
    return Decoded("") if wanted is None else Decoded("", *mark_of(wanted))


def _for_ascii(text: str, project: Callable[[], str | None]) -> Decoded:
    """Choose the encoding for a file's first non-ASCII characters: as declared, or UTF-8."""
    like = _for_new_text(text, project)
    return Decoded("") if like.mark or like.encoding.startswith(("utf-16", "utf-32")) else like


def _check_characters(text: str, held: Decoded) -> None:
    r"""Refuse misleading text: new characters in a guessed encoding, bytes retyped as ``\xNN``."""
    if held.errors != "strict":  # In the mode "strict", the encoder itself finds these characters.
        _check_halves(text, held)
    if held.is_guess:
        new = sorted(_characters(text) - _characters(held.text))
        if new:
            raise ValueError(
                f"it brings in {new[0]!r} (U+{ord(new[0]):04X}), and that the file is in "
                f"{held.encoding} is a guess, so the bytes for it could be wrong; use characters "
                "that the file has, or ASCII, or declare the encoding (.editorconfig charset), or "
                "convert the file to UTF-8 first"
            )


def _check_halves(text: str, held: Decoded) -> None:
    had, has = _counted(halves(held.text)), _counted(halves(text))
    for half, n_has in has.items():
        if n_has > had[half]:
            raise ValueError(_half(half))
    for half, n_had in had.items() if held.errors == "surrogateescape" else ():
        typed = f"\\x{ord(half) - 0xDC00:02x}"
        if has[half] < n_had and text.count(typed) > held.text.count(typed):
            raise ValueError(
                f"it has the four characters {typed} where the file has a byte that is not text; "
                "leave such bytes out of the edit, and they stay"
            )


def _counted(chars: str) -> Counter[str]:
    """Count each character in one pass, because random data contains all characters."""
    counted: Counter[str] = Counter()
    for piece in in_pieces(chars):
        counted.update(piece)
    return counted


def _check_meaning(
    data: bytes, text: str, like: Decoded, project: Callable[[], str | None]
) -> None:
    """Refuse bytes that would be decoded to another text next time."""
    if like.encoding == "utf-8" and like.errors == "strict":
        return  # These bytes cannot be decoded to another text.
    if like.errors == "strict":
        again = decode(data, project, like.encoding)
    else:  # The detection depends on the number of invalid bytes.
        again = decode_as(data, like.encoding, like.errors, like.mark)
    if again is not None and again.text == text:
        return
    for char in sorted(_characters(text)):
        if _is_changed_by(like, char):
            raise ValueError(
                f"it holds {char!r} (U+{ord(char):04X}), which {like.encoding} turns into "
                "another character; write it another way"
            )
    raise ValueError(f"its bytes in {like.encoding} would be read as another text")


def _is_changed_by(like: Decoded, char: str) -> bool:
    try:
        return char.encode(like.encoding, like.errors).decode(like.encoding, like.errors) != char
    except UnicodeError:
        return True


def _characters(text: str) -> set[str]:
    """Return the non-ASCII characters."""
    if text.isascii():
        return set()
    return {char for piece in in_pieces(text) for char in set(piece) if not char.isascii()}


def _declared_in(text: str) -> str | None:
    head, tail = (part.encode("ascii", "replace") for part in (text[:HEAD_B], text[-HEAD_B:]))
    return declared(head, tail)
