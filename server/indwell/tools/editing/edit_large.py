"""Implements ``edit_file`` for files too large to read as one text: exact bytes, all or none.

The rules of ``replace`` apply: the old text must be unique unless ``all`` is set, and may have
other line endings. Similar text is not searched for. The result shows each changed part as a diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Protocol

import msgspec

from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.editing.replace import (
    MAX_COUNTED,
    MAX_PLACES,
    Replacement,
    changes_ends_only,
    other_ends,
    put,
    why_missing,
)
from indwell.tools.truncate import cut_diff, untorn
from indwell.workspace.base import AppliedChange, Snapshot, TextStamp
from indwell.workspace.comparing.diff import count_changes, unified_diff
from indwell.workspace.large import ByteSplice, Large
from indwell.workspace.line_index import is_simple
from indwell.workspace.paths import display
from indwell.workspace.text import halves, shown

MAX_REPLACED = 10_000  # One edit with ``all`` changes at most 10,000 matches.

_BREAK = lazy_pattern(r"\r\n|\n|\r")

SHOWN_PLACES = 20  # The diff has at most 20 changed parts.
LINE_CHARS = 500  # The diff shows at most 500 characters of a line.
_HUNK = lazy_pattern(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


class LargeEditArguments(Protocol):
    """The arguments of ``edit_file``."""

    @property
    def path(self) -> str:
        """The path as the model wrote it."""
        ...

    @property
    def edits(self) -> tuple[Replacement, ...]:
        """The edits in order."""
        ...


async def run(arguments: LargeEditArguments, context: ToolContext) -> Outcome:
    """Edit the file on disk.

    Raises:
        ToolError: The edit cannot be made; nothing was written.
    """
    workspace = context.workspace
    path = context.resolve(arguments.path)
    name = display(path, workspace.roots)
    stamp, spots = await workspace.splice(
        path, lambda large: _checked(large, arguments, context), label=f"Indwell: edit {name}"
    )
    context.seen.record(path, stamp.digest, None)
    diff, figure = diff_of(spots, name), figure_of(spots)
    change = AppliedChange(
        path=path,
        before="".join(spot.before for spot in spots),
        after="".join(spot.after for spot in spots),
        stamp=stamp,
        is_part=True,
    )
    return Outcome(
        text=f"edited {name}: {figure}\n{cut_diff(diff)}".rstrip("\n"),
        figure=figure,
        diff=diff,
        changes=(change,),
    )


async def preview(arguments: LargeEditArguments, context: ToolContext) -> str:
    """Return the diff that ``run`` would make.

    Raises:
        ToolError: The edit cannot be made.
    """
    path = context.resolve(arguments.path)
    spots = await context.workspace.within(
        path, lambda large: _checked(large, arguments, context)[1]
    )
    return diff_of(spots, display(path, context.workspace.roots))


def _checked(
    large: Large, arguments: LargeEditArguments, context: ToolContext
) -> tuple[Large, tuple[Spot, ...]]:
    """Return the result of ``planned``, if the file may be edited."""
    context.seen.check(Snapshot(path=large.path, text="", stamp=TextStamp(large.index.digest)))
    if not is_simple(large.index.encoding):
        raise ToolError(
            f"{quoted(arguments.path)} is in {large.index.encoding} and too large to be read as "
            "one text; such files are edited only in UTF-8 or an encoding of one byte per "
            "character; change it with a command"
        )
    return planned(large, arguments.edits, arguments.path)


def planned(
    large: Large, edits: Sequence[Replacement], path: str
) -> tuple[Large, tuple[Spot, ...]]:
    """Return the file after the edits, and the changed parts.

    Raises:
    ToolError: An edit cannot be made.
    """
    if not edits:
        raise ToolError("there are no edits; give at least one {old, new}")
    spots: list[Spot] = []
    for number, edit in enumerate(edits, 1):
        try:
            large, changed = _applied(large, edit, path)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"edit {number} of {len(edits)}: {error}; no edit was made") from error
        spots += changed
    return large, tuple(spots)


def _applied(large: Large, edit: Replacement, path: str) -> tuple[Large, list[Spot]]:
    if not edit.old:
        raise ToolError("old is empty; name the text to replace")
    if edit.old == edit.new:
        raise ToolError("old and new are the same, so there is nothing to change")
    if halves(edit.new):
        raise ToolError("new holds half of a surrogate pair, which no file can hold")
    places, is_exact = _places(large, edit, path)
    if not places:
        nearest = f"old text does not appear in {quoted(path)}{_nearest(large, edit.old)}"
        raise ToolError(why_missing(path, edit.old) or nearest)
    if len(places) > 1 and not edit.all:
        many = f"{len(places)}" if len(places) < MAX_COUNTED else f"at least {MAX_COUNTED}"
        numbers = large.line_numbers([place.start for place in places[:MAX_PLACES]])
        more = ", …" if len(places) > MAX_PLACES else ""
        raise ToolError(
            f"old text appears {many} times in {quoted(path)}, at lines "
            f"{', '.join(map(str, numbers))}{more}; add surrounding lines to name one, or set all "
            "to replace every one"
        )
    usual, usual_until = None, -1
    splices, texts = [], []
    windows = _windows(large, places)
    for window, inside in windows:
        if window.stop > usual_until and _BREAK.search(edit.new):
            usual, usual_until = large.ending_near(window.stop)
        before, spans = _decoded(large, window, inside)
        after = put(before, spans, edit, is_exact=is_exact, usual=usual)
        splices.append(ByteSplice(window.start, window.stop, _bytes(large, before, after)))
        texts.append((before, after))
    numbers = large.line_numbers([window.start for window, _ in windows])
    spots = [Spot(number, *text) for number, text in zip(numbers, texts, strict=True)]
    return large.spliced(splices), spots


def _places(large: Large, edit: Replacement, path: str) -> tuple[list[range], bool]:
    """Return the matches of the old text, and whether they match exactly; see ``replace``."""
    try:
        old = large.encoded(edit.old)
    except UnicodeEncodeError:
        return [], True  # The file's encoding cannot represent this text.
    limit = MAX_REPLACED + 1 if edit.all else MAX_COUNTED

    def uncut(found: Iterator[range]) -> list[range]:
        if halves(edit.old):  # The bytes of the text may match in the middle of a character.
            found = (at for at in found if not large.cuts(at.start) and not large.cuts(at.stop))
        return _few(list(islice(found, limit)), path)

    places = uncut(large.find(old, overlapping=not edit.all))
    if changes_ends_only(edit):
        whole = [place for place in places if not _splits_end(large, place)]
        if not whole and uncut(large.find_lines(old, overlapping=False)):
            raise ToolError(other_ends(path))
        return whole, True
    if not _BREAK.search(edit.old) or (places and not edit.all):
        return places, True
    return uncut(large.find_lines(old, overlapping=not edit.all)), False


def _splits_end(large: Large, place: range) -> bool:
    r"""Return whether a match begins or ends within a ``\r\n``."""
    around = (large.read(at - 1, 2) for at in (place.start, place.stop) if at)
    return b"\r\n" in around


def _few(places: list[range], path: str) -> list[range]:
    if len(places) > MAX_REPLACED:
        raise ToolError(
            f"old text appears more than {MAX_REPLACED:,} times in {quoted(path)}; replace that "
            "many with a command"
        )
    return places


def _windows(large: Large, places: Sequence[range]) -> list[tuple[range, list[range]]]:
    """Return the matches with their lines; neighbouring matches share one entry."""
    windows: list[tuple[range, list[range]]] = []
    for place in places:
        window, inside = large.around(place), [place]
        if windows and window.start <= windows[-1][0].stop:
            last, before = windows.pop()
            window, inside = range(last.start, max(last.stop, window.stop)), before
            inside.append(place)
        windows.append((window, inside))
    return windows


def _decoded(
    large: Large, window: range, places: Sequence[range]
) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a window, and the bounds of the matches in the text."""
    bounds = [window.start, *(at for place in places for at in (place.start, place.stop))]
    parts = [
        large.decoded(large.read(start, stop - start))
        for start, stop in pairwise([*bounds, window.stop])
    ]
    offsets = list(accumulate(map(len, parts)))
    return "".join(parts), list(zip(offsets[::2], offsets[1::2], strict=False))


