"""Chooses the lines to keep: those with the highest expected use per token. Pure.

A second line with the same name adds nothing, so lines are chosen one after the other, each by its
gain over the lines already chosen. The greedy algorithm reaches at least 1 - 1/e of the optimum
(Nemhauser, Wolsey, Fisher 1978).

The chance that a line is needed in the next 25 model calls comes from logistic regressions on 86 of
the 129 recorded sessions: half a million identifiers and 0.8 million lines that a compaction could
have left out. On the other 43 sessions, the regressions separate used from unused names and lines
with an AUC of .79 and .75. Gradient boosting on 20 features reaches .80 and .71 on the 43 sessions,
so more features gain nothing. The coefficients are rounded; see ``docs/decisions/0010``.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from math import exp, inf, log1p
from typing import TypeAlias

import msgspec

from indwell.context.compaction.digesting.line_store import (
    DigestedLine,
    KeySet,
    TextLines,
    number_array,
)
from indwell.context.compaction.digesting.lines import text_of
from indwell.context.compaction.digesting.transcript_index import Read, Uses
from indwell.messages import Block

# The least number of expected uses per token; below it, reading the line again is cheaper.
LEAST_WORTH = 0.0014
_BREAK = 1.0  # the tokens of a line break, including an occasional "…" for left-out lines
PAIR = 50.0  # the tokens of a short call and its result, with the tags around both
_MENTIONED, _SHOWN = 1, 2  # the marks of a name in the agent's own text, and in other texts
_SAID_WORTH = 0.3  # the weight of a line whose names only the agent's own text uses
# The weight of an edit's need for a line; without the exact line, the edit fails.
_EDITED = 1.6
_MOST_CHANCES = 512  # the limit of computed chances that are stored
_ANY = 0.001  # the expected uses of a line without any known feature
# A line is near the ``_NEAR`` lines before and after it. A name in more than ``_RARE`` blocks says
# little about a place.
_NEAR, _RARE = 6, 6


class ReducibleText(msgspec.Struct, frozen=True, gc=False):
    """A text whose lines may be left out.

    Attributes:
        source: The block with the text. The text of a call is decoded at each use, because the
            decoded texts of all calls would need memory.
        head: The tokens of the marker for left-out lines, which are added to the first chosen line.
        pair: The number of a call and its result, which are kept or dropped together. The first
            chosen line of the two needs ``PAIR`` more tokens. The number is 0 if the text is not
            part of a call or result.
        read: The call that read the text from a file, or None for other texts.
        kept: The numbers of the lines that are always kept.
        is_said: Whether the agent wrote the text as prose; statements in prose are worth more.
    """

    source: Block
    head: float = 0.0
    pair: int = 0
    read: Read | None = None
    kept: tuple[int, ...] = ()
    is_said: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return text_of(self.source)


LineChooser: TypeAlias = Callable[
    [Sequence[ReducibleText], float, Iterable[Block], Uses], Sequence[Collection[int]]
]
"""Returns the lines to keep, as ``chosen`` does."""


def chosen(
    pieces: Sequence[ReducibleText], room: float, shown: Iterable[Block], uses: Uses
) -> list[Collection[int]]:
    """Return the 0-based numbers of the lines to keep in each text, each once.

    Args:
        pieces: The texts whose lines may be left out.
        room: The limit of tokens for the lines.
        shown: The blocks that stay unchanged, whose lines are not chosen again.
        uses: The uses of names and files in the conversation.
    """
    choice = _Choice(pieces, shown, uses)
    for at, piece in enumerate(pieces):
        for number in piece.kept:
            room -= choice.take(at, choice.line(at, number))
    while room > 0 and (best := choice.best(room)) is not None:
        if choice.price(*best) <= room:
            room -= choice.take(*best)
    uses.lines.end()
    return [choice.kept.get(at, ()) for at in range(len(pieces))]


class _Choice:
    """Tracks the lines chosen so far, and the gain of each remaining line."""

    def __init__(self, pieces: Sequence[ReducibleText], shown: Iterable[Block], uses: Uses) -> None:
        self._pieces, self._uses = pieces, uses
        self._pairs = set[int]()
        self._marks = bytearray()  # _MENTIONED or _SHOWN, or both, for each name
        self._shown_keys = KeySet()
        uses.lines.begin()
        for block in shown:
            lines = self._lines(text_of(block))
            self._mark(lines.names(), is_said=block.meta.source == "assistant")
            self._shown_keys.update(lines.keys())
        # The numbers of the chosen lines, by text. Most texts have no chosen line.
        self.kept: dict[int, array[int]] = {}
        # ``near_asked`` of each text that a call read, if any line is near such a name.
        self._near: dict[int, bytearray] = {}
        self._n_lines = array("I")
        # The chance of a name by its number of blocks, its last use and its last writing. Many
        # names have the same three numbers, so few chances serve most names.
        self._chances: dict[int, float] = {}
        self._texts: list[TextLines] = []
        # Each text has a queue, and their first lines are in order, so that no step visits all
        # lines.
        self._queues = _LineQueues()
        for at, piece in enumerate(pieces):
            self._queue(at, piece)
        queues = self._queues
        full = (at for at in range(len(pieces)) if queues.has_line(at))
        # No line of these texts was taken yet; the first text is taken from the end.
        self._texts_left = array("I", sorted(full, key=queues.first)[::-1])
        self._heads: list[tuple[float, int]] = []

    def line(self, at: int, number: int) -> DigestedLine:
        """Return a line of a text."""
        return self._texts[at].line(number)

    def best(self, room: float) -> tuple[int, DigestedLine] | None:
        """Return the line with the largest gain per token, or None if none is worth its tokens.

        The number before the line is the number of the text. A text whose shortest line does not
        fit is left out for good: its price falls only if another line pays more for the same call.

        Args:
            room: The limit of tokens for the line and all later lines.
        """
        queues = self._queues
        while self._heads or self._texts_left:
            known, at = self._first_head()
            if self._price(at, queues.least_tokens[at]) > room:
                continue
            line = self.line(at, queues.pop(at))
            worth = -self._density(at, line)
            # the chosen lines may already contain the names
            if worth > known and -worth >= LEAST_WORTH:
                queues.push(at, worth, line.number)
                heapq.heappush(self._heads, (queues.first(at), at))
                continue
            if queues.has_line(at):
                heapq.heappush(self._heads, (queues.first(at), at))
            if -worth >= LEAST_WORTH:
                return at, line
        return None

    def _first_head(self) -> tuple[float, int]:
        """Remove the best first line of all texts; return its negative worth, and its text."""
        if not self._texts_left:
            return heapq.heappop(self._heads)
        at = self._texts_left[-1]
        untouched = self._queues.first(at), at
        if self._heads and self._heads[0] < untouched:
            return heapq.heappop(self._heads)
        self._texts_left.pop()
        return untouched

    def price(self, at: int, line: DigestedLine) -> float:
        """Return the tokens that the chosen line would take."""
        return self._price(at, line.tokens)

    def _price(self, at: int, tokens: float) -> float:
        piece = self._pieces[at]
        head = 0.0 if at in self.kept else piece.head
        if piece.pair and piece.pair not in self._pairs:
            head += PAIR
        return tokens + _BREAK + head

    def take(self, at: int, line: DigestedLine) -> float:
        """Keep a line; return the line's price in tokens."""
        price = self.price(at, line)
        if at not in self.kept:
            self.kept[at] = number_array(self._n_lines[at])
        self.kept[at].append(line.number)
        piece = self._pieces[at]
        self._pairs.add(piece.pair)
        self._mark(line.names, is_said=piece.is_said)
        self._shown_keys.update((line.key,))
        return price

    def _mark(self, names: Iterable[int], *, is_said: bool) -> None:
        mark = _MENTIONED if is_said else _SHOWN
        marks = self._marks
        for name in names:
            marks[name] |= mark

    def _lines(self, text: str) -> TextLines:
        """Return the lines of a text, after making room for its identifiers."""
        self._uses.lines.check()
        lines = self._uses.lines.lines(text)
        if n_new := len(self._uses.lines.numbers) - len(self._marks):
            self._uses.widen()
            self._marks.extend(bytes(n_new))
        return lines

    def _queue(self, at: int, piece: ReducibleText) -> None:
        """Queue the lines of the next text that are worth their tokens, and not always kept."""
        text = piece.text
        self._n_lines.append(text.count("\n") + 1)
        lines = self._lines(text)
        self._texts.append(lines)
        if piece.read:
            near = near_asked(lines.digested(), self._n_lines[at], self._uses)
            if any(near):
                self._near[at] = near
        queued, least = list[tuple[float, int]](), inf
        for line in lines.digested():
            if line.number in piece.kept:
                continue
            if (density := self._density(at, line)) >= LEAST_WORTH:
                queued.append((-density, line.number))
                least = min(least, line.tokens)
        self._queues.add(queued, least)

    def _density(self, at: int, line: DigestedLine) -> float:
        """Return the expected uses per token that a line adds."""
        read = self._pieces[at].read
        worth, uses, marks = _ANY, self._uses, self._marks
        if read and line.key not in self._shown_keys:
            near = self._near.get(at)
            is_near = near is not None and bool(near[line.number])
            n_lines = self._n_lines[at]
            worth += _EDITED * edit_chance(line, n_lines, read, uses, is_near_asked=is_near)
        for name in line.names:
            mark = marks[name]
            if mark < _SHOWN:
                used = uses.spread[name] << 64 | uses.seen[name] << 32 | uses.written[name]
                chance = self._chances.get(used)
                if chance is None:
                    if len(self._chances) >= _MOST_CHANCES:
                        self._chances.clear()
                    chance = self._chances[used] = name_chance(name, uses)
                worth += chance * _SAID_WORTH if mark else chance
        return worth / (line.tokens + 2 * _BREAK)


