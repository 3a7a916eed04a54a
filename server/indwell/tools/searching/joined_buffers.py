"""Joins unsaved buffers into one text for a search, and maps its lines back. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from indwell.tools.searching.ripgrep_output import RawLine

MAX_UNSAVED = 32 << 20  # characters of all buffers that are searched

_PIECE = 1 << 18  # characters that are split at once; in about 2 ms
_MARK = "\ufeff"  # some editors keep the byte order mark in the text


class Joined(msgspec.Struct, frozen=True):
    """Several texts, one after the other.

    Attributes:
        data: All of them; each begins on a line of its own.
        names: Of those that are in it, in order.
        starts: The number of lines before each.
        left_out: Names of those for which there was no room.
    """

    data: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]
    left_out: tuple[str, ...]

    def place_of(self, line: int) -> tuple[str, int]:
        """Whose line it is, and its number there, both from 1."""
        at = bisect_right(self.starts, line - 1) - 1
        return self.names[at], line - self.starts[at]


def join(texts: Mapping[str, str], room: int = MAX_UNSAVED) -> Joined:
    """Put texts one after the other, as long as they fit in ``room`` characters."""
    pieces: list[bytes] = []
    names: list[str] = []
    starts: list[int] = []
    left_out: list[str] = []
    n_lines = 0
    for name, text in texts.items():
        if len(text) > room:
            left_out.append(name)
            continue
        room -= len(text)
        data = text.removeprefix(_MARK).encode("utf-8", "replace")
        if data and not data.endswith(b"\n"):
            data += b"\n"
        if data:
            pieces.append(data)
            names.append(name)
            starts.append(n_lines)
            n_lines += data.count(b"\n")
    return Joined(b"".join(pieces), tuple(names), tuple(starts), tuple(left_out))


def with_context(text: str, matches: Sequence[RawLine], n_beside: int) -> list[RawLine]:
    """The lines that match, with so many on either side of each."""
    if not n_beside:
        return list(matches)
    found = {number: (number, data, True) for number, data, _ in matches}
    near = {one + by for one in found for by in range(-n_beside, n_beside + 1)} - found.keys()
    n_before = 0
    for lines in _pieces(text.removeprefix(_MARK).removesuffix("\n")):
        for number in near:
            if n_before < number <= n_before + len(lines):
                line = lines[number - n_before - 1]
                found[number] = (number, line.encode("utf-8", "replace"), False)
        n_before += len(lines)
    return [found[number] for number in sorted(found)]


def _pieces(text: str) -> Iterator[list[str]]:
    """Lines, some at a time: to split a large buffer at once would hold up every other thread."""
    at = 0
    while at <= len(text):
        end = text.find("\n", at + _PIECE)
        end = end if end >= 0 else len(text)
        yield text[at:end].split("\n")
        at = end + 1
