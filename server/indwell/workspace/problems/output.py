"""Parses the output of checkers: where a problem is, its severity and its message. Pure.

One parser for ruff, mypy, pyright, tsc, eslint, cargo, go vet, gcc and similar output. It skips
what it does not know and never fails. Its time is proportional to the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from indwell.context.attachments import MESSAGE_LIMIT, Problem
from indwell.lazy_pattern import lazy_pattern

MOST = 5_000  # problems that are kept
MOST_CHARACTERS = 2_000_000  # of an output that are read
LINE_LIMIT = 2_000  # characters of a line that are read; path and message are at its beginning
_MOST_LINE = 10_000_000  # no file has more lines

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
    """The problems of an output, by path as written there, in order.

    Attributes:
        problems: At most ``MOST`` in total.
        is_cut: There may be more.
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
    headed: tuple[str, str, str] | None = None  # severity, code and message of the line before
    heading = ""  # a line that is only a path
    for full in text[:MOST_CHARACTERS].splitlines():
        line = full[:LINE_LIMIT].rstrip()
        if n_found == MOST:
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
    """Parse a line that begins with a place."""
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
    """Parse the part after the place; None if it is a note about another line."""
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
        if slash and kind in {"Error", "Warning"}:  # eslint's `unix` format
            severity, code = kind.lower(), rule_name
    return _problem(at.line, severity, rest, source, code) if rest.strip() else None


def _headed(line: str) -> tuple[str, str, str] | None:
    """Parse a message that comes before the line with its place: cargo, ruff."""
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
    """Tell whether it looks like a file, and not like a time or a host."""
    name = text.strip().replace("\\", "/").rpartition("/")[2]
    stem, dot, end = name.rpartition(".")
    has_end = bool(dot and end.isalnum() and not end.isdigit() and len(end) <= 10)  # noqa: PLR2004
    return has_end and bool(stem or end) and "//" not in text
