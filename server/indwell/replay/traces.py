"""What a text says that can be missed later: identifiers and lines. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from indwell.context.compaction.digesting.lines import line_key, names_in
from indwell.messages import Block, Text, ToolResult, ToolUse

LEAST_WORDS = 4  # other words that make a sentence of names
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


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return []
