"""Reads settings for a file from .editorconfig files (editorconfig.org, 0.17).

The files come with the project and are untrusted, so a pattern does not become a regular
expression. One pass tracks the positions in the path that the pattern may have reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.lazy_pattern import lazy_pattern

LIMIT_B = 65_536  # The rest of a longer .editorconfig is not read.
_TOTAL_CHARS = LIMIT_B  # Searching this many characters for one file takes about 0.1 s.
_PATTERN_CHARS = 256
_PART = lazy_pattern(
    r"(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[!?[^\]/]+\])|\{(?P<range>-?\d+\.\.-?\d+)\}"
    r"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_SET = lazy_pattern(r"(?P<first>.)-(?P<last>.)|(?P<one>.)", re.DOTALL)


def setting_of(key: str, found: Iterable[tuple[str, str]]) -> str | None:
    """Return a setting for one file, in lower case, or None if it is not set.

    Args:
        key: The setting's name in lower case, such as ``charset``.
        found: For each .editorconfig, innermost first: the path of the file relative to the folder
            of the .editorconfig, with slashes, and the text. Further texts beyond a total length
            are ignored.
    """
    room = _TOTAL_CHARS
    for path, text in found:
        room -= len(text)
        if room < 0:
            return None
        setting, is_root = _setting_in(text, path, key)
        if setting is not None:
            return None if setting == "unset" else setting
        if is_root:
            return None
    return None


def matches(pattern: str, path: str) -> bool:
    """Return whether a section's pattern matches ``path``; a name alone matches in any folder."""
    if len(pattern) > _PATTERN_CHARS:
        return False
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    places = _reached(pattern.removeprefix("/"), path)
    return bool(places >> len(path))


def _setting_in(text: str, path: str, wanted: str) -> tuple[str | None, bool]:
    """Return a file's setting (the last matching section wins), and whether ``root`` is set."""
    found, is_root, section = None, False, None
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("[") and words.endswith("]"):
            section = words[1:-1]
            continue
        key, separator, value = words.partition("=")
        if not separator or words.startswith(("#", ";")):
            continue
        name, setting = key.strip().lower(), value.strip().lower()
        if name == "root" and section is None:
            is_root = setting == "true"
        elif name == wanted and section is not None and matches(section, path):
            found = setting
    return found, is_root


def _reached(pattern: str, path: str) -> int:
    """Return the positions in ``path`` at which a match of the whole pattern can end.

    A set of positions is a number, whose bit 0 is the position before the first character. Each
    step of the pattern therefore advances all reached positions at once.
    """
    marks = _marks(path)
    every = (1 << len(path)) - 1
    name = every & ~marks.get("/", 0)
    digits = _any_of(marks, "0123456789")
    braces = pattern.count("{") == pattern.count("}")
    # The list has, for each open brace, the states before the brace and after each alternative so
    # far.
    at, opened = 1, list[tuple[int, int]]()
    for part in _PART.finditer(pattern):
        kind, word = part.lastgroup, part.group()
        if kind == "stars":
            at = _along(at, every if len(word) > 1 else name)
        elif kind == "any":
            at = (at & name) << 1
        elif kind == "set":
            at = (at & name & _in_set(marks, word[1:-1], every)) << 1
        elif kind == "range":
            signed = at | (at & _any_of(marks, "+-")) << 1
            at = _along((signed & digits) << 1, digits)
        elif kind == "open" and braces:
            opened.append((at, 0))
        elif kind == "close" and opened:
            at |= opened.pop()[1]
        elif kind == "comma" and opened:
            before, after = opened.pop()
            opened.append((before, after | at))
            at = before
        else:
            at = (at & marks.get(part.group("escaped") or word, 0)) << 1
    return 0 if opened else at


@lru_cache(maxsize=16)
def _marks(path: str) -> Mapping[str, int]:
    """Map each character of ``path`` to its positions."""
    marks: dict[str, int] = {}
    for place, char in enumerate(path):
        marks[char] = marks.get(char, 0) | 1 << place
    return marks


def _any_of(marks: Mapping[str, int], chars: Iterable[str]) -> int:
    """Return the positions before any of ``chars``."""
    return reduce(or_, (marks.get(char, 0) for char in chars), 0)


def _along(places: int, over: int) -> int:
    """Return the positions, and all that can be reached from them across characters in ``over``.

    Adding a bit to a run of ones carries to the run's end and clears the bits on the way.
    """
    return (((places & over) + over) ^ over) | places


def _in_set(marks: Mapping[str, int], body: str, every: int) -> int:
    """Return the positions before a character that matches the square brackets."""
    there = 0
    for part in _SET.finditer(body.removeprefix("!")):
        if part["one"]:
            there |= marks.get(part["one"], 0)
        else:
            there |= _any_of(marks, (c for c in marks if part["first"] <= c <= part["last"]))
    return every & ~there if body.startswith("!") else there


def charset_at(path: Path, roots: Sequence[Path]) -> str | None:
    """Return the charset of ``path`` by the files from its folder up to the root, or None."""
    return setting_of("charset", above(path, roots, ".editorconfig"))


def above(path: Path, roots: Sequence[Path], name: str) -> list[tuple[str, str]]:
    """Read the files ``name`` from the folder of ``path`` up to the root, innermost first.

    Returns:
        For each readable file: ``path`` relative to the file's folder, with slashes, and the text.
    """
    found: list[tuple[str, str]] = []
    for folder in path.parents:
        if not any(folder == root or root in folder.parents for root in roots):
            break
        try:
            data = read_bytes(folder / name, roots, LIMIT_B)
        except ToolError:  # The file is missing or unreadable.
            continue
        found.append((path.relative_to(folder).as_posix(), data.decode("utf-8", "replace")))
    return found
