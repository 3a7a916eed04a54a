"""Stores the lines of texts in little memory: numbers of identifiers, hashes of keys, lengths.

A decision compares all lines of a long conversation. Strings for each line and each identifier
would need many times the memory of the texts. An identifier is therefore a number, which
``NameNumbers`` gives out, and the key of a line is a hash of 64 bits. Two of a million identifiers
have the same hash with a chance of one in 37 million; both would then count as one identifier.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import msgspec

from indwell.context.compaction.digesting.lines import (
    LONGEST_LINE,
    identifiers,
    line_key,
    number_lead,
)

LONGEST_END = 400_000  # the number of characters that are examined at each end of a long text
_CHARACTERS = 3.3  # the approximate characters per token, exact enough to compare lines
_LEAST_STORED = 40  # shorter texts are stored apart, because their lines need more room
_MOST_SHORT = 512  # the limit of short texts that are stored; they need 0.3 MB
_SMALLEST = (("B", 0xFF), ("H", 0xFFFF))  # small types of arrays, with their largest numbers
_STEP_BITS = 32  # the number of lower bits of a hash that choose the first slot
_LEAST_SLOTS = 1_024  # a power of two, and so is every later number of slots


class DecisionStopped(Exception):
    """The caller no longer needs the decision."""


class DigestedLine(msgspec.Struct, frozen=True, gc=False):
    """A line with its identifiers and its size.

    Attributes:
        number: The 0-based number of the line in its text.
        names: The numbers of the identifiers in the line.
        key: The hash of the line's form for comparisons, or 0 if the line is too short.
        tokens: The approximate number of tokens.
    """

    number: int
    names: tuple[int, ...]
    key: int
    tokens: float


class NameNumbers:
    """Numbers identifiers from 0, in the order of their first use.

    The hash table needs about 15 bytes for each identifier; a dictionary would need 200. The table
    is at most seven eighths full. The upper bits of a hash give the distance to the next slot, so
    that even a full table needs few steps.
    """

    def __init__(self) -> None:
        self._hashes = array("q")
        self._slots = array("I", bytes(4 * _LEAST_SLOTS))  # the number of a name + 1; 0 is free

    def __len__(self) -> int:
        return len(self._hashes)

    def number(self, name: str) -> int:
        """Return the number of an identifier; a new identifier gets the next number."""
        wanted, slots, hashes = hash(name), self._slots, self._hashes
        mask = len(slots) - 1
        at = wanted & mask
        step = wanted >> _STEP_BITS | 1
        while found := slots[at]:
            if hashes[found - 1] == wanted:
                return found - 1
            at = (at + step) & mask
        hashes.append(wanted)
        slots[at] = len(hashes)
        if 8 * len(hashes) > 7 * len(slots):
            self._widen()
        return len(hashes) - 1

    def _widen(self) -> None:
        mask = 2 * len(self._slots) - 1
        slots = array("I", bytes(4 * (mask + 1)))
        for number, wanted in enumerate(self._hashes, 1):
            at = wanted & mask
            step = wanted >> _STEP_BITS | 1
            while slots[at]:
                at = (at + step) & mask
            slots[at] = number
        self._slots = slots


class _StoredPart:
    """The lines of a part of a text; a blank line has the length 0."""

    __slots__ = ("_rows", "first", "keys", "names")

    def __init__(self, text: str, first: int, numbers: NameNumbers) -> None:
        self.first = first
        lengths, starts = list[int](), [0]
        keys, names = list[int](), list[int]()
        lead = number_lead(text)
        for line in text.split("\n"):
            names.extend(map(numbers.number, identifiers(line[:LONGEST_LINE])))
            key = line_key(line, lead)
            keys.append((hash(key) or 1) if key else 0)
            lengths.append(0 if not line or line.isspace() else len(line))
            starts.append(len(names))
        self.keys, self.names = array("q", keys), packed(names)
        # One array needs less memory than two: the lengths come first, then the starts.
        self._rows = packed(lengths + starts)

    def __len__(self) -> int:
        return len(self.keys)

    def line(self, at: int) -> DigestedLine | None:
        """Return a line, or None if the line is blank."""
        length = self._rows[at]
        if not length:
            return None
        start = len(self.keys) + at
        names = tuple(self.names[self._rows[start] : self._rows[start + 1]])
        return DigestedLine(self.first + at, names, self.keys[at], length / _CHARACTERS + 1)


def packed(values: Sequence[int]) -> array[int]:
    """Return numbers in an array with as few bytes for each number as the largest one allows."""
    most = max(values, default=0)
    return array(next((kind for kind, largest in _SMALLEST if most <= largest), "I"), values)


class TextLines:
    """The lines of a text that are not blank; of a huge text, only lines at both ends."""

    __slots__ = ("_parts",)

    def __init__(self, text: str, numbers: NameNumbers) -> None:
        self._parts = tuple(_StoredPart(*part, numbers) for part in _ends(text))

    def __iter__(self) -> Iterator[DigestedLine]:
        for part in self._parts:
            for at in range(len(part)):
                if (line := part.line(at)) is not None:
                    yield line

    def add_names(self, names: set[int]) -> None:
        """Add the identifiers of all lines to a set."""
        for part in self._parts:
            names.update(part.names)

    def add_keys(self, keys: set[int]) -> None:
        """Add the keys of all lines to a set, perhaps also 0."""
        for part in self._parts:
            keys.update(part.keys)

    def line(self, number: int) -> DigestedLine:
        """Return the line with this number, which must be one of the lines."""
        part = next(one for one in reversed(self._parts) if one.first <= number)
        line = part.line(number - part.first)
        assert line is not None, number
        return line


class LineStore:
    """Stores the lines of the texts that the last two decisions needed.

    Attributes:
        numbers: The numbers of all identifiers.
        is_stopped: Whether the decision that uses the store shall end soon.
    """

    def __init__(self) -> None:
        self.numbers = NameNumbers()
        self.is_stopped = False
        # The stored lines by the hash of their text.
        self._now: dict[int, TextLines] = {}
        self._before: dict[int, TextLines] = {}
        self._short: dict[str, TextLines] = {}

    def begin(self) -> None:
        """Begin a decision: forget the texts that the decision before did not need."""
        self._now, self._before = {}, self._now

    def check(self) -> None:
        """Raise ``DecisionStopped`` if the decision shall end."""
        if self.is_stopped:
            raise DecisionStopped

    def lines(self, text: str) -> TextLines:
        """Return the lines of a text."""
        if len(text) < _LEAST_STORED:
            return self._short_lines(text)
        which = hash(text)
        found = self._now.get(which) or self._before.get(which) or TextLines(text, self.numbers)
        self._now[which] = found
        return found

    def _short_lines(self, text: str) -> TextLines:
        found = self._short.get(text)
        if found is None:
            if len(self._short) >= _MOST_SHORT:
                self._short.clear()
            found = self._short[text] = TextLines(text, self.numbers)
        return found


def _ends(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text, or both ends of a huge text, each with the number of its first line."""
    if len(text) <= 2 * LONGEST_END:
        yield text, 0
        return
    tail = text[-LONGEST_END:]
    yield text[:LONGEST_END], 0
    yield tail, text.count("\n") - tail.count("\n")
