"""Defines the query of ``grep``, and formats the result for the model: paths with lines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from indwell.tools.base import Outcome, ToolContext
from indwell.tools.searching.patterns import (
    UNSAVED,
    SearchPlace,
    SearchScope,
    counted,
    path_line,
    path_matcher,
    scope_of,
    text_line,
    with_notes,
)
from indwell.tools.searching.ripgrep import MAX_SHOWN, OPTIONS, Hits, Mode
from indwell.workspace.paths import display

# With --crlf, $ matches before a carriage return.
_ALWAYS = ("--with-filename", "--null", "--crlf")


class FoundMatches(msgspec.Struct, frozen=True):
    """The result of a search in one folder or file.

    Attributes:
        place: The searched folder or file.
        hits: Matches by path relative to the root.
        unsaved: Paths whose buffer was searched.
        is_cut: Whether there were more matches than the limit.
        timed_out: Whether the search reached its time limit.
        has_binary: Whether a binary file was not searched or shown completely.
        has_errors: Whether files could not be read.
        left_out: Unsaved buffers that were too large to be searched.
        missing: A folder that the glob names and that does not exist.
        complaint: The error in the pattern, as ripgrep reports it.
    """

    place: SearchPlace
    hits: Hits
    unsaved: frozenset[str]
    is_cut: bool
    timed_out: bool
    has_binary: bool
    has_errors: bool
    left_out: tuple[str, ...]
    missing: str
    complaint: str


class _Tally:
    """Collects the shown matches, and counts other matches."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.n_shown = 0
        self.n_matches = 0
        self.n_files = 0
        self.is_exact = True


def report(
    query: GrepQuery, found: Sequence[FoundMatches], context: ToolContext, complaint: str
) -> Outcome:
    """Return the results as text.

    Args:
        query: The query.
        found: The result of each searched folder or file.
        context: The context of the call.
        complaint: Why the pattern was searched as plain text, or empty if it was a valid
            expression.
    """
    mode = query.mode
    tally = _Tally()
    for path, one, name in _files(found):
        _show(tally, path, one, name, mode=mode, roots=context.workspace.roots)
    is_cut = any(one.is_cut for one in found)
    is_over = is_cut or not tally.is_exact
    n_all = tally.n_files if mode != "lines" else tally.n_matches
    notes = []
    if complaint:
        reason = complaint.rpartition("error: ")[2].split("\n")[0]
        notes.append(f"not a regular expression ({reason}), so it was searched for as plain text")
    if tally.n_shown < n_all or is_over:
        notes.append(_stopped(tally, mode, is_over=is_over, is_cut=is_cut))
    notes += _limits(found)
    if not tally.n_files:
        tally.lines.append(_nothing(query, found, context))
    if mode == "files":
        figure = counted(tally.n_files, "file", "files")
    else:
        figure = counted(tally.n_matches, "match", "matches")
    if is_over:
        figure = f"over {tally.n_shown} {figure.rpartition(' ')[2]}"
    return Outcome(text=with_notes(tally.lines, notes), figure=figure)


def _files(found: Sequence[FoundMatches]) -> Iterator[tuple[Path, FoundMatches, str]]:
    """Yield every file once, by search and name, because one root may contain another."""
    seen: set[Path] = set()
    for one in found:
        # Names are sorted as ripgrep sorts.
        for name in sorted(one.hits.counts, key=lambda name: name.split("/")):
            path = one.place.root / name
            if path not in seen:
                seen.add(path)
                yield path, one, name


def _show(
    tally: _Tally, path: Path, one: FoundMatches, name: str, *, mode: Mode, roots: Sequence[Path]
) -> None:
    n_matches = one.hits.counts[name]
    room = MAX_SHOWN - tally.n_shown
    is_exact = mode != "lines" or n_matches <= MAX_SHOWN
    tally.n_matches += n_matches if is_exact else MAX_SHOWN  # Ripgrep also stopped at this limit.
    tally.n_files += 1
    tally.is_exact &= is_exact
    if not room:
        return
    heading = path_line(path, roots) + (UNSAVED if name in one.unsaved else "")
    if mode != "lines":
        tally.lines.append(f"{heading}: {n_matches}" if mode == "count" else heading)
        tally.n_shown += 1
        return
    tally.lines.append(heading)
    for number, data, is_match in one.hits.lines[name]:
        if is_match and tally.n_shown == MAX_SHOWN:
            break
        tally.lines.append(f"{number}{':' if is_match else '-'} {text_line(data)}")
        tally.n_shown += is_match


