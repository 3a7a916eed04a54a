"""The ``charset`` that .editorconfig files set for a file (editorconfig.org, 0.17).

Whoever wrote the project wrote these files, so a pattern is no regular expression: it is gone
through once, with the set of all places in the path that it may have come to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import read_bytes

LIMIT_B = 65_536  # of one .editorconfig that is read
_TOTAL_CHARS = LIMIT_B  # looked through for one file: about 0.1 s
_PATTERN_CHARS = 256
_PART = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[!?[^\]/]+\])|\{(?P<range>-?\d+\.\.-?\d+)\}"
    r"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_SET = re.compile(r"(?P<first>.)-(?P<last>.)|(?P<one>.)", re.DOTALL)


def charset_of(found: Iterable[tuple[str, str]]) -> str | None:
    """The charset set for one file, in lower case; None if none is.

    Args:
        found: For each .editorconfig from the innermost folder outwards: the file's path relative
            to that folder, with slashes, and the text of the .editorconfig. Those that come after
            too much text are not looked at.
    """
    room = _TOTAL_CHARS
    for path, text in found:
        room -= len(text)
        if room < 0:
            return None
        charset, is_root = _charset_in(text, path)
        if charset is not None:
            return None if charset == "unset" else charset
        if is_root:
            return None
    return None


def matches(pattern: str, path: str) -> bool:
    """Does a section's pattern mean ``path``? Without a slash it means names in any folder."""
    if len(pattern) > _PATTERN_CHARS:
        return False
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    places = _reached(pattern.removeprefix("/"), path)
    return bool(places >> len(path))


def _charset_in(text: str, path: str) -> tuple[str | None, bool]:
    """What one file sets (the last section that fits wins), and whether it is the outermost."""
    charset, is_root, section = None, False, None
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
        elif name == "charset" and section is not None and matches(section, path):
            charset = setting
    return charset, is_root


def _reached(pattern: str, path: str) -> int:
    """The places in ``path`` that the whole pattern can come to, from its beginning.

    A set of places is a number: bit 0 is before the first character, and so on. So one step of
    the pattern takes all places that were come to one step further at once.
    """
    marks = _marks(path)
    every = (1 << len(path)) - 1
    name = every & ~marks.get("/", 0)
    digits = _any_of(marks, "0123456789")
    braces = pattern.count("{") == pattern.count("}")
    at, opened = 1, list[tuple[int, int]]()  # of each open brace: before it, after its parts so far
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
    """For each character of ``path`` the places that it stands at."""
    marks: dict[str, int] = {}
    for place, char in enumerate(path):
        marks[char] = marks.get(char, 0) | 1 << place
    return marks


def _any_of(marks: Mapping[str, int], chars: Iterable[str]) -> int:
    """The places before one of ``chars``."""
    return reduce(or_, (marks.get(char, 0) for char in chars), 0)


def _along(places: int, over: int) -> int:
    """The places, and all that are come to from them over any number of such characters.

    Adding a place to a run of ones carries it to the run's end and clears what it passed.
    """
    return (((places & over) + over) ^ over) | places


def _in_set(marks: Mapping[str, int], body: str, every: int) -> int:
    """The places before a character that is meant between square brackets."""
    there = 0
    for part in _SET.finditer(body.removeprefix("!")):
        if part["one"]:
            there |= marks.get(part["one"], 0)
        else:
            there |= _any_of(marks, (c for c in marks if part["first"] <= c <= part["last"]))
    return every & ~there if body.startswith("!") else there


def charset_at(path: Path, roots: Sequence[Path]) -> str | None:
    """The charset of ``path``, by the files from its folder up to the root; None if none is set."""
    found: list[tuple[str, str]] = []
    for folder in path.parents:
        if not any(folder == root or root in folder.parents for root in roots):
            break
        try:
            data = read_bytes(folder / ".editorconfig", roots, LIMIT_B)
        except ToolError:  # there is none, or it is none
            continue
        found.append((path.relative_to(folder).as_posix(), data.decode("utf-8", "replace")))
    return charset_of(found)
