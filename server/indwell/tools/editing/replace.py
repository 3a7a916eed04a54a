r"""Search and replace as the model means it: exact, unique, all edits or none.

This module knows no disk. Line endings are forgiven: a model writes ``\n`` where the file has
``\r\n``, and what is put in takes the endings that stand there. An edit that changes nothing but
line endings is taken as it is written. Blanks at line ends are forgiven too (see ``alike``), and
then the result says so.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import msgspec

from indwell.context.untrusted_text import restored, with_tags
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.tools.editing.alike import find_alike
from indwell.tools.editing.closest import closest
from indwell.workspace.text import line_at

MAX_PLACES = 20  # line numbers that a message names
MAX_COUNTED = 1_000  # places that are counted for a message

_BREAK = lazy_pattern(r"\r\n|\n|\r")


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Put one text in place of another."""

    old: Annotated[str, msgspec.Meta(description="exact text, unique in the file")]
    new: str
    all: Annotated[bool, msgspec.Meta(description="replace every occurrence")] = False


class ReplacementResult(msgspec.Struct, frozen=True):
    """What became of a text.

    Attributes:
        text: With all edits made.
        notes: What the model should know of how its texts were found.
    """

    text: str
    notes: tuple[str, ...] = ()


def apply(text: str, edits: Sequence[Replacement], path: str) -> str:
    """The text with ``edits`` made; see ``replaced``."""
    return replaced(text, edits, path).text


def replaced(
    text: str, edits: Sequence[Replacement], path: str, *, exactly: bool = False
) -> ReplacementResult:
    """Make edits in order, each to the result of the one before.

    Args:
        text: The file's text.
        edits: At least one.
        path: The file's name for messages.
        exactly: Forgive nothing but line endings.

    Raises:
        ToolError: One cannot be made; then none is.
    """
    if not edits:
        raise ToolError("there are no edits; give at least one {old, new}")
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        try:
            text, note = _replaced_one(text, edit, path, exactly=exactly)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"edit {number} of {len(edits)}: {error}; no edit was made") from error
        if note:
            notes.append(note if len(edits) == 1 else f"edit {number} {note}")
    return ReplacementResult(text, tuple(notes))


def _replaced_one(text: str, edit: Replacement, path: str, *, exactly: bool) -> tuple[str, str]:
    if not edit.old:
        raise ToolError("old is empty; use write_file for a new file, or name the text to replace")
    if edit.old == edit.new:
        raise ToolError("old and new are the same, so there is nothing to change")
    if changes_ends_only(edit):
        return _with_other_ends(text, edit, path)
    places, is_exact = _places(text, edit)
    if not places and (meant := _unshown(edit, text)) != edit:
        edit = meant
        places, is_exact = _places(text, edit)
    note = f"replaced in {len(places)} places" if len(places) > 1 else ""
    if not places:
        alike = None if exactly else find_alike(text, edit.old)
        if alike is None:
            raise ToolError(f"old text does not appear in {path!r}{closest(text, edit.old)}")
        places, is_exact = [alike], False
        note = f"matched with other trailing blanks at line {line_at(text, alike[0])}"
    _check_unique(text, places, edit, path)
    return put(text, places, edit, is_exact=is_exact), note


def changes_ends_only(edit: Replacement) -> bool:
    """Do old and new differ in nothing but their line endings?"""
    return _BREAK.sub("\n", edit.old) == _BREAK.sub("\n", edit.new)


def other_ends(path: str) -> str:
    """Why an edit of line endings cannot be made: old has others than the file has there."""
    return (
        f"old and new differ only in their line endings, and {path!r} does not have old with those "
        "of old; nothing was changed. Write \\r\\n or \\n in old exactly as the file has it (see "
        "them with `file`, or `grep -c $'\\r'`)"
    )


def _with_other_ends(text: str, edit: Replacement, path: str) -> tuple[str, str]:
    r"""Other line endings, as they are written; a place never begins or ends within a ``\r\n``."""
    places = [place for place in _found(text, edit) if not any(map(_splitter(text), place))]
    if not places:
        if _places(text, edit)[0]:
            raise ToolError(other_ends(path))
        raise ToolError(f"old text does not appear in {path!r}{closest(text, edit.old)}")
    _check_unique(text, places, edit, path)
    where = f" in {len(places)} places" if len(places) > 1 else ""
    return put(text, places, edit, is_exact=True), f"changed only line endings{where}"


def _check_unique(
    text: str, places: Sequence[tuple[int, int]], edit: Replacement, path: str
) -> None:
    if len(places) > 1 and not edit.all:
        n_places = f"{len(places)}" if len(places) < MAX_COUNTED else f"at least {MAX_COUNTED}"
        raise ToolError(
            f"old text appears {n_places} times in {path!r}, at {_lines(text, places)}; add "
            "surrounding lines to name one, or set all to replace every one"
        )


