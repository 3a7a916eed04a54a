"""What a text says that can be missed later: identifiers and lines. Pure.

An identifier is a path, a snake_case, camelCase or dotted name, or the name of an error, of at
least five characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from indwell.messages import Block, Text, ToolResult, ToolUse

LEAST_NAME, LEAST_LINE = 5, 4  # characters
LEAST_WORDS = 4  # other words that make a sentence of names
_TOKEN = re.compile(r"[\w./@-]{5,}")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_ERROR = re.compile(r"E[A-Z]{4,}|[A-Z]{1,4}\d{3,5}")
_NUMBERED = re.compile(r"\s*\d+[→\t]|(?:[^\s:]+:)?\d+[:-]")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class Traces(msgspec.Struct, frozen=True):
    """Of one text.

    Attributes:
        names: Its identifiers.
        lines: Its lines without line numbers and trailing blanks, blank and tiny ones left out.
    """

    names: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()


class Reader:
    """Reads each text once; one for all replays of a recording."""

    def __init__(self) -> None:
        self._known: dict[str, Traces] = {}

    def traces(self, text: str) -> Traces:
        """What ``text`` holds."""
        known = self._known.get(text)
        if known is None:
            keys = (line_key(line) for line in text.splitlines())
            lines = frozenset(key for key in keys if key)
            known = self._known[text] = Traces(names_in(text), lines)
        return known


def words_of(block: Block) -> str:
    """What a model reads of a block; of a call its arguments as they are meant."""
    match block:
        case Text() | ToolResult():
            return block.text
        case ToolUse():
            return call_words(block.name, block.arguments)
        case _:
            return ""


@lru_cache(maxsize=4_096)
def call_words(name: str, arguments: str) -> str:
    """A call's arguments as text, a line break between two of them."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return f"{name}\n{arguments}"
    return "\n".join((name, *_strings(given)))


def names_in(text: str) -> frozenset[str]:
    """The identifiers of a text."""
    return frozenset(name for token in set(_TOKEN.findall(text)) for name in _names(token))


def line_key(line: str) -> str:
    """A line as it is compared; empty if it is too short to matter."""
    number = _NUMBERED.match(line)
    key = (line[number.end() :] if number else line).rstrip()
    return key if len(key.strip()) >= LEAST_LINE else ""


def said_in(text: str, is_original: frozenset[str] | set[str] | dict[str, Any]) -> Traces:
    """What a rewritten text still says: on original lines, and in sentences that state something.

    Args:
        text: The rewritten one.
        is_original: Lines (as ``line_key`` gives them) of the texts that it was made of.
    """
    names, lines = set[str](), set[str]()
    for line in text.splitlines():
        key = line_key(line)
        if key:
            lines.add(key)
        if key in is_original:
            names |= names_in(line)
            continue
        for sentence in _SENTENCE.split(line):
            found = names_in(sentence)
            if found and _n_words(sentence) >= max(LEAST_WORDS, len(found)):
                names |= found
    return Traces(frozenset(names), frozenset(lines))


def _n_words(sentence: str) -> int:
    """Words that are no identifiers."""
    return sum(bool(_LETTERS.search(word)) and not names_in(word) for word in sentence.split())


@lru_cache(maxsize=200_000)
def _names(token: str) -> tuple[str, ...]:
    """The identifiers that a run of characters stands for."""
    token = token.strip("./-@")
    if len(token) < LEAST_NAME:
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


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return []
