"""Lets the preset ``default`` know which names and lines the rest of a session needs.

The oracle chooses lines with the engine's own greedy algorithm, but the worth of a line is the
number of its names that the agent writes later, plus one if a later edit quotes the line. Times and
sizes of the cuts are those of the engine. So the oracle shows how much better chances could make
the choice of lines. It is no upper bound for other ways to compact. The engine has no setting for
an oracle, so this module exchanges a private class of the engine.
"""

# ruff: noqa: SLF001

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

from indwell.context.compaction.digesting import line_choice
from indwell.context.compaction.digesting.line_store import DigestedLine
from indwell.context.compaction.digesting.lines import line_key
from indwell.context.file_work import call_of
from indwell.messages import ToolUse
from indwell.replay.loss import Reader, words_of
from indwell.sessions.imports import Recorded


class Future:
    """The model calls of a session that write each name, and that edit each line, by their hash."""

    def __init__(self, session: Recorded) -> None:
        self._names: dict[int, list[int]] = {}
        self._lines: dict[int, list[int]] = {}
        reader = Reader()
        replies = [one for one in session.messages if one.role == "assistant"]
        for call, message in enumerate(replies):
            for block in message.blocks:
                for name in reader.traces(words_of(block)).names:
                    self._names.setdefault(hash(name), []).append(call)
                if isinstance(block, ToolUse):
                    for line in (line for text in call_of(block).old for line in text.split("\n")):
                        if key := line_key(line):
                            self._lines.setdefault(hash(key) or 1, []).append(call)

    def writes(self, name: int, call: int) -> bool:
        """Return whether model call ``call`` or a later one writes the name with this hash."""
        return _has_later(self._names.get(name, ()), call)

    def edits(self, line: int, call: int) -> bool:
        """Return whether model call ``call`` or a later one edits the line with this key."""
        return _has_later(self._lines.get(line, ()), call)


def _has_later(calls: list[int] | tuple[()], call: int) -> bool:
    return bisect_left(calls, call) < len(calls)


@contextmanager
def knowing_the_future(session: Recorded) -> Iterator[None]:
    """Let the engine's choice of lines know the rest of this session."""
    future = Future(session)
    engine = line_choice._Choice

    class OracleChoice(engine):
        def _density(self, _at: int, line: DigestedLine) -> float:
            uses = self._uses
            hashes = uses.lines.numbers._hashes
            now, worth = uses.n_calls, 0.0
            if line.key and line.key not in self._shown_keys:
                worth += future.edits(line.key, now)
            for name in line.names:
                if name not in self._shown_names and name not in self._mentioned:
                    worth += future.writes(hashes[name], now)
            return worth / (line.tokens + 2)

    line_choice._Choice = OracleChoice
    try:
        yield
    finally:
        line_choice._Choice = engine
