"""A simple ledger with one object for each line, to compare with the weave."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class OneLine:
    """A line; ``is_new`` means that the agent added it, ``is_gone`` that the agent removed it."""

    text: str
    is_new: bool = False
    is_gone: bool = False
    is_typed: bool = False


class ByLines:
    """One file in which no two lines are equal."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = [OneLine(line) for line in lines]

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.lines if not one.is_gone)

    @property
    def visible(self) -> list[OneLine]:
        return [one for one in self.lines if not one.is_gone]

    def typed(self) -> Counter[str]:
        return Counter(one.text for one in self.visible if one.is_typed)

    def copy(self) -> ByLines:
        return copy.deepcopy(self)

    def _index(self, at: int) -> int:
        seen = -1
        for i, one in enumerate(self.lines):
            seen += not one.is_gone
            if seen == at and not one.is_gone:
                return i
        return len(self.lines)

    def agent(self, at: int, n_gone: int, new: Sequence[str]) -> None:
        """Replace lines, as an edit of the agent."""
        doomed = self.visible[at : at + n_gone]
        where = self._index(at)
        for one in doomed:
            where = next(i for i, other in enumerate(self.lines) if other is one)
            if one.is_new:
                del self.lines[where]
            else:
                one.is_gone = True
                where += 1
        self.lines[where:where] = [OneLine(text, is_new=True) for text in new]

    def types(self, at: int, new: Sequence[str]) -> None:
        where = self._index(at)
        self.lines[where:where] = [OneLine(text, is_typed=True) for text in new]

    def deletes(self, at: int, n_gone: int) -> None:
        for one in self.visible[at : at + n_gone]:
            self.lines = [other for other in self.lines if other is not one]

    def accept(self, new: Sequence[str], old: Sequence[str]) -> None:
        for one in self.lines:
            if one.text in new and one.is_new:
                one.is_new = False
        self.lines = [one for one in self.lines if not (one.is_gone and one.text in old)]

    def reject(self, new: Sequence[str], old: Sequence[str]) -> None:
        self.lines = [one for one in self.lines if not (one.is_new and one.text in new)]
        for one in self.lines:
            if one.is_gone and one.text in old:
                one.is_gone = False

    def without_agent(self) -> list[str]:
        return [one.text for one in self.lines if not one.is_new]
