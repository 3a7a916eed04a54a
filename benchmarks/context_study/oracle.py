"""Replays sessions with an oracle: a digest keeps the lines that the recorded agent needs later.

    PYTHONPATH=server .venv/bin/python benchmarks/context_study/oracle.py --out FILE
        [--folds 3,4] [--agents entire,codex] [--windows 32,64,128] [--roots 77,95]

The oracle knows all later replies. In the engine's own digests, it replaces the estimated chances
by this knowledge, and changes nothing else. So no estimator of chances can do much better in this
engine: a goal that the oracle misses needs another engine. ``--roots`` are factors for the aim of a
digest; see ``presets.Digest``. The table has the engine's own chances and ``slide``, too.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
from signs import AGENTS, FOLDS, fold, sessions

from indwell.context.compaction.digesting.line_choice import (
    PAIR,
    LineChooser,
    ReducibleText,
)
from indwell.context.compaction.digesting.lines import (
    argument_texts,
    line_key,
    names_in,
    number_lead,
    text_of,
)
from indwell.context.compaction.digesting.transcript_index import Uses
from indwell.context.compaction.presets import PRESETS, Digest, Preset
from indwell.context.file_work import call_of
from indwell.messages import Block, Message, ToolUse
from indwell.replay.measure import RequestSums, replayed, total
from indwell.sessions.imports import Recorded

LEAST_TOKENS = 8_000  # A shorter session never fills a window.
_LINE_BREAK = 1.0
_CHARACTERS = 3.3  # the approximate characters per token

Items: TypeAlias = frozenset[tuple[str, str]]
"""Names and lines, each with its kind: ``("name", ...)`` or ``("line", ...)``."""


class Later:
    """The names that a session's later replies write, and the lines that their edits quote."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._last: dict[tuple[str, str], int] = {}
        replies = (one for one in messages if one.role == "assistant")
        for number, reply in enumerate(replies):
            self._last |= dict.fromkeys(_needs(reply), number)

    def after(self, items: Items, n_calls: int) -> Items:
        """Return the items that a reply needs, after the first ``n_calls`` replies."""
        return frozenset(one for one in items if self._last.get(one, -1) >= n_calls)


def _needs(reply: Message) -> Iterator[tuple[str, str]]:
    for block in reply.blocks:
        text = text_of(block)
        if isinstance(block, ToolUse):
            text = "\n".join((block.name, *argument_texts(block.arguments)))
            for line in (line for old in call_of(block).old for line in old.splitlines()):
                if key := line_key(line):
                    yield "line", key
        for name in names_in(text):
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
        self._pairs = set[str]()
        self.kept: list[set[int]] = [set() for _ in pieces]
        self._lines: dict[tuple[int, int], _Needed] = {}
        for at, piece in enumerate(pieces):
            texts = piece.text.split("\n")
            for number, items in enumerate(_lines(piece.text)):
                needed = later.after(items, n_calls)
                if needed or number in piece.kept:
                    tokens = len(texts[number]) / _CHARACTERS + 1
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


def with_root(root: float) -> Preset:
    """Return the preset ``default`` with another factor for the aim of its digests."""
    default = PRESETS["default"]
    rungs = (
        msgspec.structs.replace(one, layer=msgspec.structs.replace(one.layer, root=root), aim=0.6)
        if isinstance(one.layer, Digest)
        else one
        for one in default.rungs
    )
    return msgspec.structs.replace(default, rungs=tuple(rungs))


def figures(one: RequestSums, base: RequestSums) -> dict[str, float | None]:
    """Return the cost relative to ``base``, and the kept shares; a share of nothing is None."""

    def part(some: float, whole: float) -> float | None:
        return round(some / whole, 4) if whole else None

    return {
        "cost": part(one.cost, base.cost),
        "names": part(one.kept, one.pairs),
        "lines": part(one.lines_kept, one.lines),
        "n_names": one.pairs,
        "n_lines": one.lines,
        "read_again": part(one.reread_cost, base.cost),
        "violations": one.violations,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", default="3,4")
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--windows", default="32,64,128")
    parser.add_argument("--roots", default="77,95")
    given = parser.parse_args()
    folds = {int(one) for one in given.folds.split(",")}
    assert folds <= set(range(FOLDS)), folds
    windows = [1_000 * int(one) for one in given.windows.split(",")]
    roots = [float(one) for one in given.roots.split(",") if one]
    table: dict[str, object] = {}
    for agent in given.agents.split(","):
        taken = [one for one in sessions(agent) if fold(one.id) in folds and _is_long(one)]
        for window in windows if taken else ():
            label = f"{agent} {window // 1_000}k"
            table[label] = {"sessions": len(taken), **dict(_rows(taken, window, roots))}
            print(label, json.dumps(table[label]), flush=True)
            given.out.write_text(json.dumps(table, indent=1))


def _is_long(session: Recorded) -> bool:
    blocks = (block for part in session.messages for block in part.blocks)
    return sum(block.meta.tokens for block in blocks) >= LEAST_TOKENS


def _rows(
    taken: Sequence[Recorded], window: int, roots: Sequence[float]
) -> Iterator[tuple[str, dict[str, float | None]]]:
    slide = total(replayed(one, "slide", window) for one in taken)
    yield "slide", figures(slide, slide)
    own = total(replayed(one, "default", window) for one in taken)
    yield "default", figures(own, slide)
    for root in roots:
        ideal = total(
            replayed(one, with_root(root), window, choose=choosing(Later(one.messages)))
            for one in taken
        )
        yield f"oracle {root:g}", figures(ideal, slide)


if __name__ == "__main__":
    main()
