"""Identifiers and lines of a text, as they are compared (``compaction-study.md``). Pure.

An identifier is a path, a snake_case, camelCase or dotted name, or the name of an error, of at
least ``LEAST_NAME`` characters. Compaction chooses lines by them, and a replay measures loss by
them.
"""

from __future__ import annotations

import re
from functools import lru_cache

LEAST_NAME, LEAST_LINE = 5, 4  # characters
LONGEST_NAME = 300  # characters; what is longer is data
_TOKEN = re.compile(r"[\w./@-]{5,}")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_ERROR = re.compile(r"E[A-Z]{4,}|[A-Z]{1,4}\d{3,5}")
_NUMBERED = re.compile(r"\s*\d+[→\t]|(?:[^\s:]+:)?\d+[:-]")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def names_in(text: str) -> frozenset[str]:
    """The identifiers of a text."""
    return frozenset(name for token in set(_TOKEN.findall(text)) for name in _names(token))


def line_key(line: str) -> str:
    """A line without its number and trailing blanks; empty if it is too short to matter."""
    number = _NUMBERED.match(line)
    key = (line[number.end() :] if number else line).rstrip()
    return key if len(key.strip()) >= LEAST_LINE else ""


def forget() -> None:
    """Let go of what was read before; it is some ten megabytes."""
    _names.cache_clear()


def is_numbered(line: str) -> bool:
    """Does it begin with its number, as lines of files and of searches do?"""
    return _NUMBERED.match(line) is not None


@lru_cache(maxsize=50_000)
def _names(token: str) -> tuple[str, ...]:
    """The identifiers that a run of characters stands for."""
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
