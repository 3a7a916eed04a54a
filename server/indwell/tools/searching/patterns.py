"""Determines where a search starts, and matches patterns of paths."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.beneath import PathBeneath, locate
from indwell.files.disk_names import leads_abroad
from indwell.files.listing import exists
from indwell.lazy_pattern import lazy_pattern
from indwell.tools.base import ToolContext
from indwell.tools.truncate import untorn
from indwell.workspace.paths import display, not_found, parse

# With this limit of folders in a pattern and the next two limits, no name takes 5 ms to match.
MAX_DEPTH = 64
MAX_PATTERN = 400  # The limit is in characters of a pattern.
MAX_STARS = 120  # The limit is for the stars in all alternatives of braces together.
_MAX_NAMES = 50  # At most 50 alternatives of a name are passed to ripgrep.
# The text is ``**`` in the form that wcmatch generates.
_GLOBSTAR = r"(?:(?!(?:[/]|^)(?:\.{1,2})(?:$|[/])).)*?(?:^|[/]+)"
_BY_FOLDER = r"(?:^|/)(?:[^/]+/)*?"  # The expression is the same for paths without . and //.
_TO_NAME = r"(?>(?:.*/)?)"  # The expression is the same before the last name of a path.
_MAGIC = lazy_pattern(r"[*?\[\]{}\\]")
_GROUPING = lazy_pattern(r"[\[\]{}\\]")
_ONE_ALTERNATIVE = lazy_pattern(r"(?<![\\\[])\{((?:(?!\.\.)[^{},\\\[\]])*)\}")
_ALTERNATIVES = lazy_pattern(r"(?<!\\)\{([^{}]*)\}")
_BRACES = lazy_pattern(r"\{((?:(?!\.\.)[^{}])*,(?:(?!\.\.)[^{}])*)\}")
_PLAIN_NAME = lazy_pattern(r"[\w.+@~=#%& *-]+", re.ASCII)
"""Names in which only ``*`` has a special meaning, also in ripgrep's types."""
EVERYWHERE = frozenset({"", "."})


class SearchScope(msgspec.Struct, frozen=True):
    """The scope of a search for files that match a pattern.

    Attributes:
        folder: The leading folders that the pattern names literally, with ``/``; may be empty.
        names: The last component, as file types of ripgrep, or empty for every name.
        depth: The number of searched levels below ``folder``, or 0 for all levels.
        matches: Tests the remaining files, by the path relative to the start of the pattern, or
            None if every such file matches.
    """

    folder: str = ""
    names: tuple[str, ...] = ()
    depth: int = 0
    matches: Callable[[str], bool] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The scope as options for ripgrep.

        The names are passed as types, because ``--glob`` would include ignored files again.
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

    Braces give alternatives; braces with one alternative (``*.{ts}``) are allowed, as in editors. A
    pattern without a slash matches the name, in any folder. The options select the rules of
    different programs.

    Args:
        pattern: The pattern.
        ignore_case: Whether case is ignored.
        escapes: Whether a backslash escapes the next character.
        empty_alternatives: Whether ``foo{,.txt}`` also matches ``foo``, as in bash and in editors.

    Raises:
        ToolError: The pattern is empty, or would cost too much.
    """
    if not pattern or "\0" in pattern:
        raise ToolError(f"{pattern!r} is not a pattern; write one such as '*.py' or 'src/**/*.ts'")
    if len(pattern) > MAX_PATTERN:
        raise ToolError(f"{pattern[:100]!r} … is over {MAX_PATTERN} characters; use a simpler one")
    if not escapes:
        pattern = pattern.replace("\\", r"\\")
    if not empty_alternatives:
        pattern = _ALTERNATIVES.sub(_without_empty, pattern)
    pattern = _ONE_ALTERNATIVE.sub(r"\1", pattern) or pattern
    # The import comes late, so that the first code action does not wait.
    from wcmatch import glob as wildcards  # noqa: PLC0415
    from wcmatch._wcparse import PatternLimitException  # noqa: PLC0415 - exported nowhere else

    flags = (
        wildcards.GLOBSTAR
        | wildcards.BRACE
        | wildcards.DOTGLOB
        | wildcards.MATCHBASE  # A pattern without a slash names files in any folder.
        | wildcards.FORCEUNIX
        | (wildcards.IGNORECASE if ignore_case else 0)
    )
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
    """Return the expression without backtracking; text after ``**`` matches where it first occurs.

    No match is lost, because the earliest match leaves the most of the path for the rest of the
    pattern. With backtracking, each ``**`` would multiply the work by the depth of the path.
    """
    # The expression matches up to the slash without backtracking.
    expression = expression.replace("[^/]*?[/]", "[^/]*[/]")
    first, *others = expression.split(_GLOBSTAR)
    if not others:
        return expression
    *between, last = others
    pieces = (f"(?>{_BY_FOLDER}{one})" for one in between)
    return "".join((first, *pieces, _BY_FOLDER if "[/]+" in last else _TO_NAME, last))


def scope_of(pattern: str) -> SearchScope:
    """Split a pattern into a part that narrows the search and a part to match afterwards.

    Raises:
    ToolError: See ``path_matcher``.
    """
    matches = path_matcher(pattern)
    pattern = _ONE_ALTERNATIVE.sub(r"\1", pattern) or pattern
    parts = pattern.split("/")
    n_literal = _n_literal(parts)
    folder, rest = "/".join(parts[:n_literal]), parts[n_literal:]
    if any(_GROUPING.search(part) for part in rest[:-1]) or _is_torn(rest[-1]):
        return SearchScope(folder, matches=matches)  # A brace may contain a slash.
    *between, last = rest
    if last == "**":
        return SearchScope(folder, matches=matches if between else None)
    names, is_plain = _names(last)
    is_exact = is_plain and (not between or set(between) == {"**"})
    is_flat = len(parts) > 1 and "**" not in pattern
    return SearchScope(folder, names, len(rest) if is_flat else 0, None if is_exact else matches)


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

    Parts with a different meaning in ripgrep (sets, ``?``, escapes) become ``*``, which matches
    more.
    """
    if "\\" in part:
        return (), False
    # The parts are texts and, at odd indices, the contents of braces.
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


