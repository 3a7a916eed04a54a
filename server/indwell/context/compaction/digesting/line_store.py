"""Stores the lines of texts in little memory: numbers of identifiers, hashes of keys, lengths.

A decision compares all lines of a long conversation. Strings for each line and each identifier
would need many times the memory of the texts. An identifier is therefore a number, which
``NameNumbers`` gives out, and the key of a line is a hash of 48 bits. Two of a million identifiers
have the same hash with a chance of one in 37 million; both would then count as one identifier. Two
of 50,000 lines have the same key with a chance of one in 225,000.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from struct import Struct
from typing import NamedTuple

import msgspec

from indwell.context.compaction.digesting.lines import (
    LONGEST_LINE,
    identifiers,
    line_key,
    number_lead,
)

LONGEST_END = 400_000  # the number of characters that are examined at each end of a long text
CHARACTERS_A_TOKEN = 3.3  # approximate, but exact enough to compare lines
_LEAST_STORED = 40  # shorter texts are stored apart, because their lines need more room
_MOST_SHORT = 512  # the limit of short texts that are stored; they need 0.3 MB
_SMALLEST = (("B", 0xFF), ("H", 0xFFFF))  # small types of arrays, with their largest numbers
_LOW_BITS = 32
_LOW, _KEY = (1 << _LOW_BITS) - 1, (1 << 48) - 1  # the lower bits of a key, and all bits
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


def _free_slots(kind: str, n: int) -> array[int]:
    return array(kind, (0,)) * n  # bytes as the source would need the memory a second time


class NameNumbers:
    """Numbers identifiers from 0, in the order of their first use.

    The hash table needs about 15 bytes for each identifier; a dictionary would need 200. The table
    is at most seven eighths full. The upper bits of a hash give the distance to the next slot, so
    that even a full table needs few steps.
    """

    def __init__(self) -> None:
        self._hashes = array("q")
        self._slots = _free_slots("I", _LEAST_SLOTS)  # the number of a name + 1; 0 is free

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
        slots = _free_slots("I", mask + 1)
        for number, wanted in enumerate(self._hashes, 1):
            at = wanted & mask
            step = wanted >> _STEP_BITS | 1
            while slots[at]:
                at = (at + step) & mask
            slots[at] = number
        self._slots = slots


class KeySet:
    """A set of keys of lines, in a hash table that is at most three quarters full.

    A key can have a mark; a set of the marked keys would need another table.
    """

    def __init__(self) -> None:
        # 0 is free; a marked key is negative.
        self._slots = _free_slots("q", _LEAST_SLOTS)
        self._n = 0

    def __contains__(self, key: int) -> bool:
        return key != 0 and self._slots[self._place(key)] != 0

    def is_marked(self, key: int) -> bool:
        """Return whether the set has the key with a mark."""
        return self._slots[self._place(key)] < 0

    def update(self, keys: Iterable[int]) -> None:
        """Add keys; the key 0 of a short line is skipped."""
        slots = self._slots
        mask = len(slots) - 1
        for key in keys:
            # Most keys are in their first slot, so no call is needed to find the slot.
            if not key or slots[key & mask] == key or slots[at := self._place(key)]:
                continue
            slots[at] = key
            self._n += 1
            if 4 * self._n > 3 * len(slots):
                slots = self._widened()
                mask = len(slots) - 1

    def mark_known(self, keys: Iterable[int]) -> None:
        """Mark those of the given keys that are in the set; ignore the others."""
        for key in keys:
            if key and self._slots[at := self._place(key)]:
                self._slots[at] = -key

    def _widened(self) -> array[int]:
        known, self._slots = self._slots, _free_slots("q", 2 * len(self._slots))
        for key in filter(None, known):
            self._slots[self._place(abs(key))] = key
        return self._slots

    def _place(self, key: int) -> int:
        """Return the slot of a key, or the free slot for the key."""
        slots = self._slots
        mask = len(slots) - 1
        at, step = key & mask, key >> _STEP_BITS | 1
        while (found := slots[at]) and found not in (key, -key):
            at = (at + step) & mask
        return at


def number_array(largest: int, values: Sequence[int] = ()) -> array[int]:
    """Return numbers in an array with as few bytes for each number as the largest one needs."""
    return array(_kind(largest), values)


def _kind(largest: int) -> str:
    return next((kind for kind, most in _SMALLEST if largest <= most), "I")


class _Form(NamedTuple):
    """The form of the rows of a text, and the type of the array of names."""

    row: Struct
    two_rows: Struct
    names: str


def _form_of(lengths: str, starts: str, names: str) -> _Form:
    row = f"IH{lengths}{starts}"
    return _Form(Struct(f"={row}"), Struct(f"={row}{row}"), names)


_KINDS = "BHI"
# A text names its form by the place in this list.
_FORMS = [_form_of(*kinds) for kinds in product(_KINDS, _KINDS, _KINDS)]
# The form, the number of rows, and of a huge text the number of rows of the first end, and the
# number of lines between the ends.
_HEADER = Struct("=BIII")


class TextLines(bytes):
    """The lines of a text that are not blank; of a huge text, only lines at both ends.

    All numbers are in one sequence of bytes, since an object with arrays would need more memory
    than the lines of a short text. After a header, a row has the lower 32 bits of a line's key, the
    upper 16 bits, the length, and the place of the first name. One more row ends the rows, and the
    names follow. A blank line has the length 0.
    """

    __slots__ = ()

    def digested(self) -> Iterator[DigestedLine]:
        """Yield the lines in their order."""
        names = self.names()
        _, _, n_head, gap = _HEADER.unpack_from(self)
        for at, (row, after) in enumerate(pairwise(self._rows())):
            low, high, length, start = row
            if length:
                number = at if at < n_head else at + gap
                own, key = tuple(names[start : after[3]]), low | high << _LOW_BITS
                yield DigestedLine(number, own, key, length / CHARACTERS_A_TOKEN + 1)

    def keys(self) -> Iterator[int]:
        """Return the key of each line; a line that is too short to compare has the key 0."""
        return (low | high << _LOW_BITS for low, high, _, _ in self._rows())

    def names(self) -> array[int]:
        """Return the identifiers of all lines."""
        form, begin = self._names_from()
        return array(form.names, self[begin:])

    def line(self, number: int) -> DigestedLine:
        """Return the line with this number, which must be one of the lines."""
        _, _, n_head, gap = _HEADER.unpack_from(self)
        at = number - gap if number >= n_head + gap else number
        form, begin = self._names_from()
        row = form.two_rows.unpack_from(self, _HEADER.size + form.row.size * at)
        low, high, length, start, _, _, _, stop = row
        assert length, number
        names = array(form.names)
        size = names.itemsize
        names.frombytes(self[begin + size * start : begin + size * stop])
        return DigestedLine(
            number, tuple(names), low | high << _LOW_BITS, length / CHARACTERS_A_TOKEN + 1
        )

    def _names_from(self) -> tuple[_Form, int]:
        """Return the form, and the number of bytes before the names."""
        which, n, _, _ = _HEADER.unpack_from(self)
        form = _FORMS[which]
        return form, _HEADER.size + form.row.size * (n + 1)

    def _rows(self) -> Iterator[tuple[int, ...]]:
        form, stop = self._names_from()
        return form.row.iter_unpack(self[_HEADER.size : stop])


def key_number(key: str) -> int:
    """Return the hash of a line's form (``lines.line_key``), or 0 if the form is empty."""
    return (hash(key) & _KEY or 1) if key else 0


