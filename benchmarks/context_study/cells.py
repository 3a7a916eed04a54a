"""Replays sessions with the best chances that depend on the engine's own signs alone.

    .venv/bin/python benchmarks/context_study/cells.py --out FILE
        [--folds 3,4] [--agents entire,codex] [--windows 32,64,128] [--calls 25] [--weight 1.6]

A cell has all lines, or all names, whose signs are alike: numbers of one cell have the same integer
part of their logarithm to base 2. The script first replays the sessions with ``default``, and
counts at each cut how many lines and names of each cell the agent needs within the next calls. Then
it replays the same sessions with these shares as chances. So the chances know the future, but only
for a whole cell. No estimator with these signs knows more on average, at this size of cells.

``cells of the agent`` has one share for all sessions of the agent, and ``cells of the session`` has
another share for each session, as a perfect adaptation to the session would find it. Both
are fitted on the sessions that they are measured on, and flatter any estimator. ``--weight`` is the
weight of an edit's need for a line beside the need for a name, with the shares of the cells only.
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import log2
from pathlib import Path
from typing import TypeAlias

from future import needs_of
from oracle import figures, is_long
from recordings import AGENTS, sessions

from indwell.context.compaction.digesting import line_choice
from indwell.context.compaction.digesting.line_choice import ReducibleText, chosen, near_asked
from indwell.context.compaction.digesting.line_store import DigestedLine, key_number
from indwell.context.compaction.digesting.transcript_index import Read, Uses
from indwell.messages import Block, Message
from indwell.replay.fitted_sessions import FOLDS, fold
from indwell.replay.measure import replayed, total
from indwell.sessions.imports import Recorded

Cell: TypeAlias = tuple[object, ...]


def line_cell(
    line: DigestedLine, n_lines: int, read: Read, uses: Uses, *, is_near_asked: bool
) -> Cell:
    """Return the signs of ``line_choice.edit_chance``, rounded."""
    return (
        "line",
        _rounded(n_lines),
        _rounded(uses.n_calls - read.call),
        _rounded(uses.n_calls - uses.read_last.get(read.path, read.call)),
        any(uses.written[name] for name in line.names),
        uses.lines_read.is_marked(line.key),
        is_near_asked,
    )


def name_cell(name: int, uses: Uses) -> Cell:
    """Return the signs of ``line_choice.name_chance``, rounded."""
    written = uses.written[name]
    return (
        "name",
        _rounded(uses.spread[name]),
        _rounded(uses.n_calls - uses.seen[name]),
        _rounded(uses.n_calls - written) if written else -1,
    )


def _rounded(number: int) -> int:
    return int(log2(1 + number))


class Future:
    """The replies of a session that need each name and each line."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._needs: dict[tuple[str, str], list[int]] = {}
        replies = (one for one in messages if one.role == "assistant")
        for number, reply in enumerate(replies):
            for need in set(needs_of(reply)):
                self._needs.setdefault(need, []).append(number)
        self._names: dict[int, list[int]] = {}
        self._lines: dict[int, list[int]] = {}

    def begin(self, uses: Uses) -> None:
        """Number the names as the engine does, at the first cut of a replay."""
        for (kind, text), replies in self._needs.items():
            if kind == "name":
                self._names[uses.lines.numbers.number(text)] = replies
            else:
                self._lines[key_number(text)] = replies
        uses.widen()

    def needs_name(self, name: int, start: int, stop: int) -> bool:
        """Return whether a reply from ``start`` to ``stop`` (exclusive) writes the name."""
        return _within(self._names.get(name, ()), start, stop)

    def needs_line(self, key: int, start: int, stop: int) -> bool:
        """Return whether an edit of these replies quotes the line."""
        return _within(self._lines.get(key, ()), start, stop)


def _within(replies: Sequence[int], start: int, stop: int) -> bool:
    at = bisect_left(replies, start)
    return at < len(replies) and replies[at] < stop