def _bytes(large: Large, before: str, after: str) -> bytes:
    """Return the bytes of a changed part, in the file's encoding.

    Raises:
    ToolError: The encoding lacks a character, or is only a guess.
    """
    encoding = large.index.encoding
    if large.index.is_guess:
        new = sorted(char for char in set(after) - set(before) if not char.isascii())
        if new:
            raise ToolError(
                f"new brings in {new[0]!r}, and that the file is in {encoding} is a guess; use "
                "characters that the file already has, or ASCII, or declare the encoding"
            )
    try:
        return large.encoded(after)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        raise ToolError(
            f"new holds {char!r} (U+{ord(char):04X}), which {encoding}, the file's encoding, "
            "cannot hold; write it another way"
        ) from error


def _nearest(large: Large, old: str) -> str:
    """Return where the longest line of ``old`` occurs, ignoring white space around it."""
    longest = max((line.strip() for line in _BREAK.split(old)), key=len, default="")
    try:
        wanted = large.encoded(longest)
    except UnicodeEncodeError:
        wanted = b""
    if not wanted:
        return "; find the place with grep"
    places = list(islice(large.find(wanted, overlapping=False), 3))
    if not places:
        return "; nor does its longest line; find the place with grep"
    numbers = large.line_numbers([place.start for place in places])
    window = large.around(places[0])
    there = large.decoded(large.read(window.start, len(window)))
    (first,) = large.line_numbers([window.start])
    lines = [cut_line(line) for line in _BREAK.split(shown(there).rstrip("\r\n"))]
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))
    return f"; its longest line is at line {', '.join(map(str, numbers))}:\n{numbered}"