class SearchPlace(msgspec.Struct, frozen=True):
    """A resolved file or folder to search, and its workspace root."""

    root: Path
    start: Path

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the folders from the root to the start."""
        return self.start.parts[len(self.root.parts) :]

    @property
    def argument(self) -> str:
        """The start relative to the root, in a form that a program does not read as an option."""
        return "/".join((".", *self.parts))


async def search_places(context: ToolContext, path: str) -> tuple[SearchPlace, ...]:
    """Return what to search: all roots if ``path`` is empty or ``.``, or the path's target.

    Raises:
        ToolError: The path is outside the workspace and the readable folders, is missing, or is
            neither a folder nor a regular file. Reading a pipe, for example, would block.
    """
    roots = context.workspace.roots
    if path in EVERYWHERE and len(roots) > 1:
        return tuple(SearchPlace(root, root) for root in roots)
    return (await asyncio.to_thread(_place, context, path or "."),)


def beneath(place: SearchPlace, folder: str) -> SearchPlace | None:
    """Return the folder that a pattern names literally, or None if missing or behind a link.

    The function blocks.
    """
    if not folder:
        return place
    start = place.start / folder
    if (
        leads_abroad(start, (place.root,))
        or not start.is_dir()
        or os.path.realpath(start) != str(start)
    ):
        return None
    return SearchPlace(place.root, start)


def _place(context: ToolContext, path: str) -> SearchPlace:
    roots = context.workspace.roots
    place = _located(context, path)
    if not exists(place.path):
        raise not_found(place.path, roots)
    if not (place.path.is_dir() or place.path.is_file()):
        raise ToolError(
            f"{display(place.path, roots)!r} is a pipe, socket or device and cannot be searched; "
            "name a folder or file"
        )
    return SearchPlace(place.root, place.path)


def _located(context: ToolContext, path: str) -> PathBeneath:
    roots = context.workspace.roots
    try:
        return locate(context.resolve(path), roots)
    except ToolError:
        if not context.readable.folders:
            raise
        return locate(parse(path, roots[0]), context.readable.folders)


LINE_CHARS = 300  # A result shows at most 300 characters of a line (H51).


UNSAVED = " (not saved yet)"


_LIKE_A_RESULT = lazy_pattern(r"\[|\d+[:-]")


# The pattern matches control characters and line breaks, but not tabs.
_BREAKS = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")


def path_line(path: Path, roots: Sequence[Path]) -> str:
    """Return a path as one line that does not look like a match (``3: …``) or note (``[…]``)."""
    shown = display(path, roots)
    return f"./{shown}" if _LIKE_A_RESULT.match(shown) else shown


def text_line(data: bytes) -> str:
    r"""Return a line of a file, cut, with characters that may end a line escaped as ``\x…``."""
    # A character has at most 4 bytes, so only as many bytes as needed are decoded.
    text = data[: 4 * LINE_CHARS + 8].decode("utf-8", "replace").rstrip("\r")
    if len(text) > LINE_CHARS:
        text = f"{untorn(text[:LINE_CHARS])}…"
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def with_notes(lines: Sequence[str], notes: Sequence[str]) -> str:
    """Return results with notes in brackets below."""
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])


def counted(number: int, one: str, many: str) -> str:
    """Return a count with its noun: ``1 match``, ``2,000 matches``."""
    return f"1 {one}" if number == 1 else f"{number:,} {many}"
