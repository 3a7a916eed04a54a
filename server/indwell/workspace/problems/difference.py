"""Compares a file's problems before and after an edit: new, gone, or only moved. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.context.attachments import Problem
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at


class ChangedLines(NamedTuple):
    """Lines that replace lines, 1-based; either side may be empty.

    Attributes:
        old: First line in the old text.
        n_old: Number of old lines.
        new: First line in the new text.
        n_new: Number of new lines.
    """

    old: int
    n_old: int
    new: int
    n_new: int


class LineMap:
    """Maps lines of an old text to those of a new one.

    Args:
        blocks: The replaced lines, in order; none for equal texts.
        is_known: False if the edit is unknown: then every line may have moved.
    """

    def __init__(self, blocks: tuple[ChangedLines, ...] = (), *, is_known: bool = True) -> None:
        self.blocks = blocks
        self.is_known = is_known
        self._old = [block.old for block in blocks]
        self._new = [block.new for block in blocks]

    def moved(self, line: int) -> tuple[int, bool]:
        """Return an old line's new number, and whether it survived; else its replacement's."""
        at = bisect_right(self._old, line) - 1
        if at < 0:
            return line, True
        block = self.blocks[at]
        beyond = line - block.old
        if beyond < block.n_old:
            return block.new + min(beyond, max(block.n_new - 1, 0)), False
        return line + block.new + block.n_new - block.old - block.n_old, True

    def is_new(self, line: int) -> bool:
        """Tell whether the edit created this line of the new text."""
        at = bisect_right(self._new, line) - 1
        return at >= 0 and line - self._new[at] < self.blocks[at].n_new

    def is_touched(self, line: int) -> bool:
        """Like ``is_new``, or the edit removed lines right before or after it."""
        if self.is_new(line):
            return True
        return any(not block.n_new and line in {block.new - 1, block.new} for block in self.blocks)


SAME = LineMap()
UNKNOWN = LineMap(is_known=False)


def line_map(before: str | None, after: str | None) -> LineMap:
    """Build the map of an edit; None stands for a missing file."""
    blocks = []
    text = before or ""
    at, line, shift = 0, 1, 0
    for place in compare(before, after).places:
        line += line_at(text[at : place.start], place.start - at) - 1
        at = place.start
        blocks.append(ChangedLines(line, len(place.old), line + shift, len(place.new)))
        shift += len(place.new) - len(place.old)
    return LineMap(tuple(blocks))


MOST = 2_000  # problems of one file that are compared
NEAR = 3  # lines by which a checker's position may differ for an unchanged line
OWN = "indwell"  # the source of our own hints, which do not count as problems
SEVERITIES = ("error", "warning")
"""The severities that count, worst first; hints and information never do."""

_LINE_NUMBER = lazy_pattern(r"\bline \d+")
_Key: TypeAlias = tuple[str, str, str, str]


class ProblemDifference(msgspec.Struct, frozen=True):
    """Problems before and after an edit, compared; errors come before warnings.

    Attributes:
        new: Problems in their present form.
        gone: Problems in their former form.
        moved: Problems on another line than before: former and present form.
    """

    new: tuple[Problem, ...] = ()
    gone: tuple[Problem, ...] = ()
    moved: tuple[tuple[Problem, Problem], ...] = ()


def counted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return errors and warnings of other sources than ourselves, errors first."""
    wanted = (
        one
        for one in problems
        if one.severity in SEVERITIES and one.source.partition(" ")[0].lower() != OWN
    )
    return tuple(sorted(wanted, key=_rank))


def difference(
    before: Iterable[Problem], after: Iterable[Problem], edits: LineMap = SAME
) -> ProblemDifference:
    """Compare problems; a line that the edit only moved does not make its problem new.

    A problem is the same if severity, source, code and message are equal and its line was moved
    there. If its line was replaced, the nearest such problem in the new lines counts; if it is
    unchanged, one at most ``NEAR`` lines away. Beyond ``MOST`` problems the rest is not compared,
    and only those in changed lines are new.
    """
    old_ones, new_ones = counted(before), counted(after)
    new: list[Problem] = []
    gone: list[Problem] = []
    moved: list[tuple[Problem, Problem]] = []
    groups: dict[_Key, tuple[list[Problem], list[Problem]]] = defaultdict(lambda: ([], []))
    for one in old_ones[:MOST]:
        groups[_key(one)][0].append(one)
    for one in new_ones[:MOST]:
        groups[_key(one)][1].append(one)
    for olds, news in groups.values():
        pairs = _paired(olds, news, edits)
        taken = {id(old) for old, _ in pairs}
        met = {id(one) for _, one in pairs}
        new += (one for one in news if id(one) not in met)
        gone += (old for old in olds if id(old) not in taken)
        moved += ((old, one) for old, one in pairs if old.line != one.line)
    if len(old_ones) > MOST:
        new = [one for one in new if edits.is_touched(one.line)]
    return ProblemDifference(
        tuple(sorted(new, key=_rank)),
        tuple(sorted(gone, key=_rank)),
        tuple(sorted(moved, key=lambda pair: _rank(pair[1]))),
    )


def in_changed_lines(problems: Iterable[Problem], edits: LineMap) -> tuple[Problem, ...]:
    """Return problems in lines that the edit created: all new ones, if the old are unknown."""
    return tuple(one for one in counted(problems) if edits.is_touched(one.line))


def _paired(
    olds: Sequence[Problem], news: Sequence[Problem], edits: LineMap
) -> list[tuple[Problem, Problem]]:
    pairs: list[tuple[Problem, Problem]] = []
    by_line: dict[int, list[Problem]] = defaultdict(list)
    for one in news:
        by_line[one.line].append(one)
    rest: list[tuple[int, bool, Problem]] = []
    for old in olds:
        line, stands = edits.moved(old.line)
        if by_line.get(line):
            pairs.append((old, by_line[line].pop()))
        else:
            rest.append((line, stands, old))
    left = sorted((one for some in by_line.values() for one in some), key=_rank)
    for line, stands, old in rest:
        nearest = min(
            (one for one in left if _may_be(line, one.line, edits, stands=stands)),
            key=lambda one: abs(one.line - line),
            default=None,
        )
        if nearest is not None:
            pairs.append((old, nearest))
            left = [one for one in left if one is not nearest]
    return pairs


def _may_be(line: int, now: int, edits: LineMap, *, stands: bool) -> bool:
    """Tell whether a problem that was moved to ``line`` may be the one on line ``now``."""
    if not edits.is_known:
        return True
    return abs(now - line) <= NEAR if stands else edits.is_new(now)


def _key(problem: Problem) -> _Key:
    """Return what identifies a problem; line numbers in a message are ignored."""
    message = _LINE_NUMBER.sub("line", " ".join(problem.message.split()))
    return problem.severity, problem.source, problem.code, message


def _rank(problem: Problem) -> tuple[int, int, str]:
    return SEVERITIES.index(problem.severity), problem.line, problem.message
