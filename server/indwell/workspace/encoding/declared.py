"""The encoding that a file says it has: cookies, XML, HTML and CSS headers, modelines. Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

HEAD_B = 1_024  # how far a declaration is looked for, as HTML does; modelines also at the end
_LINES = 5  # first and last lines that may hold a modeline, as in Vim

_NAME = r"([A-Za-z][\w.:-]{1,30})"
_EVERYWHERE = (
    re.compile(rf"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']{_NAME}["']"""),
    re.compile(rf"""\A@charset\s+"{_NAME}";"""),
    re.compile(rf"""<meta\s[^>]*?charset\s*=\s*["']?{_NAME}""", re.IGNORECASE),
)
_FIRST_TWO = (
    re.compile(rf"^[ \t\f]*#.*?coding[:=][ \t]*{_NAME}", re.MULTILINE),  # PEP 263
    re.compile(rf"-\*-.*?\bcoding:[ \t]*{_NAME}.*?-\*-"),  # Emacs
)
_MODELINE = re.compile(rf"\b(?:vim?|ex):.*?\b(?:fileencoding|fenc)={_NAME}")

# What browsers and writers of such files take the declared name for, if it does not fit.
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
_MARKS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-8-sig": codecs.BOM_UTF8,
}
_KNOWN = re.compile(
    r"utf-8(?:-sig)?|ascii|utf-(?:16|32)(?:-[lb]e)?|iso8859-\d+|cp(?:125\d|437|85\d|86\d|874|932|949|950)"
    r"|koi8-[rut]|mac-\w+|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|shift_jis\w*|euc_(?:jp|kr|jis)\w*"
    r"|iso2022_\w+|johab|tis-620|kz1048|ptcp154"
)


def declared(head: bytes, tail: bytes = b"") -> str | None:
    """The encoding that a file says it has, by Python's name; None if it says none that is known.

    Args:
        head: Its first bytes.
        tail: Its last bytes, where a modeline may stand.
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
    """Python's name of an encoding that files may have; None for anything else.

    A name out of a file picks no codec that is none, such as ``rot13`` or ``idna``.
    """
    wanted = name.lower()
    wanted = wanted.removeprefix("x-")
    wanted = wanted.removesuffix("-unix").removesuffix("-dos").removesuffix("-mac")  # Emacs
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
    """A declared encoding for a new file: the codec, and the mark that the file begins with."""
    if encoding == "utf-16":
        encoding = "utf-16-le"
    mark = _MARKS.get(encoding, b"")
    return ("utf-8" if encoding == "utf-8-sig" else encoding), mark
