"""Splits a text into lines that can be left out, with the identifiers in them. Pure.

An identifier is a path, a name in snake_case, camelCase or dotted form, or the name of an error,
with at least ``LEAST_NAME`` characters. Compaction chooses lines by identifiers, and ``indwell
replay`` measures loss by identifiers (``compaction-study.md``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Text, ToolResult, ToolUse

LONGEST_LINE = 2_000  # the number of characters of a line that are searched for names


def text_of(block: Block) -> str:
    """Return a block's text as a model reads it; for a call, its arguments with line breaks."""
    match block:
        case Text() | ToolResult():
            return block.text
        case ToolUse():
            return "\n".join(argument_texts(block.arguments))
        case _:
            return ""


def argument_texts(arguments: str) -> tuple[str, ...]:
    """Return the texts in a call's arguments; the arguments if they are not a JSON object."""
    try:
        # Decoding a string would keep a UTF-8 copy in the string as long as the call exists.
        return tuple(_texts(msgspec.json.decode(arguments.encode())))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return (arguments,)


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)
        case _:
            pass


LEAST_NAME, LEAST_LINE = 5, 4  # the least number of characters for an identifier, and for a line
LONGEST_NAME = 300  # a name with more characters counts as data
_TOKEN = lazy_pattern(r"[\w./@-]{5,}")
_CAMEL = lazy_pattern(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_ERROR = lazy_pattern(r"E[A-Z]{4,}|[A-Z]{1,4}\d{3,5}")
_NUMBERED = lazy_pattern(r"\s*\d+[→\t]|(?:(?:[A-Za-z]:)?[^\s:]+:)?\d+[:-]|\s*Line \d+: ")
_LETTERS = lazy_pattern(r"[^\W\d_]{2,}")


def names_in(text: str) -> frozenset[str]:
    """Return the identifiers of a text."""
    return frozenset(name for token in set(_TOKEN.findall(text)) for name in _names(token))


def identifiers(line: str) -> dict[str, None]:
    """Return the identifiers of a line in their order, each once."""
    return dict.fromkeys(name for token in _TOKEN.findall(line) for name in _names(token))


def line_key(line: str, lead: str = "") -> str:
    """Return a line without its number and trailing blanks, or empty if it is very short.

    Args:
        line: The line.
        lead: The characters between number and line, if ``number_lead`` found any in the text.
    """
    number = _LED.match(line) if lead else None
    if number is None or number[1] != lead:
        number = _NUMBERED.match(line)
    key = (line[number.end() :] if number else line).rstrip()
    return key if len(key.strip()) >= LEAST_LINE else ""


LEADS = (": ", ". ")


def number_lead(text: str) -> str:
    """Return ``": "`` or ``". "`` if this text separates line numbers from lines, or else "".

    Some agents' tools number the lines of a file in one of these two ways. Searches write a colon
    alone. A text therefore counts only if three consecutive numbers come first, and if at least
    one of the separators is not followed by a second blank.
    """
    first = _LED_LINE.search(text, 0, _LED_WITHIN)
    if first is None:
        return ""
    lead, at = first[2], first.start()
    is_tight = False
    for number in range(int(first[1]), int(first[1]) + _LED_LINES):
        line = text[at : text.find("\n", at) + 1 or len(text)].rstrip("\r\n")
        if line != f"{number}{lead.rstrip()}" and not line.startswith(f"{number}{lead}"):
            return lead if is_tight and number - int(first[1]) >= _LED_LEAST else ""
        rest = line[len(str(number)) + len(lead) :]
        is_tight = is_tight or not rest.startswith((" ", "\t"))
        at += len(line) + 1
    return lead if is_tight else ""


_LED = lazy_pattern(r"\d+(: |\. )")
_LED_LINE = lazy_pattern(r"^(\d{1,6})(: |\. )", re.MULTILINE)
# The first numbered line is searched for in this many characters.
_LED_WITHIN = 4_000
_LED_LEAST, _LED_LINES = 3, 40


def is_numbered(line: str) -> bool:
    """Return whether the line begins with its number, as in results of reads and searches."""
    return _NUMBERED.match(line) is not None


@lru_cache(maxsize=256)  # More tokens would need megabytes for their names.
def _names(token: str) -> tuple[str, ...]:
    """Return the identifiers in a sequence of characters without blanks."""
    token = token.strip("./-@")
    if not LEAST_NAME <= len(token) <= LONGEST_NAME:
        return ()
    if "/" in token:
        base = token.rsplit("/", 1)[-1]
        found = (token,) if _LETTERS.search(token) else ()
        return found + (_names(base) if base != token else ())
    if "-" in token:
        return tuple(name for part in token.split("-") for name in _names(part))
    if "." in token:
        parts = token.split(".")
        if not all(parts) or not _LETTERS.match(parts[0]):
            return tuple(name for part in parts for name in _names(part))
        return (token, *(name for part in parts for name in _names(part)))
    is_name = "_" in token.strip("_") or _CAMEL.search(token)
    is_error = _ERROR.fullmatch(token)
    return (token,) if is_error or (is_name and _LETTERS.search(token)) else ()
