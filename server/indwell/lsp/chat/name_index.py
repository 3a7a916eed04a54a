"""Names of files, made ready for quick questions: one looks only at what fits. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

SHOWN = 100  # names in one answer; the editor asks again with the next key


class NameIndex:
    """Takes 50 ms for 50,000 names, so it is made in a thread; each question takes about one.

    Args:
        names: Sorted.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        lower = [name.lower() for name in self.names]
        self._whole = _lines(lower)
        self._bases = _lines([name.rpartition("/")[2] for name in lower])
        self._shortest = tuple(sorted(self.names, key=len)[:SHOWN])

    def has(self, name: str) -> bool:
        """Is it one of them?"""
        at = bisect_left(self.names, name)
        return at < len(self.names) and self.names[at] == name

    def matching(self, begun: str) -> list[str]:
        """The best for what was typed: those whose last part begins with it come first."""
        wanted = begun.lower()
        if "\n" in wanted:
            return []
        if not wanted:
            return list(self._shortest)
        chosen: dict[int, None] = {}
        for lines, sought in (
            (self._bases, f"\n{wanted}"),
            (self._whole, f"\n{wanted}"),
            (self._bases, wanted),
            (self._whole, wanted),
        ):
            found = [at for at in _found(lines, sought) if at not in chosen]
            found.sort(key=lambda at: (len(self.names[at]), self.names[at]))
            chosen |= dict.fromkeys(found[: SHOWN - len(chosen)])
            if len(chosen) >= SHOWN:
                break
        return [self.names[at] for at in chosen]


class _Lines(NamedTuple):
    text: str  # a line break stands before each
    starts: array[int]


def _lines(names: Sequence[str]) -> _Lines:
    starts = array("q", accumulate((len(one) + 1 for one in names), initial=0))
    return _Lines("".join(f"\n{one}" for one in names), starts)


def _found(lines: _Lines, sought: str) -> Iterator[int]:
    """The first lines with it, by their numbers; twice as many as are shown at most."""
    at = lines.text.find(sought)
    for _ in range(2 * SHOWN):
        if at < 0:
            return
        number = bisect_right(lines.starts, at) - 1
        yield number
        at = lines.text.find(sought, lines.starts[number + 1])
