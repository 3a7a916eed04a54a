"""What an edit did to the problems of a file: which are new, gone, or only moved. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.context.attachments import Problem
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at


class ChangedLines(NamedTuple):
    """Lines in place of lines, 1-based; either side may have none.

    Attributes:
        old: First line in the old text.
        n_old: How many.
        new: First line in the new text.
        n_new: How many.
    """

    old: int
    n_old: int
    new: int
    n_new: int


class LineMap:
    """From lines of an old text to those of a new one.

    Args:
        blocks: What was replaced, in order; none for equal texts.
        is_known: False if nobody knows what was edited: then every line may have moved.
    """

    def __init__(self, blocks: tuple[ChangedLines, ...] = (), *, is_known: bool = True) -> None:
        self.blocks = blocks
        self.is_known = is_known
        self._old = [block.old for block in blocks]
        self._new = [block.new for block in blocks]

    def moved(self, line: int) -> tuple[int, bool]:
        """Where an old line stands now, and whether it still stands: else, what replaced it."""
        at = bisect_right(self._old, line) - 1
        if at < 0:
            return line, True
        block = self.blocks[at]
        beyond = line - block.old
        if beyond < block.n_old:
            return block.new + min(beyond, max(block.n_new - 1, 0)), False
        return line + block.new + block.n_new - block.old - block.n_old, True

    def is_new(self, line: int) -> bool:
        """Is this line of the new text one that came with the edit?"""
        at = bisect_right(self._new, line) - 1
        return at >= 0 and line - self._new[at] < self.blocks[at].n_new

    def is_touched(self, line: int) -> bool:
        """As ``is_new``, or do lines right before or behind it go with the edit?"""
        if self.is_new(line):
            return True
        return any(not block.n_new and line in {block.new - 1, block.new} for block in self.blocks)


SAME = LineMap()
UNKNOWN = LineMap(is_known=False)


def line_map(before: str | None, after: str | None) -> LineMap:
    """The map of an edit; None stands for a file that is not there."""
    blocks = []
    text = before or ""
    at, line, shift = 0, 1, 0
    for place in compare(before, after).places:
        line += line_at(text[at : place.start], place.start - at) - 1
        at = place.start
        blocks.append(ChangedLines(line, len(place.old), line + shift, len(place.new)))
        shift += len(place.new) - len(place.old)
    return LineMap(tuple(blocks))


MOST = 2_000  # problems of one file that are compared; who has more has another trouble
NEAR = 3  # lines that a checker may point elsewhere although the line stands as it was
OWN = "indwell"  # source of our own hints, which are no problems
SEVERITIES = ("error", "warning")
"""Those that count, the worse first; hints and information never do."""

_LINE_NUMBER = re.compile(r"\bline \d+")
_Key: TypeAlias = tuple[str, str, str, str]


class ProblemDifference(msgspec.Struct, frozen=True):
    """Problems before and after an edit, compared; errors stand before warnings.

    Attributes:
        new: As they are now.
        gone: As they were.
        moved: Those that stand in another line than before: as they were, and as they are.
    """

    new: tuple[Problem, ...] = ()
    gone: tuple[Problem, ...] = ()
    moved: tuple[tuple[Problem, Problem], ...] = ()


def counted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Those that count: errors and warnings of others than ourselves, the worse first."""
    wanted = (
        one
        for one in problems
        if one.severity in SEVERITIES and one.source.partition(" ")[0].lower() != OWN
    )
    return tuple(sorted(wanted, key=_rank))


def difference(
    before: Iterable[Problem], after: Iterable[Problem], edits: LineMap = SAME
) -> ProblemDifference:
    """Compare; a line that the edit only moved makes no problem new.

    A problem is the same if severity, source, code and message are, and it stands where its line
    stands now. Where its line was replaced it is the nearest such one in the new lines; where it
    stands as it was, one at most ``NEAR`` lines away. Of more than ``MOST`` the rest is not
    compared; then only what stands in changed lines is new.
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
    """Problems in lines that an edit made: all that counts as new if nobody knows what was."""
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
    """May what stood at a place that is ``line`` now be what is said of line ``now``?"""
    if not edits.is_known:
        return True
    return abs(now - line) <= NEAR if stands else edits.is_new(now)


def _key(problem: Problem) -> _Key:
    """What makes it the same; numbers of other lines in a message move as well."""
    message = _LINE_NUMBER.sub("line", " ".join(problem.message.split()))
    return problem.severity, problem.source, problem.code, message


def _rank(problem: Problem) -> tuple[int, int, str]:
    return SEVERITIES.index(problem.severity), problem.line, problem.message
