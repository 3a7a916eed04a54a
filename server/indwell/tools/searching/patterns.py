"""Path patterns: what they match, and which part of the tree need not be walked for them. Pure."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import msgspec
from wcmatch import glob as wildcards
from wcmatch._wcparse import PatternLimitException  # exported nowhere else

from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern

MAX_DEPTH = 64  # folders; with the two limits below, no name takes 5 ms, whatever the pattern
MAX_PATTERN = 400  # characters
MAX_STARS = 120  # in all alternatives of the braces together, each of which has up to two itself
_MAX_NAMES = 50  # alternatives of a name that ripgrep is given

_FLAGS = (
    wildcards.GLOBSTAR
    | wildcards.BRACE
    | wildcards.DOTGLOB
    | wildcards.MATCHBASE  # a pattern without a slash names files in any folder
    | wildcards.FORCEUNIX
)
_GLOBSTAR = r"(?:(?!(?:[/]|^)(?:\.{1,2})(?:$|[/])).)*?(?:^|[/]+)"  # as wcmatch writes it
_BY_FOLDER = r"(?:^|/)(?:[^/]+/)*?"  # the same for paths as we have them: without . and //
_TO_NAME = r"(?>(?:.*/)?)"  # the same before the last name
_MAGIC = lazy_pattern(r"[*?\[\]{}\\]")
_GROUPING = lazy_pattern(r"[\[\]{}\\]")
_ONE_ALTERNATIVE = lazy_pattern(r"(?<![\\\[])\{((?:(?!\.\.)[^{},\\\[\]])*)\}")
_ALTERNATIVES = lazy_pattern(r"(?<!\\)\{([^{}]*)\}")
_BRACES = lazy_pattern(r"\{((?:(?!\.\.)[^{}])*,(?:(?!\.\.)[^{}])*)\}")
_PLAIN_NAME = lazy_pattern(r"[\w.+@~=#%& *-]+", re.ASCII)
"""Names in which only ``*`` has a meaning, here and in ripgrep's types."""


