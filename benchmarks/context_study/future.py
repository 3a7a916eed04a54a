"""Chooses the lines of a digest with knowledge of the rest of a session.

The oracle fills the same room as the engine, and is greedy, as the engine is. The worth of a line
is the number of its names that the agent writes later, plus one if a later edit quotes the line.
The times and sizes of the cuts are those of the engine. So the oracle shows how much better chances
could make the choice of lines. Other ways to compact could do better than the oracle.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from indwell.context.compaction.digesting.line_choice import PAIR, LineChooser, ReducibleText
from indwell.context.compaction.digesting.line_store import CHARACTERS_A_TOKEN
from indwell.context.compaction.digesting.lines import line_key, names_in, number_lead, text_of
from indwell.context.compaction.digesting.transcript_index import Uses
from indwell.context.file_work import call_of
from indwell.messages import Block, Message, ToolUse
from indwell.replay.loss import words_of

_LINE_BREAK = 1.0

Items: TypeAlias = frozenset[tuple[str, str]]
"""Names and lines, each with its kind: ``("name", ...)`` or ``("line", ...)``."""


class Later:
    """The names that a session's later replies write, and the lines that their edits quote."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._last: dict[tuple[str, str], int] = {}
        replies = (one for one in messages if one.role == "assistant")
        for number, reply in enumerate(replies):
            self._last |= dict.fromkeys(needs_of(reply), number)

    def after(self, items: Items, n_calls: int) -> Items:
        """Return the items that a reply needs, after the first ``n_calls`` replies."""
        return frozenset(one for one in items if self._last.get(one, -1) >= n_calls)


def needs_of(reply: Message) -> Iterator[tuple[str, str]]:
    """Yield the names that a reply writes, and the lines that its edits quote."""
    for block in reply.blocks:
        if isinstance(block, ToolUse):
            for line in (line for old in call_of(block).old for line in old.splitlines()):
                if key := line_key(line):
                    yield "line", key
        for name in names_in(words_of(block)):
            yield "name", name


class _Needed(NamedTuple):
    """A line with items that a later reply needs, or a line that is always kept."""

    items: Items
    tokens: float


def choosing(later: Later) -> LineChooser:
    """Return a chooser that keeps the most needed items per token, until no needed item is left."""

    def choose(
        pieces: Sequence[ReducibleText], room: float, shown: Iterable[Block], uses: Uses
    ) -> list[set[int]]:
        choice = _OracleChoice(pieces, shown, later, uses.n_calls)
        choice.fill(room)
        return choice.kept

    return choose


class _OracleChoice:
    """Tracks the kept lines, and the needed items that the kept lines show.

    Attributes:
        kept: The numbers of the kept lines of each text.
    """

    def __init__(
        self, pieces: Sequence[ReducibleText], shown: Iterable[Block], later: Later, n_calls: int
    ) -> None:
        self._pieces = pieces
        self._seen = {item for one in shown for items in _lines(text_of(one)) for item in items}
        self._pairs = set[int]()
        self.kept: list[set[int]] = [set() for _ in pieces]
        self._lines: dict[tuple[int, int], _Needed] = {}
        for at, piece in enumerate(pieces):
            texts = piece.text.split("\n")
            for number, items in enumerate(_lines(piece.text)):
                needed = later.after(items, n_calls)
                if needed or number in piece.kept:
                    tokens = len(texts[number]) / CHARACTERS_A_TOKEN + 1
                    self._lines[at, number] = _Needed(needed, tokens)

    def fill(self, room: float) -> None:
        """Keep the lines that must be kept, and the most needed lines for which there is room."""
        for at, piece in enumerate(self._pieces):
            for number in piece.kept:
                room -= self._take(at, number)
        heap = [(-self._worth(*place), place) for place in self._lines]
        heapq.heapify(heap)
        while heap and room > 0:
            known, place = heapq.heappop(heap)
            now = self._worth(*place)
            if now < -known:  # The kept lines show some of the items.
                heapq.heappush(heap, (-now, place))
            elif now and self._price(*place) <= room:
                room -= self._take(*place)

    def _worth(self, at: int, number: int) -> float:
        line = self._lines[at, number]
        return len(line.items - self._seen) / (line.tokens + 2 * _LINE_BREAK)

    def _price(self, at: int, number: int) -> float:
        piece = self._pieces[at]
        head = 0.0 if self.kept[at] else piece.head
        head += PAIR if piece.pair and piece.pair not in self._pairs else 0.0
        return self._lines[at, number].tokens + _LINE_BREAK + head

    def _take(self, at: int, number: int) -> float:
        price = self._price(at, number)
        self.kept[at].add(number)
        self._pairs.add(self._pieces[at].pair)
        self._seen.update(self._lines[at, number].items)
        return price


def _lines(text: str) -> Iterator[Items]:
    """Yield the items of each line of a text."""
    lead = number_lead(text)
    for line in text.split("\n"):
        names = {("name", name) for name in names_in(line)}
        key = line_key(line, lead)
        yield frozenset(names | {("line", key)} if key else names)