class _LineQueues:
    """The lines of each text in the order of their worth, in 12 bytes for each line.

    The order of a line is the negative worth, then the number. Arrays have the lines of all texts,
    since an object for each text would need more memory than the lines of a short text.

    Attributes:
        least_tokens: The tokens of the shortest line of each text.
    """

    def __init__(self) -> None:
        self._worths, self._numbers = array("d"), array("I")
        self._begins, self._ends = array("I"), array("I")
        self.least_tokens = array("d")

    def add(self, lines: list[tuple[float, int]], least_tokens: float) -> None:
        """Add the lines of the next text, each with its negative worth, and sort the list."""
        lines.sort()
        self._begins.append(len(self._worths))
        self._worths.extend(worth for worth, _ in lines)
        self._numbers.extend(number for _, number in lines)
        self._ends.append(len(self._worths))
        self.least_tokens.append(least_tokens)

    def has_line(self, at: int) -> bool:
        """Return whether a text has more lines."""
        return self._ends[at] > self._begins[at]

    def first(self, at: int) -> float:
        """Return the negative worth of a text's first line."""
        return self._worths[self._begins[at]]

    def pop(self, at: int) -> int:
        """Remove a text's first line; return its number."""
        begin = self._begins[at]
        self._begins[at] = begin + 1
        return self._numbers[begin]

    def push(self, at: int, worth: float, number: int) -> None:
        """Add the line again that was removed last, with another negative worth."""
        worths, numbers, begin = self._worths, self._numbers, self._begins[at]
        waiting = range(begin, self._ends[at])
        place = begin + bisect_left(
            waiting, (worth, number), key=lambda one: (worths[one], numbers[one])
        )
        # The better lines move to the place of the removed line.
        worths[begin - 1 : place - 1] = worths[begin:place]
        numbers[begin - 1 : place - 1] = numbers[begin:place]
        worths[place - 1], numbers[place - 1] = worth, number
        self._begins[at] = begin - 1