class SearchPlan(msgspec.Struct, frozen=True):
    """How to find the files that match a pattern.

    Attributes:
        folder: Leading folders that the pattern names literally, with ``/``; empty for none.
        names: The last component, as file types of ripgrep; empty for every name.
        depth: How many levels below ``folder`` count; 0 for all.
        matches: Decides on the remaining files, by the path from where the pattern starts; None if
            every such file matches.
    """

    folder: str = ""
    names: tuple[str, ...] = ()
    depth: int = 0
    matches: Callable[[str], bool] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The plan as options for ripgrep.

        The names are given as types, because ``--glob`` would include ignored files again.
        """
        types = (f"--type-add=wanted:{name}" for name in self.names)
        return (
            *(types if self.names else ()),
            *(("--type=wanted",) if self.names else ()),
            *((f"--max-depth={self.depth}",) if self.depth else ()),
        )


def path_matcher(
    pattern: str,
    *,
    ignore_case: bool = False,
    escapes: bool = True,
    empty_alternatives: bool = True,
) -> Callable[[str], bool]:
    r"""Return a test of relative paths: ``*`` matches within a name, ``**`` across folders.

    Braces give alternatives; a single one (``*.{ts}``) counts, as in editors. A pattern without a
    slash matches the name, in any folder. Options select between programs' rules.

    Args:
        pattern: The pattern.
        ignore_case: Whether case is ignored.
        escapes: Whether a backslash escapes what follows; otherwise it stands for itself.
        empty_alternatives: Whether ``foo{,.txt}`` also matches ``foo``, as in bash and in editors.

    Raises:
        ToolError: The pattern is empty, or would cost too much.
    """
    if not pattern or "\0" in pattern:
        raise ToolError(f"{pattern!r} is no pattern; write one such as '*.py' or 'src/**/*.ts'")
    if len(pattern) > MAX_PATTERN:
        raise ToolError(f"{pattern[:100]!r} … is over {MAX_PATTERN} characters; use a simpler one")
    if not escapes:
        pattern = pattern.replace("\\", r"\\")
    if not empty_alternatives:
        pattern = _ALTERNATIVES.sub(_without_empty, pattern)
    pattern = _ONE_ALTERNATIVE.sub(r"\1", pattern) or pattern
    flags = _FLAGS | (wildcards.IGNORECASE if ignore_case else 0)
    try:
        expressions, _ = wildcards.translate(pattern, flags=flags, limit=MAX_STARS)
    except PatternLimitException as error:
        raise ToolError(f"{pattern[:100]!r} has too many alternatives in braces") from error
    if sum(one.count("*?") for one in expressions) > MAX_STARS:
        raise ToolError(f"{pattern[:100]!r} has too many '*' or alternatives; use a simpler one")
    matchers = [re.compile(_straight(one)).match for one in expressions]
    return lambda path: path.count("/") <= MAX_DEPTH and any(match(path) for match in matchers)


def _without_empty(braces: re.Match[str]) -> str:
    given = braces[1].split(",")
    kept = [one for one in given if one]
    if kept == given:
        return braces[0]
    return f"{{{','.join(kept)}}}" if len(kept) > 1 else "".join(kept)


def _straight(expression: str) -> str:
    """Return the expression without backtracking: text between two ``**`` matches early.

    More of the path remains behind the first place than behind any later one, so nothing is lost.
    Otherwise each ``**`` would multiply the work by the depth of the path.
    """
    expression = expression.replace("[^/]*?[/]", "[^/]*[/]")  # up to the slash in one go
    first, *others = expression.split(_GLOBSTAR)
    if not others:
        return expression
    *between, last = others
    pieces = (f"(?>{_BY_FOLDER}{one})" for one in between)
    return "".join((first, *pieces, _BY_FOLDER if "[/]+" in last else _TO_NAME, last))


def plan(pattern: str) -> SearchPlan:
    """Split a pattern into what narrows the walk and what must be matched afterwards.

    Raises:
        ToolError: As ``path_matcher``.
    """
    matches = path_matcher(pattern)
    pattern = _ONE_ALTERNATIVE.sub(r"\1", pattern) or pattern
    parts = pattern.split("/")
    n_literal = _n_literal(parts)
    folder, rest = "/".join(parts[:n_literal]), parts[n_literal:]
    if any(_GROUPING.search(part) for part in rest[:-1]) or _is_torn(rest[-1]):
        return SearchPlan(folder, matches=matches)  # a brace may contain a slash
    *between, last = rest
    if last == "**":
        return SearchPlan(folder, matches=matches if between else None)
    names, is_plain = _names(last)
    is_exact = is_plain and (not between or set(between) == {"**"})
    is_flat = len(parts) > 1 and "**" not in pattern
    return SearchPlan(folder, names, len(rest) if is_flat else 0, None if is_exact else matches)


def _n_literal(parts: list[str]) -> int:
    """Return how many leading components are literal folder names."""
    for number, part in enumerate(parts[:-1]):
        if part in {"", ".", ".."} or _MAGIC.search(part):
            return number
    return len(parts) - 1


def _is_torn(part: str) -> bool:
    return part.count("{") != part.count("}") or part in {"", ".", ".."}


def _names(part: str) -> tuple[tuple[str, ...], bool]:
    """Return a component as names in which only ``*`` is special, and whether they are exact.

    What ripgrep reads otherwise (sets, ``?``, escapes) becomes ``*``, which matches more.
    """
    if "\\" in part:
        return (), False
    # Texts and, at odd indices, the contents of braces.
    pieces = _BRACES.split(part)
    choices = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    is_nested = any(_GROUPING.search(text) for text in pieces) if len(pieces) > 1 else "{" in part
    if is_nested or math.prod(map(len, choices)) > _MAX_NAMES:
        return (), False
    given = tuple(map("".join, itertools.product(*choices)))
    is_plain = all(_PLAIN_NAME.fullmatch(name) and "**" not in name for name in given)
    if not is_plain:
        given = tuple(
            re.sub(r"\[.*\]|[^\w.+@~=#%& -]|\*+", "*", name, flags=re.ASCII) for name in given
        )
        given = tuple(re.sub(r"\*+", "*", name) for name in given)
    return (() if "*" in given else given), is_plain