class Counts:
    """How many lines and names of each cell there were at cuts, and how many were needed."""

    def __init__(self) -> None:
        self._all: Counter[Cell] = Counter()
        self._needed: Counter[Cell] = Counter()

    def add(self, cell: Cell, *, is_needed: bool) -> None:
        self._all[cell] += 1
        self._needed[cell] += is_needed

    def join(self, other: Counts) -> None:
        self._all += other._all
        self._needed += other._needed

    def share(self, cell: Cell) -> float:
        """Return the share of the cell that was needed; 0 for an unknown cell."""
        return self._needed[cell] / self._all[cell] if cell in self._all else 0.0


def counted(session: Recorded, window: int, n_calls: int) -> Counts:
    """Replay a session with ``default``; count the needs at each cut."""
    future, counts, begun = Future(session.messages), Counts(), list[Uses]()

    def choose(
        pieces: Sequence[ReducibleText], room: float, shown: Iterable[Block], uses: Uses
    ) -> Sequence[Iterable[int]]:
        if not any(one is uses for one in begun):
            begun.append(uses)
            future.begin(uses)
        now, stop = uses.n_calls, uses.n_calls + n_calls
        names = set[int]()
        for piece in pieces:
            lines = tuple(uses.lines.lines(piece.text).digested())
            uses.widen()
            names.update(name for line in lines for name in line.names)
            if piece.read:
                n_lines = piece.text.count("\n") + 1
                near = near_asked(lines, n_lines, uses)
                for line in lines:
                    is_near = bool(near[line.number])
                    cell = line_cell(line, n_lines, piece.read, uses, is_near_asked=is_near)
                    counts.add(cell, is_needed=future.needs_line(line.key, now, stop))
        for name in names:
            counts.add(name_cell(name, uses), is_needed=future.needs_name(name, now, stop))
        return chosen(pieces, room, shown, uses)

    replayed(session, "default", window, choose=choose)
    return counts


@contextmanager
def chances_of(counts: Counts, weight: float) -> Iterator[None]:
    """Let the engine use the shares of the cells as its chances, and another weight of edits."""

    def of_edit(
        line: DigestedLine, n_lines: int, read: Read, uses: Uses, *, is_near_asked: bool = False
    ) -> float:
        if not line.key:
            return 0.0
        return counts.share(line_cell(line, n_lines, read, uses, is_near_asked=is_near_asked))

    own = {
        "name_chance": lambda name, uses: counts.share(name_cell(name, uses)),
        "edit_chance": of_edit,
        "_EDITED": weight,
    }
    before = {name: getattr(line_choice, name) for name in own}
    for name, value in own.items():
        setattr(line_choice, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(line_choice, name, value)


def rows(
    taken: Sequence[Recorded], window: int, n_calls: int, weight: float
) -> Iterator[tuple[str, dict[str, float | None]]]:
    """Yield the figures of ``default`` and of both kinds of cells, relative to ``slide``."""
    slide = total(replayed(one, "slide", window) for one in taken)
    yield "default", figures(total(replayed(one, "default", window) for one in taken), slide)
    by_session = [counted(one, window, n_calls) for one in taken]
    whole = Counts()
    for counts in by_session:
        whole.join(counts)
    with chances_of(whole, weight):
        yield (
            "cells of the agent",
            figures(total(replayed(one, "default", window) for one in taken), slide),
        )
    own = []
    for session, counts in zip(taken, by_session, strict=True):
        with chances_of(counts, weight):
            own.append(replayed(session, "default", window))
    yield "cells of the session", figures(total(own), slide)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", default="3,4")
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--windows", default="32,64,128")
    parser.add_argument("--calls", type=int, default=25)
    parser.add_argument("--weight", type=float, default=1.6)
    given = parser.parse_args()
    folds = {int(one) for one in given.folds.split(",")}
    assert folds <= set(range(FOLDS)), folds
    table: dict[str, object] = {}
    for agent in given.agents.split(","):
        taken = [one for one in sessions(agent) if fold(one.id) in folds and is_long(one)]
        for thousand in map(int, given.windows.split(",")) if taken else ():
            label = f"{agent} {thousand}k"
            found = dict(rows(taken, 1_000 * thousand, given.calls, given.weight))
            table[label] = {"sessions": len(taken), **found}
            print(label, json.dumps(table[label]), flush=True)
            given.out.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
