"""Merges two changed versions of a text by lines, with conflicts where both sides differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.comparing.diff import ReplacedLines, compare
from indwell.workspace.comparing.matching import common_lines
from indwell.workspace.text import n_line_ends, split_lines

_BREAK = lazy_pattern(r"\r\n|\n|\r")


class MergePiece(NamedTuple):
    """A part of one of the three texts, in whole lines.

    Attributes:
        line: The first line, from 1; for an empty part, the line after the part.
        start: The first code point, from 0.
        text: The lines.
    """

    line: int
    start: int
    text: str


class Conflict(NamedTuple):
    """Lines that the sides changed differently."""

    base: MergePiece
    mine: MergePiece
    theirs: MergePiece


class Merge(NamedTuple):
    """A text that was merged from two edited versions of a base.

    Attributes:
        text: The merged text; at a conflict, the version of ``theirs``.
        base: The base; if one side changed all line endings, with these line endings.
        conflicts: The conflicts, in order.
    """

    text: str
    base: str
    conflicts: tuple[Conflict, ...] = ()


class _Region(NamedTuple):
    """Code points [start, stop) of the base that a side changed, and both sides' versions."""

    start: int
    stop: int
    mine: str
    theirs: str
    mine_start: int
    theirs_start: int


_Sides: TypeAlias = tuple[str, str, str]


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Merge the changes from ``base`` to ``mine`` and from ``base`` to ``theirs``."""
    texts = _ended_alike(base, mine, theirs)
    base, mine, theirs = texts
    numbers = _Numbers(base), _Numbers(mine), _Numbers(theirs)
    pieces, conflicts, at = [], [], 0
    for region in _regions(texts):
        old = base[region.start : region.stop]
        text = _settled(old, region.mine, region.theirs)
        if text is None:
            text = region.theirs
            conflicts.append(_conflict(region, numbers, old))
        pieces += [base[at : region.start], text]
        at = region.stop
    return Merge("".join([*pieces, base[at:]]), base, tuple(conflicts))


def _regions(texts: _Sides) -> Iterator[_Region]:
    """Yield the changed regions; overlapping or adjacent changes are joined."""
    base, mine, theirs = texts
    marked = [
        *((place, True) for place in slid(base, compare(base, mine).places)),
        *((place, False) for place in slid(base, compare(base, theirs).places)),
    ]
    marked.sort(key=lambda pair: (pair[0].start, pair[0].stop))
    shifts = {True: 0, False: 0}
    group: list[tuple[ReplacedLines, bool]] = []
    stop = 0
    for place, is_mine in marked:
        if group and place.start > stop:
            yield _region(base, group, shifts)
            group = []
        stop = max(stop, place.stop) if group else place.stop
        group.append((place, is_mine))
    if group:
        yield _region(base, group, shifts)


def _region(
    base: str, group: Sequence[tuple[ReplacedLines, bool]], shifts: dict[bool, int]
) -> _Region:
    """Return one region of adjacent changes, and advance ``shifts`` past the region."""
    start = group[0][0].start
    stop = max(place.stop for place, _ in group)
    sides = {}
    for is_mine in (True, False):
        places = [place for place, whose in group if whose == is_mine]
        pieces, at = [], start
        for place in places:
            pieces += [base[at : place.start], *place.new]
            at = place.stop
        sides[is_mine] = "".join([*pieces, base[at:stop]])
    starts = {is_mine: start + shift for is_mine, shift in shifts.items()}
    for is_mine, text in sides.items():
        shifts[is_mine] += len(text) - (stop - start)
    return _Region(start, stop, sides[True], sides[False], starts[True], starts[False])


def _conflict(region: _Region, numbers: tuple[_Numbers, _Numbers, _Numbers], old: str) -> Conflict:
    base, mine, theirs = numbers
    return Conflict(
        MergePiece(base.at(region.start), region.start, old),
        MergePiece(mine.at(region.mine_start), region.mine_start, region.mine),
        MergePiece(theirs.at(region.theirs_start), region.theirs_start, region.theirs),
    )


class _Numbers:
    """Computes the line numbers of ascending line starts; each line is counted once."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def at(self, offset: int) -> int:
        """Return the line (from 1) that begins at ``offset``."""
        self._line += n_line_ends(self._text, self._at, offset)
        self._at = offset
        return self._line


def _settled(base: str, mine: str, theirs: str) -> str | None:
    """Merge a region; return None if the sides conflict."""
    exact = _one_of(base, mine, theirs)
    if exact is not None:
        return exact
    plain = _one_of(*(_BREAK.sub("\n", text) for text in (base, mine, theirs)))
    if plain is None or "\n" not in plain:
        return plain
    ending = _one_of(*map(_ending, (base, mine, theirs)))
    return plain.replace("\n", ending) if ending else None


def _one_of(base: str, mine: str, theirs: str) -> str | None:
    """Choose the version of the side that changed, or None if both sides changed differently."""
    if mine in (base, theirs):
        return theirs
    return mine if theirs == base else None


def _ended_alike(base: str, mine: str, theirs: str) -> _Sides:
    """Return the three texts with the line endings of a side that changed all endings."""
    if "\r" not in base and "\r" not in mine and "\r" not in theirs:
        return base, mine, theirs
    texts = base, mine, theirs
    endings = [_ending(text) for text in texts]
    ending = _one_of(endings[0], endings[1], endings[2])
    if not ending or not all(endings):
        return texts
    alike = (_BREAK.sub(ending, text) if _ending(text) != ending else text for text in texts)
    return next(alike), next(alike), next(alike)


def _ending(text: str) -> str:
    """Return the line ending that a text uses everywhere, or empty if the endings differ."""
    n_pairs, n_feeds, n_returns = text.count("\r\n"), text.count("\n"), text.count("\r")
    if n_pairs == n_feeds == n_returns:
        return "\r\n" if n_pairs else ""
    if not n_returns:
        return "\n"
    return "" if n_feeds else "\r"


def slid(text: str, places: Sequence[ReplacedLines]) -> Iterator[ReplacedLines]:
    """Move each insertion or deletion of ``text`` as far down as the same result allows.

    At least one equal line stays between two changes.
    """
    for number, place in enumerate(places):
        is_last = number + 1 == len(places)
        limit = len(text) if is_last else places[number + 1].start - 1
        yield place if place.old and place.new else _slid(text, place, limit)


def _slid(text: str, place: ReplacedLines, limit: int) -> ReplacedLines:
    """Move a block down, if the lines that leave its front may follow the block unchanged."""
    start, stop = place.start, place.stop
    if place.old:
        by = common_lines(text, text, limit - stop, start, stop)
        return (
            ReplacedLines(start + by, split_lines(text[start + by : stop + by]), [])
            if by
            else place
        )
    block = "".join(place.new)
    run = block + text[stop:limit]
    by = common_lines(run, text, limit - stop, 0, stop)
    return ReplacedLines(start + by, [], split_lines(run[by : by + len(block)])) if by else place
