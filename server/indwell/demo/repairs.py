"""Which small changes could mend a function: most likely first, by what its docstring says. Pure.

No knowledge of the demo's seeds: the candidates come from the text that the tools returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple


class Repair(NamedTuple):
    """One line of a function, as it is and as it could be; ``number`` counts from 0."""

    number: int
    old: str
    new: str


class _Swap(NamedTuple):
    """A pattern in a line and what could stand there; ``cue`` in the docstring speaks for it."""

    pattern: str
    replacement: str
    cue: str


_SWAPS = (
    _Swap(r"(?<=[\w\])] )>(?= )", ">=", r"at least|no less"),
    _Swap(r"<=", ">=", r"at least|no less"),
    _Swap(r"(?<=[\w\])] )<(?= )", "<=", r"at most|no more"),
    _Swap(r">=", "<=", r"at most|no more"),
    _Swap(r"(?<=[\w\])] )<(?= )", ">", r"highest|largest|greatest|most|best"),
    _Swap(r">=", ">", r"first one counts|more than|above"),
    _Swap(r"(?<=[\w\])] )>(?= )", "<", r"lowest|smallest|least|worst"),
    _Swap(r"(?<=^        )(\w+) = (?=\w+\[)", r"\1 += ", r"sum|total|count"),
    _Swap(r"(?<=\]) \+ (?=\w)", " * ", r"times|product"),
    _Swap(r"(?<=\w) \+ (?=percent|rate|factor)", " * ", r"percent|times"),
    _Swap(r"(?<=\w) \+ (?=\w)", " - ", r"minus|less|without|off"),
    _Swap(r"(?<=\w) - (?=\w)", " + ", r"plus|with|added"),
    _Swap(r"\((len\(\w+\)) [+-] 1\)", r"\1", r"mean|average|all|over"),
    _Swap(r"(len\(\w+\)) [+-] 1", r"\1", r"all|every|index"),
    _Swap(r"\bmax\(", "sum(", r"mean|average|sum|total"),
    _Swap(r"\bmin\(", "max(", r"highest|largest"),
    _Swap(r"(?<=, )0\)", "2)", r"cents|two places"),
    _Swap(r"(?<= = )1$", "0", r"sum|total|count"),
    _Swap(r"(?<= = )0$", "1", r"product|factor"),
)


def repairs(function: str) -> tuple[Repair, ...]:
    """Candidates for a function's source, most likely first; each still parses."""
    lines = function.split("\n")
    docstring = _docstring(function).casefold()
    found = [
        (re.search(swap.cue, docstring) is None, order, repair)
        for order, swap in enumerate(_SWAPS)
        for repair in _candidates(lines, swap)
        if _parses(lines, repair)
    ]
    unique = dict.fromkeys(repair for _, _, repair in sorted(found))
    return tuple(unique)


def _candidates(lines: list[str], swap: _Swap) -> Iterator[Repair]:
    for index, line in enumerate(lines):
        if line.lstrip().startswith(("def ", '"""', "#", "raise ")):
            continue
        for match in re.finditer(swap.pattern, line):
            new = line[: match.start()] + match.expand(swap.replacement) + line[match.end() :]
            if new != line:
                yield Repair(index, line, new)


def _parses(lines: list[str], repair: Repair) -> bool:
    changed = [*lines[: repair.number], repair.new, *lines[repair.number + 1 :]]
    try:
        ast.parse("\n".join(changed))
    except SyntaxError:
        return False
    return True


def _docstring(function: str) -> str:
    try:
        tree = ast.parse(function)
    except SyntaxError:
        return ""
    first = tree.body[0] if tree.body else None
    return (ast.get_docstring(first) or "") if isinstance(first, ast.FunctionDef) else ""
