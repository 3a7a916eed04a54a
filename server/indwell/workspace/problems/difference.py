"""Parses problems that checkers print, and compares them before and after an edit. Pure.

The parser reads the output of ruff, mypy, pyright, tsc, eslint, cargo, go vet, gcc and similar
programs. The reader skips unknown lines and never fails. The time is proportional to the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.context.attachments import MESSAGE_LIMIT, Problem
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at

MOST_READ = 5_000  # At most 5,000 problems are kept.
MOST_CHARACTERS = 2_000_000  # The rest of a longer output is not read.
# Only the beginning of a line is read, because it has the path and the message.
LINE_LIMIT = 2_000
_MOST_LINE = 10_000_000  # A larger number is not a line's number.
_PATH = r"(?P<path>(?:[A-Za-z]:[\\/])?[^\s:()<>\"'|*?][^:()<>\"'|*?\n]{0,400})"
_LEAD = r"^(?:vet: |error: |\s{0,8}(?:at )?)?"
_PLACED = lazy_pattern(
    rf"{_LEAD}{_PATH}:(?P<line>\d{{1,9}})(?::(?P<column>\d{{1,9}}))?(?:[-–]\d+)?"
)
_BRACKETED = lazy_pattern(
    rf"^{_PATH}\((?P<line>\d{{1,9}})(?:,(?P<column>\d{{1,9}}))?\): ?(?P<rest>.*)"
)
_ARROW = lazy_pattern(rf"^\s*(?:-->|╭─\[)\s*{_PATH}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})")
_STYLISH = lazy_pattern(
    r"^\s{1,8}(?P<line>\d{1,9}):(?P<column>\d{1,9})\s+(?P<severity>error|warning)\s+(?P<rest>\S.*)"
)
_SEVERITY = lazy_pattern(
    r"^[\s:-]{0,4}(?P<severity>fatal error|error|warning|note|info(?:rmation)?|hint|help)\b"
    r"(?:\[(?P<code>[\w:-]{1,60})\])?(?: (?P<number>TS\d{1,6}))?\s*:?\s*",
    re.IGNORECASE,
)
_HEAD = lazy_pattern(r"^(?P<severity>error|warning)(?:\[(?P<code>[\w:-]{1,60})\])?: (?P<rest>\S.*)")
_RULE = lazy_pattern(r"^(?P<code>[A-Z]{1,8}\d{1,6}):? (?:\[\*\] )?(?P<rest>\S.*)")
_TAIL = lazy_pattern(r"\s[\[(](?P<code>[\w@./:=+-]{1,80})[\])]$")
_STYLISH_TAIL = lazy_pattern(r"\s{2,}(?P<code>[\w@./-]{1,80})$")
_NO_PROBLEM = frozenset({"note", "help", "hint", "info", "information"})


class ProblemReport(msgspec.Struct, frozen=True):
    """The problems of an output in order, by path as written in the output.

    Attributes:
    problems: At most ``MOST_READ`` in total.

    is_cut: Whether there may be more problems.
    """

    problems: Mapping[str, tuple[Problem, ...]] = {}
    is_cut: bool = False


class _At(msgspec.Struct, frozen=True):
    path: str
    line: int
    rest: str


def read_output(text: str, source: str) -> ProblemReport:
    """Parse an output without escape codes; ``source`` names the program that printed it."""
    found: dict[str, list[Problem]] = defaultdict(list)
    n_found = 0
    is_cut = len(text) > MOST_CHARACTERS
    # The text has severity, code and message of the line before.
    headed: tuple[str, str, str] | None = None
    heading = ""  # The last line that has only a path.
    for full in text[:MOST_CHARACTERS].splitlines():
        line = full[:LINE_LIMIT].rstrip()
        if n_found == MOST_READ:
            is_cut = True
            break
        problem: Problem | None = None
        path = ""
        if (arrow := _ARROW.match(line)) is not None:
            if headed is not None and _is_path(arrow["path"]):
                severity, code, message = headed
                path = arrow["path"]
                problem = _problem(int(arrow["line"]), severity, message, source, code)
            headed = None
        elif heading and (styled := _STYLISH.match(line)) is not None:
            rest, code = _without(_STYLISH_TAIL, styled["rest"])
            path = heading
            problem = _problem(int(styled["line"]), styled["severity"], rest, source, code)
        else:
            placed = _placed(line)
            if placed is not None:
                path = placed.path
                problem = _said(placed, source)
            headed = _headed(line) if placed is None else None
            if placed is None and line and not line[0].isspace():
                heading = line if _is_path(line) else ""
        if problem is not None and 0 < problem.line <= _MOST_LINE:
            found[path.removeprefix("./")].append(problem)
            n_found += 1
    return ProblemReport({path: tuple(some) for path, some in found.items()}, is_cut=is_cut)


def _placed(line: str) -> _At | None:
    """Parse a line that begins with a position."""
    match = _BRACKETED.match(line)
    if match is not None and _is_path(match["path"]):
        return _At(match["path"].strip(), int(match["line"]), match["rest"])
    match = _PLACED.match(line)
    if match is None or not _is_path(match["path"]):
        return None
    rest = line[match.end() :]
    if not rest.startswith((":", " - ", " ")):
        return None
    return _At(match["path"].strip(), int(match["line"]), rest.removeprefix(":").strip())


def _said(at: _At, source: str) -> Problem | None:
    """Parse the part after the position; return None for a note about another line."""
    severity, code, rest = "error", "", at.rest
    match = _SEVERITY.match(rest)
    if match is not None:
        severity = match["severity"].lower().removeprefix("fatal ")
        code = match["code"] or match["number"] or ""
        rest = rest[match.end() :]
    if severity in _NO_PROBLEM:
        return None
    if not code and (rule := _RULE.match(rest)) is not None:
        code, rest = rule["code"], rule["rest"]
    if not code:
        rest, code = _without(_TAIL, rest)
        kind, slash, rule_name = code.partition("/")
        if slash and kind in {"Error", "Warning"}:  # The format is eslint's `unix` format.
            severity, code = kind.lower(), rule_name
    return _problem(at.line, severity, rest, source, code) if rest.strip() else None


def _headed(line: str) -> tuple[str, str, str] | None:
    """Parse a message that precedes the line with its position, as from cargo and ruff."""
    match = _HEAD.match(line)
    if match is not None:
        return match["severity"], match["code"] or "", match["rest"]
    rule = _RULE.match(line)
    if rule is not None:
        return "error", rule["code"], rule["rest"]
    return None


def _without(tail: re.Pattern[str], rest: str) -> tuple[str, str]:
    """Split a message from the code at its end, if there is one."""
    match = tail.search(rest[-120:])
    if match is None:
        return rest, ""
    return rest[: len(rest) - len(match[0])].rstrip(), match["code"]


def _problem(line: int, severity: str, message: str, source: str, code: str) -> Problem:
    return Problem(line, severity, " ".join(message.split())[:MESSAGE_LIMIT], source, code)


def _is_path(text: str) -> bool:
    """Return whether a text looks like a file, and not like a time or a host."""
    name = text.strip().replace("\\", "/").rpartition("/")[2]
    stem, dot, end = name.rpartition(".")
    has_end = bool(dot and end.isalnum() and not end.isdigit() and len(end) <= 10)  # noqa: PLR2004
    return has_end and bool(stem or end) and "//" not in text


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
    """Maps lines of an old text to lines of a new text.

    Args:
        blocks: The replaced lines, in order, or empty for equal texts.
        is_known: False if the edit is unknown, so that every line may have moved.
    """

    def __init__(self, blocks: tuple[ChangedLines, ...] = (), *, is_known: bool = True) -> None:
        self.blocks = blocks
        self.is_known = is_known
        self._old = [block.old for block in blocks]
        self._new = [block.new for block in blocks]

    def moved(self, line: int) -> tuple[int, bool]:
        """Return the new number of an old line or its replacement, and if the line still exists."""
        at = bisect_right(self._old, line) - 1
        if at < 0:
            return line, True
        block = self.blocks[at]
        beyond = line - block.old
        if beyond < block.n_old:
            return block.new + min(beyond, max(block.n_new - 1, 0)), False
        return line + block.new + block.n_new - block.old - block.n_old, True

    def is_new(self, line: int) -> bool:
        """Return whether the edit created this line of the new text."""
        at = bisect_right(self._new, line) - 1
        return at >= 0 and line - self._new[at] < self.blocks[at].n_new

    def is_touched(self, line: int) -> bool:
        """Return whether the edit created this line, or removed lines beside this line."""
        if self.is_new(line):
            return True
        return any(not block.n_new and line in {block.new - 1, block.new} for block in self.blocks)


SAME = LineMap()


UNKNOWN = LineMap(is_known=False)


def line_map(before: str | None, after: str | None) -> LineMap:
    """Build the map of an edit; None means a missing file."""
    blocks = []
    text = before or ""
    at, line, shift = 0, 1, 0
    for place in compare(before, after).places:
        line += line_at(text[at : place.start], place.start - at) - 1
        at = place.start
        blocks.append(ChangedLines(line, len(place.old), line + shift, len(place.new)))
        shift += len(place.new) - len(place.old)
    return LineMap(tuple(blocks))


MOST = 2_000  # At most 2,000 problems of one file are compared.


NEAR = 3  # A checker's position may differ by 3 lines for an unchanged line.


OWN = "indwell"  # Indwell's own hints have this source, and do not count as problems.


SEVERITIES = ("error", "warning")
"""The severities that count, worst first; hints and information never count."""


_LINE_NUMBER = lazy_pattern(r"\bline \d+")


_Key: TypeAlias = tuple[str, str, str, str]


class ProblemDifference(msgspec.Struct, frozen=True):
    """Problems before and after an edit, compared; errors come before warnings.

    Attributes:
        new: New problems.
        gone: Problems that no longer exist.
        moved: Problems on another line than before, with their former and current form.
    """

    new: tuple[Problem, ...] = ()
    gone: tuple[Problem, ...] = ()
    moved: tuple[tuple[Problem, Problem], ...] = ()


def counted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return errors and warnings of other sources than Indwell, errors first."""
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

    A problem is the same if severity, source, code and message are equal and the problem's line was
    moved to the new position. If that line was replaced, the nearest equal problem in the new lines
    is the same problem. If that line is unchanged, an equal problem up to ``NEAR`` lines away is
    the same problem. After ``MOST`` problems, only problems in changed lines count as new.
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
    """Return the problems in or beside lines that the edit has changed."""
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
        line, is_kept = edits.moved(old.line)
        if by_line.get(line):
            pairs.append((old, by_line[line].pop()))
        else:
            rest.append((line, is_kept, old))
    left = sorted((one for some in by_line.values() for one in some), key=_rank)
    for line, is_kept, old in rest:
        nearest = min(
            (one for one in left if _may_be(line, one.line, edits, is_kept=is_kept)),
            key=lambda one: abs(one.line - line),
            default=None,
        )
        if nearest is not None:
            pairs.append((old, nearest))
            left = [one for one in left if one is not nearest]
    return pairs


def _may_be(line: int, now: int, edits: LineMap, *, is_kept: bool) -> bool:
    """Return whether a problem that was moved to ``line`` may be the problem on line ``now``."""
    if not edits.is_known:
        return True
    return abs(now - line) <= NEAR if is_kept else edits.is_new(now)


def _key(problem: Problem) -> _Key:
    """Return the key of a problem: its data without the line numbers in the message."""
    message = _LINE_NUMBER.sub("line", " ".join(problem.message.split()))
    return problem.severity, problem.source, problem.code, message


def _rank(problem: Problem) -> tuple[int, int, str]:
    return SEVERITIES.index(problem.severity), problem.line, problem.message
