"""Reads the words of a PowerShell text: quotes, escapes, variables, numbers, operators. Pure."""

from __future__ import annotations

import re

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

ENDS = frozenset(" \t\r\n;|&(){},<>")
"""Characters that end a bare word."""

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": ""}
# After a backtick, these characters depend on PowerShell's version, or continue the line.
_UNSURE = frozenset("eu\r\n")
_VARIABLE = lazy_pattern(r"\$(?:(\w+):)?(\w+\??)|\$\{(?:(\w+):)?([^}:`]+)\}|\$[$?^]")
_SCOPES = frozenset(
    ["env", "global", "local", "private", "script", "using", "variable", "workflow"]
)
_HOMES = frozenset([("", "home"), ("env", "home"), ("env", "userprofile")])
_QUOTES = frozenset(map(chr, [*range(0x2018, 0x201C), *range(0x201C, 0x201F)]))
_ODD = lazy_pattern(r"[^\x00-\x7f]")
_BARE_NUMBER = lazy_pattern(
    r"(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)(?:[dlun]|u[ls]|[kmgtp]b)*"
    r"(?=$|[\s;|)}\],+\-*/%!=<>]|\.\.)",
    re.IGNORECASE | re.ASCII,
)
_SET = lazy_pattern(r"\[[^\] \t\r\n;|&(){},<>]*\]")
OPERATOR = lazy_pattern(
    r"-(?:[ic]?(?:eq|ne|gt|ge|lt|le|like|notlike|match|notmatch|replace|contains|notcontains|in"
    r"|notin|split)|join|and|or|xor|band|bor|bxor|shl|shr|is|isnot|f)\b|\.\.|[+\-*/%,]",
    re.IGNORECASE,
)
"""Matches an operator between two operands."""

UNARY = lazy_pattern(r"-(?:not|bnot|join|[ic]?split)\b|!|\+\+|--|[+\-,]", re.IGNORECASE)
"""Matches an operator before its operand."""

TYPE = lazy_pattern(r"\[\s*([A-Za-z_][\w.]*)(?:\[\])?\s*\]")
"""Matches a type such as ``[IO.File]``, but no generic type."""


class Unreadable(Exception):
    """The text contains a construct that this parser does not understand with certainty.

    Args:
    why: A clause for people.
    """


def check_characters(text: str) -> None:
    """Refuse typographic quotes, which PowerShell accepts as quotes.

    Raises:
        Unreadable: The text contains a typographic quote.
    """
    for found in _ODD.finditer(text):
        if found[0] in _QUOTES:
            raise Unreadable(f"contains {found[0]!r}, which PowerShell reads as a quote")


def blanks(text: str, at: int, *, lines: bool = False) -> int:
    """Return the index of the next character that is not a blank, comment or continued line.

    With ``lines``, line ends count as blanks.
    """
    while at < len(text):
        if text[at] in " \t" or (lines and text[at] in "\r\n"):
            at += 1
        elif text[at] == "`" and text[at + 1 : at + 2] in {"\n", "\r"}:
            at += 3 if text.startswith("\r\n", at + 1) else 2
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("<#", at):
            end = text.find("#>", at + 2)
            if end < 0:
                raise Unreadable("contains a comment without an end")
            at = end + 2
        else:
            break
    return at


def number_end(text: str, at: int) -> int:
    """Return the end of a number that begins at ``at``, or ``at`` if no number begins there."""
    found = _BARE_NUMBER.match(text, at)
    return found.end() if found else at


def raw_string(text: str, at: int) -> tuple[str, int]:
    """Read a string in single quotes; return the string's value and end."""
    parts = []
    at += 1
    while True:
        end = text.find("'", at)
        if end < 0:
            raise Unreadable("contains a quote without an end")
        parts.append(text[at:end])
        if not text.startswith("''", end):
            return "".join(parts), end + 1
        parts.append("'")
        at = end + 2


def here_string(text: str, at: int) -> tuple[int, int, int]:
    """Return where the content of a here-string begins and ends, and the end of the string."""
    quote = text[at + 1]
    start = re.compile(r"[ \t]*\r?\n").match(text, at + 2)
    if not start:
        raise Unreadable("contains a here-string that does not begin on a line of its own")
    begin = start.end()
    if text.startswith(f"{quote}@", begin):
        return begin, begin, begin + 2
    end = text.find(f"\n{quote}@", begin)
    if end < 0:
        raise Unreadable("contains a here-string without an end")
    return begin, end, end + 3


def variable(text: str, at: int) -> tuple[str, int]:
    """Read a variable; return what the variable expands to, and where the variable ends.

    Raises:
    Unreadable: The variable reads a file, runs code, or has an unknown form.
    """
    found = _VARIABLE.match(text, at)
    if not found:
        raise Unreadable("contains a '$' that is not understood")
    scope = (found[1] or found[3] or "").lower()
    name = (found[2] or found[4] or "").lower()
    if scope and scope not in _SCOPES:
        raise Unreadable(f"reads from the drive {scope + ':'!r}")
    if (scope, name) in _HOMES:
        return HOME, found.end()
    return UNKNOWN, found.end()


def begins_variable(text: str, at: int) -> bool:
    """Return whether a variable begins here, and not only a dollar sign."""
    return _VARIABLE.match(text, at) is not None


def escaped(text: str, at: int) -> tuple[str, int]:
    """Read a backtick and the escaped character; return the value and the end."""
    behind = text[at + 1 : at + 2]
    if not behind:
        raise Unreadable("ends with a backtick")
    if behind in _UNSURE:
        return UNKNOWN, at + 2
    return _ESCAPES.get(behind, behind), at + 2


def bare_piece(text: str, at: int) -> tuple[str, int]:
    """Read a piece of a bare word without quotes, escapes and variables."""
    match text[at]:
        case "*" | "?":
            return STAR, at + 1
        case "[":
            found = _SET.match(text, at)
            return STAR, found.end() if found else at + 1
        case "]":
            return STAR, at + 1
        case "~" if at == 0 or text[at - 1] in " \t,:(":
            is_alone = at + 1 >= len(text) or text[at + 1] in ENDS or text[at + 1] in "/\\"
            return (HOME if is_alone else "~"), at + 1
        case one:
            if not one.isascii() and not one.isalnum():
                raise Unreadable(f"contains {one!r} outside of quotes")
            return one, at + 1


def known_word(source: str, text: str) -> Word:
    """Return a word of one text; if the text is unknown, the word may become several words."""
    return Word(source, (text,), splits=UNKNOWN in text)


def unknown_word(source: str) -> Word:
    """Return a word that is known only at run time."""
    return Word(source, (UNKNOWN,), splits=True)


def merged(one: Word, other: Word) -> Word:
    """Return the word for a list, whose possible texts are the members of the list."""
    return Word(
        f"{one.source},{other.source}",
        tuple(dict.fromkeys((*one.options, *other.options))),
        splits=True,
    )