class Spot(msgspec.Struct, frozen=True):
    """A changed part: old and new lines, context lines, and the number of the first line."""

    line: int
    before: str
    after: str


def diff_of(spots: Sequence[Spot], name: str) -> str:
    """Return the changed parts as one unified diff, with long lines cut."""
    pieces: list[str] = []
    for spot in spots[:SHOWN_PLACES]:
        diff = unified_diff(spot.before, spot.after, name)
        at = diff.find("@@")
        pieces += [*([] if pieces else [diff[:at]]), _moved(diff[at:], spot.line - 1)]
    lines = shown("".join(pieces)).split("\n")[:-1]
    n_more = len(spots) - SHOWN_PLACES
    whole = "".join(f"{line}\n" for line in _cut(lines))
    return whole + (f"[… {n_more:,} more places …]\n" if n_more > 0 else "")


def figure_of(spots: Sequence[Spot]) -> str:
    """Return how many lines were added and removed."""
    counts = [count_changes(spot.before, spot.after) for spot in spots]
    n_added, n_removed = (sum(numbers) for numbers in zip(*counts, strict=True))
    return f"+{n_added} \N{MINUS SIGN}{n_removed}"


def cut_line(line: str) -> str:
    """Return a line in the form for the diff."""
    return line if len(line) <= LINE_CHARS else untorn(line[:LINE_CHARS])


def _moved(hunks: str, by: int) -> str:
    """Shift the line numbers in hunks of a file's part, which ``by`` lines precede."""

    def moved(head: re.Match[str]) -> str:
        old, n_old, new, n_new = head.groups(default="")
        return f"@@ -{int(old) + by}{n_old} +{int(new) + by}{n_new} @@"

    return _HUNK.sub(moved, hunks)


def _cut(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        head = cut_line(line)
        more = len(line) - len(head)
        yield f"{head}[… {more:,} more characters]" if more else line
