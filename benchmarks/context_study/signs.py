"""Reads recorded sessions, and collects the signs and the later needs of names and lines.

A row is a name or a line at one moment of a session, with its signs of need at that moment, and
whether the agent needed the name or the line in the next ``HORIZON`` model calls. Most rows without
a need are left out; the others get a larger weight.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from recordings import sessions
from work import WorkIndex, line_signs, name_signs, number_of, text_signs

from indwell.context.compaction.digesting.line_choice import (
    edit_chance,
    name_chance,
    near_asked,
)
from indwell.context.compaction.digesting.lines import text_of
from indwell.context.file_work import call_of
from indwell.messages import Block, Message, ToolResult, ToolUse

# Weights and thresholds may be chosen on these folds; the other two folds show the result.
CHOSEN_ON = (0, 1, 2)
HORIZON = 25  # model calls
EVERY = 9  # the number of model calls between two moments of a session
LEAST_TOKENS, LEAST_CALLS = 10_000, 6  # A moment needs so many tokens and calls before it.
KEPT_LINES, KEPT_NAMES = 0.1, 0.15  # the shares of rows without a need


Needs: TypeAlias = tuple[set[int], dict[int, set[str]]]
"""The names that a model call writes, and the lines that it edits with their files."""


class Rows(NamedTuple):
    """Rows of signs, with needs, weights and the id of each row's session.

    ``chances`` are the engine's own chances of need. The engine has no chance of an edit for a line
    that no call read from a file, so the chance of this line is 0.
    """

    signs: np.ndarray
    needs: np.ndarray
    weights: np.ndarray
    sessions: np.ndarray
    chances: np.ndarray

    def of(self, chosen: np.ndarray) -> Rows:
        """Return the chosen rows."""
        return Rows(*(part[chosen] for part in self))


def collected(agent: str) -> tuple[Rows, Rows]:
    """Return the rows of lines and of names."""
    lines, names = _Collector(), _Collector()
    for session in sessions(agent):
        chance = random.Random(zlib.crc32(session.id.encode()))
        phase = chance.randrange(EVERY)
        uses, tokens, seen = WorkIndex(), 0, []
        needed = tuple(_needs(session.messages, uses))
        for message in session.messages:
            uses.add(message)
            tokens += sum(block.meta.tokens for block in message.blocks)
            seen += [(block, uses.n_calls) for block in message.blocks]
            now = uses.n_calls
            if message.role == "assistant" or now < LEAST_CALLS or now % EVERY != phase:
                continue
            if tokens < LEAST_TOKENS or now >= len(needed):
                continue
            later = needed[now : now + HORIZON]
            old = [block for block, call in seen if call < now]
            for signs, is_needed, of_need in _lines(old, later, uses):
                lines.add(signs, session.id, KEPT_LINES, chance, of_need, is_needed=is_needed)
            written = set().union(*(names_written for names_written, _ in later))
            for name in dict.fromkeys(name for block in old for name in uses.names(block)):
                signs = name_signs(name, uses)
                of_need = name_chance(name, uses)
                is_needed = name in written
                names.add(signs, session.id, KEPT_NAMES, chance, of_need, is_needed=is_needed)
    return lines.rows(), names.rows()


class _Collector:
    def __init__(self) -> None:
        self._signs, self._needs, self._weights, self._sessions = [], [], [], []
        self._chances: list[float] = []

    def add(
        self,
        signs: tuple[float, ...],
        session: str,
        kept: float,
        chance: random.Random,
        of_need: float,
        *,
        is_needed: bool,
    ) -> None:
        if not is_needed and chance.random() > kept:
            return
        self._signs.append(signs)
        self._needs.append(is_needed)
        self._weights.append(1.0 if is_needed else 1 / kept)
        self._sessions.append(session)
        self._chances.append(of_need)

    def rows(self) -> Rows:
        return Rows(
            np.array(self._signs, "f4"),
            np.array(self._needs, bool),
            np.array(self._weights, "f4"),
            np.array(self._sessions),
            np.array(self._chances, "f4"),
        )


def _needs(messages: tuple[Message, ...], uses: WorkIndex) -> Iterator[Needs]:
    """Yield for each model call the names it writes, and the lines it edits with their files."""
    for message in messages:
        if message.role != "assistant":
            continue
        names, edited = set[int](), dict[int, set[str]]()
        for block in message.blocks:
            names.update(uses.names(block))
            if isinstance(block, ToolUse):
                call = call_of(block)
                files = {path.replace("\\", "/").rsplit("/", 1)[-1] for path in call.paths}
                for line in (line for text in call.old for line in text.split("\n")):
                    if key := number_of(line):
                        edited.setdefault(key, set()).update(files)
        yield names, edited


def _lines(
    old: list[Block], later: Sequence[Needs], uses: WorkIndex
) -> Iterator[tuple[tuple[float, ...], bool, float]]:
    """Yield each line's signs, whether an edit needs the line, and the engine's chance of that.

    The newest line is the first.
    """
    edited = dict[int, set[str]]()
    for _, keys in later:
        for key, files in keys.items():
            edited.setdefault(key, set()).update(files)
    done = set[int]()
    for block in reversed(old):
        match block:
            case ToolUse(id=identifier) | ToolResult(tool_use_id=identifier):
                origin = uses.calls.get(identifier)
            case _:
                continue
        if origin is None:
            continue
        origin = origin._replace(is_call=isinstance(block, ToolUse))
        lines = tuple(uses.lines.lines(text_of(block)).digested())
        uses.widen()
        shared = text_signs(origin, uses)
        read = None if origin.is_call else uses.reads.get(identifier)
        n_lines = text_of(block).count("\n") + 1
        near = near_asked(lines, n_lines, uses) if read else b""
        for line, own in zip(lines, line_signs(lines, uses), strict=True):
            if line.key and line.key not in done:
                done.add(line.key)
                files = edited.get(line.key)
                is_needed = files is not None and (not origin.file or origin.file in files)
                of_need = 0.0
                if read:
                    is_near = bool(near[line.number])
                    of_need = edit_chance(line, n_lines, read, uses, is_near_asked=is_near)
                yield (*shared, *own), is_needed, of_need
