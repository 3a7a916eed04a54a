"""Stores the lines of texts in little memory: numbers of identifiers, hashes of keys, lengths.

A decision compares all lines of a long conversation. Strings for each line and each identifier
would need many times the memory of the texts. An identifier is therefore a number, which
``NameNumbers`` gives out, and the key of a line is a hash of 64 bits. Two of a million identifiers
have the same hash with a chance of one in 37 million; both would then count as one identifier.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec

from indwell.context.compaction.digesting.lines import (
    LONGEST_LINE,
    identifiers,
    line_key,
    number_lead,
)

LONGEST_END = 400_000  # the number of characters that are examined at each end of a long text
_CHARACTERS = 3.3  # the approximate characters per token, exact enough to compare lines
_LEAST_STORED = 40  # a text with fewer characters is divided again at each use
_LARGEST_SHORT = 65_535  # the largest number of two bytes
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

    The hash table needs about 30 bytes for each identifier; a dictionary would need 200.
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
        while found := slots[at]:
            if hashes[found - 1] == wanted:
                return found - 1
            at = (at + 1) & mask
        hashes.append(wanted)
        slots[at] = len(hashes)
        if 3 * len(hashes) > 2 * len(slots):
            self._widen()
        return len(hashes) - 1

    def _widen(self) -> None:
        mask = 2 * len(self._slots) - 1
        slots = array("I", bytes(4 * (mask + 1)))
        for number, wanted in enumerate(self._hashes, 1):
            at = wanted & mask
            while slots[at]:
                at = (at + 1) & mask
            slots[at] = number
        self._slots = slots


class _StoredPart:
    """The lines of a part of a text; a blank line has the length 0."""

    __slots__ = ("_keys", "_lengths", "_names", "_starts", "first")

    def __init__(self, text: str, first: int, numbers: NameNumbers) -> None:
        self.first = first
        lengths, starts = list[int](), [0]
        self._keys, self._names = array("q"), array("I")
        lead = number_lead(text)
        for line in text.split("\n"):
            self._names.extend(map(numbers.number, identifiers(line[:LONGEST_LINE])))
            key = line_key(line, lead)
            self._keys.append((hash(key) or 1) if key else 0)
            lengths.append(0 if not line or line.isspace() else len(line))
            starts.append(len(self._names))
        self._lengths = _packed(lengths, max(lengths))
        self._starts = _packed(starts, starts[-1])

    def __len__(self) -> int:
        return len(self._lengths)

    def line(self, at: int) -> DigestedLine | None:
        """Return a line, or None if the line is blank."""
        length = self._lengths[at]
        if not length:
            return None
        names = tuple(self._names[self._starts[at] : self._starts[at + 1]])
        return DigestedLine(self.first + at, names, self._keys[at], length / _CHARACTERS + 1)


def _packed(values: list[int], largest: int) -> array[int]:
    return array("H" if largest <= _LARGEST_SHORT else "I", values)


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
            return TextLines(text, self.numbers)
        which = hash(text)
        found = self._now.get(which) or self._before.get(which) or TextLines(text, self.numbers)
        self._now[which] = found
        return found


def _ends(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text, or both ends of a huge text, each with the number of its first line."""
    if len(text) <= 2 * LONGEST_END:
        yield text, 0
        return
    tail = text[-LONGEST_END:]
    yield text[:LONGEST_END], 0
    yield tail, text.count("\n") - tail.count("\n")
