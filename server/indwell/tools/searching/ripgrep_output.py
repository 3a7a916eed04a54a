"""Parses ripgrep's output file by file until there are enough matches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from indwell.lazy_pattern import lazy_pattern

MAX_SHOWN = 200  # matches, or files; H51

Mode = Literal["lines", "files", "count"]

OPTIONS: dict[Mode, tuple[str, ...]] = {
    "lines": (
        *("--line-number", "--column", "--no-heading", "--no-context-separator"),
        *("--max-columns=4000", "--max-columns-preview"),  # bytes; cut to characters afterwards
    ),
    "files": ("--files-with-matches",),
    "count": ("--count",),
}
"""Used with ``--null``, which ends a path clearly."""

_FORMS: dict[Mode, re.Pattern[bytes]] = {
    "lines": re.compile(rb"([^\0]*)\0(\d+)(?:-|:(\d+):)([^\n]*)\n"),
    "files": re.compile(rb"([^\0]+)\0"),
    "count": re.compile(rb"([^\0]*)\0(\d+)\r?\n"),
}
_WARNING = lazy_pattern(rb"(?s)\A.*(?:binary file (?:after match|matches)) \(found [^\n]*\)\n")

_BEFORE_B = 100  # bytes of a long line before its first match

RawLine = tuple[int, bytes, bool]
"""A line's number, from 1; its bytes, perhaps cut; and whether it matches or is context."""


class Hits:
    """What was found below one folder.

    Args:
        mode: The kind of result that was asked for.
        limit: Matches (or files) after which nothing more is taken.
        wanted: Is the file of this name to be searched?
        is_file: Does a file of this name exist? Called only for names with line feeds.
    """

    def __init__(
        self,
        mode: Mode,
        limit: int = 0,
        wanted: Callable[[str], bool] = lambda _name: True,
        is_file: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.lines: dict[str, list[RawLine]] = {}
        self.counts: dict[str, int] = {}
        self.is_full = False
        self._mode: Mode = mode
        self._limit = limit
        self._wanted = wanted
        self._is_file = is_file
        self._n_taken = 0
        self._names: dict[bytes, str | None] = {}
        self._rest = b""
        self._has_binary = False

    @property
    def has_binary(self) -> bool:
        """Was there a binary file that ripgrep did not search or show completely?"""
        return self._has_binary or _WARNING.match(self._rest) is not None

    def take(self, data: bytes) -> bool:
        """Take a piece of output; return True once there is enough."""
        self._rest += data
        at = 0
        for found in _FORMS[self._mode].finditer(self._rest):
            at = found.end()
            name = self._name(found[1])
            if name is None:
                continue
            if self._mode == "lines":
                is_match = found[3] is not None
                text = _around(found[4], int(found[3])) if is_match else found[4]
                self.add(name, (int(found[2]), text, is_match))
            else:
                self.counts[name] = int(found[2]) if self._mode == "count" else 1
                self._n_taken += 1
            if self._n_taken >= self._limit:
                self.is_full = True
                break
        self._rest = self._rest[at:]
        return self.is_full

    def add(self, name: str, line: RawLine) -> None:
        """Take one line."""
        self.lines.setdefault(name, []).append(line)
        if line[2]:
            self.counts[name] = self.counts.get(name, 0) + 1
            self._n_taken += 1

    def _name(self, raw: bytes) -> str | None:
        """Return the path, or None if it does not count."""
        if raw not in self._names:
            names = self._readings(raw)
            self._names[raw] = names[0] if all(map(self._wanted, names)) else None
        return self._names[raw]

    def _readings(self, raw: bytes) -> tuple[str, ...]:
        """Return the path without ripgrep's message before it; two paths if it is ambiguous.

        A folder can have a name for which both exist. Then both must be searchable, or a denied
        file could be read under the other name.
        """
        whole = raw.decode("utf-8", "surrogateescape")
        rest = _WARNING.sub(b"", raw) if b"\n" in raw else raw
        if rest == raw:
            names = [whole]
        else:
            names = [whole] if self._is_file(whole) else []
            self._has_binary |= not names
            names.append(rest.decode("utf-8", "surrogateescape"))
        return tuple(name.removeprefix("./") for name in names)


def _around(line: bytes, column: int) -> bytes:
    """Return a long line from shortly before its first match; whole if that is beyond the cut.

    Args:
        line: The line, or its beginning.
        column: Where the match begins, in bytes from 1.
    """
    first = column - 1 - _BEFORE_B
    if first <= _BEFORE_B or column > len(line):
        return line
    while first < column - 1 and line[first] & 0xC0 == 0x80:  # noqa: PLR2004 - within a character
        first += 1
    return "…".encode() + line[first:]