def _stopped(tally: _Tally, mode: Mode, *, is_over: bool, is_cut: bool) -> str:
    narrow = "narrow the pattern, path or glob"
    what = "matches" if mode == "lines" else "files"
    if is_cut:  # The files that were searched before the limit are a random choice.
        return f"stopped at {tally.n_shown} {what}; there are more, also in other files; {narrow}"
    if is_over:
        return f"stopped at {tally.n_shown} {what}, there are more; {narrow}"
    n_all = tally.n_matches if mode == "lines" else tally.n_files
    files = f" in {tally.n_files} files" if mode == "lines" and tally.n_files > 1 else ""
    return f"stopped at {tally.n_shown} of {n_all} {what}{files}; {narrow}"


def _limits(found: Sequence[FoundMatches]) -> Iterator[str]:
    """Name the limits that made the search incomplete."""
    if any(one.timed_out for one in found):
        yield "stopped because it took too long, so matches may be missing; narrow the path or glob"
    if any(one.has_errors for one in found):
        yield "some files could not be read"
    if any(one.has_binary for one in found):
        yield "a binary file matches too, or was searched only up to its first NUL byte"
    left_out = [name for one in found for name in one.left_out]
    if left_out:
        n_buffers = counted(len(left_out), "unsaved buffer was", "unsaved buffers were")
        yield f"{n_buffers} too large to be searched"


def _nothing(query: GrepQuery, found: Sequence[FoundMatches], context: ToolContext) -> str:
    """Report a search without a match, with the known reasons."""
    where = "the workspace"
    if len(found) == 1:
        where = repr(display(found[0].place.start, context.workspace.roots))
    files = f", in files {query.glob[:100]!r}," if query.glob else ""
    said = f"nothing in {where}{files} matches {query.pattern[:200]!r} (ignored files aside)"
    if all(one.missing for one in found):
        return f"{said}: there is no folder {found[0].missing!r} (links are not followed)"
    if not query.pattern.isascii():
        return f"{said}; in files that are neither UTF-8 nor UTF-16 only ASCII is found"
    return said


class GrepQuery(msgspec.Struct, frozen=True):
    """A query of ``grep``.

    Attributes:
        pattern: A regular expression, or plain text.
        glob: The files to search; all files if empty. A leading ``!`` excludes files.
        mode: The kind of result.
        beside: The number of lines around each match.
        ignore_case: Whether case is ignored.
        is_plain: Whether the pattern is plain text.
    """

    pattern: str
    glob: str = ""
    mode: Mode = "lines"
    beside: int = 0
    ignore_case: bool = False
    is_plain: bool = False

    @property
    def scope(self) -> SearchScope:
        """Return the search scope, relative to the folder where ``glob`` starts."""
        if self.glob.startswith("!"):
            return SearchScope(matches=self.wanted)
        return scope_of(self.glob) if self.glob else SearchScope()

    @property
    def wanted(self) -> Callable[[str], bool]:
        """Return a function that says whether a file is searched, given its name."""
        if not self.glob:
            return lambda _: True
        matches = path_matcher(self.glob.removeprefix("!"))
        return (lambda name: not matches(name)) if self.glob.startswith("!") else matches

    @property
    def in_files(self) -> tuple[str, ...]:
        """Return the options for a search in files."""
        if self.mode != "lines":
            return (*self._options, *OPTIONS[self.mode])
        return (
            *self._options,
            *OPTIONS["lines"],
            f"--max-count={MAX_SHOWN + 1}",
            *((f"--context={self.beside}",) if self.beside else ()),
        )

    @property
    def in_text(self) -> tuple[str, ...]:
        """Return the options for a search in text from standard input, always by line."""
        return (*self._options, *OPTIONS["lines"], "--text", "--", "-")

    @property
    def _options(self) -> tuple[str, ...]:
        return (
            *_ALWAYS,
            *(("--ignore-case",) if self.ignore_case else ()),
            *(("--fixed-strings",) if self.is_plain else ()),
            f"--regexp={self.pattern}",
        )