def packed_lines(text: str, numbers: NameNumbers) -> TextLines:
    """Return the lines of a text; new identifiers are numbered."""
    keys, lengths, starts, names = array("q"), array("I"), array("I", (0,)), array("I")
    n_head = gap = 0
    for part, first in _ends(text):
        if keys:
            n_head, gap = len(keys), first - len(keys)
        lead = number_lead(part)
        for line in part.split("\n"):
            names.extend(map(numbers.number, identifiers(line[:LONGEST_LINE])))
            key = line_key(line, lead)
            keys.append(key_number(key))
            lengths.append(0 if not line or line.isspace() else len(line))
            starts.append(len(names))
    n = len(keys)
    kinds = (_kind(max(lengths)), _kind(starts[-1]), _kind(max(names, default=0)))
    which = int("".join(str(_KINDS.index(one)) for one in kinds), len(_KINDS))
    form = _FORMS[which]
    keys.append(0)
    lengths.append(0)
    # Only one row at a time is an object.
    size, pack_into = form.row.size, form.row.pack_into
    packed = bytearray(_HEADER.size + size * len(keys))
    _HEADER.pack_into(packed, 0, which, n, n_head, gap)
    for at, (whole, length, start) in enumerate(zip(keys, lengths, starts, strict=True)):
        place = _HEADER.size + size * at
        pack_into(packed, place, whole & _LOW, whole >> _LOW_BITS, length, start)
    packed += array(form.names, names).tobytes()
    return TextLines(packed)


class LineStore:
    """Stores the lines of the texts that the last two decisions needed.

    Attributes:
        numbers: The numbers of all identifiers.
        is_stopped: Whether the caller has asked the decision to end.
    """

    def __init__(self) -> None:
        self.numbers = NameNumbers()
        self.is_stopped = False
        # The stored lines by the number of their text; dictionaries by hash would need four times
        # the memory beside the lines.
        self._texts = NameNumbers()
        self._now: list[TextLines | None] = []
        self._before: list[TextLines | None] = []
        self._short: dict[str, TextLines] = {}

    def begin(self) -> None:
        """Begin a decision: forget the texts that the decision before did not need."""
        self._now, self._before = [None] * len(self._texts), self._now

    def end(self) -> None:
        """End a decision: forget the texts that the decision did not need."""
        self._before = []

    def check(self) -> None:
        """Raise ``DecisionStopped`` if the caller has asked the decision to end."""
        if self.is_stopped:
            raise DecisionStopped

    def lines(self, text: str) -> TextLines:
        """Return the lines of a text."""
        if len(text) < _LEAST_STORED:
            return self._short_lines(text)
        which, before = self._texts.number(text), self._before
        self._now.extend([None] * (which + 1 - len(self._now)))
        found = self._now[which] or (before[which] if which < len(before) else None)
        found = self._now[which] = found or packed_lines(text, self.numbers)
        return found

    def _short_lines(self, text: str) -> TextLines:
        found = self._short.get(text)
        if found is None:
            if len(self._short) >= _MOST_SHORT:
                self._short.clear()
            found = self._short[text] = packed_lines(text, self.numbers)
        return found


def _ends(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text, or both ends of a huge text, each with the number of its first line."""
    if len(text) <= 2 * LONGEST_END:
        yield text, 0
        return
    head, tail = text[:LONGEST_END], text[-LONGEST_END:]
    yield head, 0
    first = text.count("\n") - tail.count("\n")
    if first > head.count("\n"):
        yield tail, first
    elif "\n" in tail:  # The last line of the head goes on in the tail.
        yield tail[tail.index("\n") + 1 :], first + 1