def put(
    text: str,
    places: Sequence[tuple[int, int]],
    edit: Replacement,
    *,
    is_exact: bool,
    usual: str | None = None,
) -> str:
    """Put ``edit.new`` in the places of ``edit.old``, with the line endings that stand there.

    Args:
        text: The file's text, or a part of it.
        places: From and to; they ascend.
        edit: What is put in place of what.
        is_exact: ``edit.old`` stands there with the line endings that it has itself.
        usual: The line ending where ``text``, a part, shows none after a place.
    """
    has_one = "\r" not in text and usual in {None, "\n"}
    is_plain = (is_exact and (has_one or "\r" in edit.new)) or not _BREAK.search(edit.new)
    is_plain = is_plain or changes_ends_only(edit)
    endings = _Endings(text, usual)
    pieces, at = [], 0
    for start, end in places:
        stop = end if edit.new else _with_line_end(text, start, end)
        new = edit.new if is_plain else _with_endings(text[start:stop], edit, start, endings)
        pieces += [text[at:start], new]
        at = stop
    return "".join([*pieces, text[at:]])


def _unshown(edit: Replacement, text: str) -> Replacement:
    """The edit with the characters and tags of the file, which the model saw escaped (INJ-06)."""
    old, new = (with_tags(restored(one, text)) for one in (edit.old, edit.new))
    return msgspec.structs.replace(edit, old=old, new=new)


def _places(text: str, edit: Replacement) -> tuple[list[tuple[int, int]], bool]:
    """Where ``old`` stands, from and to; and whether exactly so, or with other line endings."""
    if "\r" not in text and "\r" not in edit.old:
        return _found(text, edit), True
    exact = [place for place in _found(text, edit) if not any(map(_splitter(text), place))]
    if (exact and not edit.all) or not _BREAK.search(edit.old):
        return exact, True
    old = _BREAK.sub("\n", edit.old)
    n_pairs = text.count("\r\n")
    if n_pairs == text.count("\n") == text.count("\r"):  # one line ending throughout
        return _found(text, msgspec.structs.replace(edit, old=old.replace("\n", "\r\n"))), False
    # Each CRLF is one character shorter in the plain text.
    pairs = [pair.start() - number for number, pair in enumerate(re.finditer("\r\n", text))]
    return [
        (start + bisect.bisect_left(pairs, start), stop + bisect.bisect_left(pairs, stop))
        for start, stop in _found(_BREAK.sub("\n", text), msgspec.structs.replace(edit, old=old))
    ], False


def _found(text: str, edit: Replacement) -> list[tuple[int, int]]:
    """Places of ``old``: all that do not overlap; or, to count them, also those that do."""
    size = len(edit.old)
    step = size if edit.all else 1  # "aa" stands twice in "aaa"
    places: list[tuple[int, int]] = []
    start = text.find(edit.old)
    while start >= 0 and (edit.all or len(places) < MAX_COUNTED):
        places.append((start, start + size))
        start = text.find(edit.old, start + step)
    return places


def _splitter(text: str) -> Callable[[int], bool]:
    """Whether an offset stands between the two characters of a CRLF."""
    return lambda offset: offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def _with_line_end(text: str, start: int, stop: int) -> int:
    """Where a deletion stops: deleting whole lines takes their line end, and leaves no empty one.

    Recorded agents work that way (`edit_real.jsonl`, "exact_but_post_processed").
    """
    begins = start == 0 or text[start - 1] in "\r\n"
    line_end = _BREAK.match(text, stop)
    ends_open = text[stop - 1] not in "\r\n"
    return line_end.end() if begins and ends_open and line_end is not None else stop


def _with_endings(text: str, edit: Replacement, offset: int, endings: _Endings) -> str:
    """The new text with the line endings of ``text``, which it replaces, line by line."""
    old_lines, new_lines = _BREAK.split(edit.old), _BREAK.split(edit.new)
    there = _BREAK.findall(text)
    usual = there[0] if there else endings.at(offset)
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


class _Endings:
    """The line endings that are used in a text, at offsets that only grow; looked for once."""

    def __init__(self, text: str, last: str | None) -> None:
        self._text = text
        self._last = last
        self._start = -1  # of the ending that was found last
        self._ending = ""
        self._is_last = False

    def at(self, offset: int) -> str:
        """The next one from ``offset`` on; else the one before, else a line feed."""
        if self._is_last or offset <= self._start:
            return self._ending
        following = _BREAK.search(self._text, offset)
        if following is not None:
            self._start, self._ending = following.start(), following.group()
            return self._ending
        self._is_last = True
        self._ending = self._last or _last_ending(self._text)
        return self._ending


def _last_ending(text: str) -> str:
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    return "\r\n" if text[max(end - 2, 0) : end] == "\r\n" else text[end - 1 : end] or "\n"


def _lines(text: str, places: Sequence[tuple[int, int]]) -> str:
    numbers = [str(line_at(text, start)) for start, _ in places[:MAX_PLACES]]
    more = ", …" if len(places) > MAX_PLACES else ""
    return f"lines {', '.join(numbers)}{more}"