def name_chance(name: int, uses: Uses) -> float:
    """Return the chance, 0 to 1, that the agent writes the identifier with this number again.

    The strongest sign is that the agent has already written the name. Further signs are the number
    of texts with the name, and the number of calls since the last use.
    """
    odds = -2.7 + 0.65 * log1p(uses.spread[name])
    odds -= 0.5 * log1p(uses.n_calls - uses.seen[name])
    written = uses.written[name]
    if written:
        odds += 2.2 - 0.3 * log1p(uses.n_calls - written)
    return _chance(odds)


def near_asked(lines: Iterable[DigestedLine], n_lines: int, uses: Uses) -> bytearray:
    """Return 1 for each line of a text that is near a rare name of the user's own text, or else 0.

    Args:
        lines: The lines of the text that are not blank.
        n_lines: The number of all lines.
        uses: The uses of names in the conversation.
    """
    near, asked, spread = bytearray(n_lines), uses.asked, uses.spread
    for line in lines:
        if any(asked[name] and spread[name] <= _RARE for name in line.names):
            start, stop = max(0, line.number - _NEAR), min(n_lines, line.number + _NEAR + 1)
            near[start:stop] = b"\1" * (stop - start)
    return near


def edit_chance(
    line: DigestedLine, n_lines: int, read: Read, uses: Uses, *, is_near_asked: bool = False
) -> float:
    """Return the chance, 0 to 1, that a later edit must quote this line of a file.

    An edit is likelier for a line that several calls have read, and near a name that the user has
    written (``docs/decisions/0052``).

    Args:
        line: The line.
        n_lines: The number of lines that the same call read; the more lines, the less likely is
            each.
        read: The call that read the lines.
        uses: The uses of names and files in the conversation.
        is_near_asked: See ``near_asked``.
    """
    if not line.key:
        return 0.0
    odds = -0.75 - 0.3 * log1p(n_lines)
    odds -= 0.33 * log1p(uses.n_calls - read.call)
    odds -= 0.33 * log1p(uses.n_calls - uses.read_last.get(read.path, read.call))
    if any(uses.written[name] for name in line.names):
        odds += 0.7
    if uses.lines_read.is_marked(line.key):
        odds += 0.9
    if is_near_asked:
        odds += 1.0
    return _chance(odds)


def _chance(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))
