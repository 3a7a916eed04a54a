r"""Search and replace as the model means it: exact, unique, all edits or none.

This module knows no disk. Line endings are the one thing forgiven: a model writes ``\n`` where the
file has ``\r\n``, and what is put in takes the endings that stand there.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.workspace.text import line_at, split_lines

MAX_PLACES = 20  # line numbers that a message names
SHOWN_LINES = 12
SHOWN_CHARS = 1_200
FUZZY_LINES = 3_000  # lines that are compared by likeness; equal ones are found in any number
FUZZY_CHARS = 200

_BREAK = re.compile(r"\r\n|\n|\r")
_ANY_BREAK = r"(?:\r\n|\n|\r)"
_NUMBERED = re.compile(r"\s*\d+\t")


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Put one text in place of another."""

    old: Annotated[str, msgspec.Meta(description="exact text, unique in the file")]
    new: Annotated[str, msgspec.Meta(description="text to put in its place")]
    all: Annotated[bool, msgspec.Meta(description="replace every occurrence")] = False


def apply(text: str, edits: Sequence[Edit], path: str) -> str:
    """Apply edits in order, each to the result of the one before.

    Args:
        text: The file's text.
        edits: At least one.
        path: The file's name for messages.

    Raises:
        ToolError: One cannot be applied; then none is.
    """
    if not edits:
        raise ToolError("there are no edits; give at least one {old, new}")
    for number, edit in enumerate(edits, 1):
        try:
            text = _apply_one(text, edit, path)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"edit {number} of {len(edits)}: {error}; no edit was made") from error
    return text


def _apply_one(text: str, edit: Edit, path: str) -> str:
    if not edit.old:
        raise ToolError("old is empty; use write_file for a new file, or name the text to replace")
    if edit.old == edit.new:
        raise ToolError("old and new are the same, so there is nothing to change")
    is_exact = edit.old in text
    pattern = re.escape(edit.old) if is_exact else _loose(edit.old)
    if edit.all:
        places = [found.span() for found in re.finditer(pattern, text)]
    else:
        # Looking ahead finds places that overlap: "aa" stands twice in "aaa".
        ahead = re.finditer(f"(?=({pattern}))", text)
        places = [found.span(1) for found in ahead if not _parts_break(text, found.start())]
    if not places:
        raise ToolError(f"old text does not appear in {path!r}{_closest(text, edit.old)}")
    if len(places) > 1 and not edit.all:
        raise ToolError(
            f"old text appears {len(places)} times in {path!r}, at {_lines(text, places)}; add "
            "surrounding lines to name one, or set all to replace every one"
        )
    pieces, at = [], 0
    for start, stop in places:
        stop = _with_line_end(text, start, stop) if not edit.new else stop  # noqa: PLW2901 - widened
        pieces += [text[at:start], _with_endings(text, start, stop, edit, is_exact=is_exact)]
        at = stop
    return "".join([*pieces, text[at:]])


def _loose(old: str) -> str:
    """A pattern for ``old`` with any line endings."""
    return _ANY_BREAK.join(re.escape(part) for part in _BREAK.split(old))


def _parts_break(text: str, offset: int) -> bool:
    """Does ``offset`` stand between the two characters of a CRLF?"""
    return 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n"


def _with_line_end(text: str, start: int, stop: int) -> int:
    """Where a deletion stops: deleting whole lines takes their line end, and leaves no empty one.

    Recorded agents work that way (`edit_real.jsonl`, "exact_but_post_processed").
    """
    begins = start == 0 or text[start - 1] in "\r\n"
    line_end = _BREAK.match(text, stop)
    ends_open = text[stop - 1] not in "\r\n"
    return line_end.end() if begins and ends_open and line_end is not None else stop


def _with_endings(text: str, start: int, stop: int, edit: Edit, *, is_exact: bool) -> str:
    """The new text with the line endings of what it replaces, line by line."""
    if "\r" not in text or (is_exact and "\r" in edit.new):
        return edit.new
    old_lines, new_lines = _BREAK.split(edit.old), _BREAK.split(edit.new)
    there = _BREAK.findall(text[start:stop])
    usual = there[0] if there else _ending_at(text, start)
    n_breaks = len(new_lines) - 1
    n_same = _n_same(reversed(old_lines), reversed(new_lines))
    pieces = [new_lines[0]]
    for number in range(n_breaks):
        from_end = n_breaks - number
        if from_end < n_same and from_end <= len(there):
            ending = there[-from_end]
        else:
            ending = there[number] if number < len(there) else usual
        pieces += [ending, new_lines[number + 1]]
    return "".join(pieces)


def _n_same(left: Iterator[str], right: Iterator[str]) -> int:
    """How many items two sequences share from their beginning."""
    n_same = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        n_same += 1
    return n_same


def _ending_at(text: str, offset: int) -> str:
    """The line ending that is used at ``offset``: the next one, else the one before."""
    following = _BREAK.search(text, offset)
    if following is not None:
        return following.group()
    before = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    if before < 0:
        return "\n"
    return "\r\n" if text[max(before - 1, 0) : before + 1] == "\r\n" else text[before]


def _lines(text: str, places: Sequence[tuple[int, int]]) -> str:
    numbers = [str(line_at(text, start)) for start, _ in places[:MAX_PLACES]]
    more = ", …" if len(places) > MAX_PLACES else ""
    return f"lines {', '.join(numbers)}{more}"


def _closest(text: str, old: str) -> str:
    """Say where in the file something like ``old`` stands, with its lines."""
    wanted = [line.rstrip("\r\n") for line in split_lines(old)]
    if wanted and all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return "; leave out the line numbers and tabs that read_file puts before each line"
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    start = _by_equal_lines(lines, wanted)
    if start is None:
        start = _by_likeness(lines, wanted)
    if start is None:
        return "; read_file it again, nothing there is like it"
    stop = min(start + len(wanted), len(lines))
    there = lines[start:stop]
    shown = "\n".join(f"{start + i + 1}\t{line}" for i, line in enumerate(there[:SHOWN_LINES]))
    kind = "only white space differs; " if _squeezed(there) == _squeezed(wanted) else ""
    return f"; {kind}the closest place is line {start + 1}:\n{shown[:SHOWN_CHARS]}"


def _squeezed(lines: Sequence[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def _by_equal_lines(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where the most lines of ``wanted`` stand at their place, white space aside."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(_squeezed(wanted)):
        if line:
            places.setdefault(line, []).append(number)
    votes: dict[int, int] = {}
    for number, line in enumerate(_squeezed(lines)):
        for wanted_number in places.get(line, ())[:MAX_PLACES]:
            start = max(number - wanted_number, 0)
            # A brace alone says little of the place; a long line much.
            votes[start] = votes.get(start, 0) + min(len(line), 40)
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _by_likeness(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where the line most like the longest one of ``wanted`` stands; bounded work."""
    number = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()), default=None)
    if number is None:
        return None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[number].strip()[:FUZZY_CHARS])
    best, found = 0.6, None
    for at, line in enumerate(lines[:FUZZY_LINES]):
        matcher.set_seq1(line.strip()[:FUZZY_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, found = ratio, at
    return None if found is None else max(found - number, 0)
