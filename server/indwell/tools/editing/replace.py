r"""Searches and replaces text for the model: exactly, at a unique place, all edits or none.

Other line endings are accepted: a model writes ``\n`` for the file's ``\r\n``, and new text gets
the file's endings. An edit that changes only line endings is applied as written. Trailing blanks
may differ, because they are invisible and often removed by formatters. If the text matches exactly
once without trailing blanks, that match is used, and the result says so. Indentation, tabs for
spaces, quotes, case and anything else are never guessed (ENC-11). If nothing matches, the model
sees the most similar parts of the file. The closest matches have the most wanted lines, ignoring
white space, or a line similar to the longest wanted line.
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any

import msgspec

from indwell.context.untrusted_text import restored, with_tags
from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.tools.truncate import untorn
from indwell.workspace.text import line_at, shown, split_lines

MAX_PLACES = 20  # A message has at most 20 line numbers.
MAX_COUNTED = 1_000  # At most 1,000 matches are counted.
_BREAK = lazy_pattern(r"\r\n|\n|\r")
MAX_VOTES = 5  # One line of ``old`` may suggest at most 5 positions.
SHOWN_LINES = 12  # At most 12 lines of the best match are shown.
OTHER_LINES = 3  # At most 3 lines of each other match are shown.
SHOWN_CHARS = 1_200
MOST_SIMILAR = 3
LIKENESS = 60  # The similarity of a line to the wanted line is at least 60 percent.
FUZZY_CHARS = 200
_CUT_LINE = lazy_pattern(r"\[… [\d,]{1,20} more (?:characters|bytes)\]")
_NUMBERED = lazy_pattern(r"\s*\d+(\t| ?\| ?)")
_QUOTES = str.maketrans(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb", '\'\'\'\'""""""'
)


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The replacement of one text by another."""

    old: str
    new: str
    all: Annotated[bool, msgspec.Meta(description="every occurrence")] = False


class ReplacementResult(msgspec.Struct, frozen=True):
    """The text of a file after the requested replacements.

    Attributes:
        text: The text with all edits made.
        notes: Notes for the model about how the old texts were found.
    """

    text: str
    notes: tuple[str, ...] = ()


def apply(text: str, edits: Sequence[Replacement], path: str) -> str:
    """Return the text with ``edits`` made; see ``replaced``."""
    return replaced(text, edits, path).text


def replaced(
    text: str, edits: Sequence[Replacement], path: str, *, exactly: bool = False
) -> ReplacementResult:
    """Make edits in order, each on the result of the previous edit.

    Args:
        text: The file's text.
        edits: The edits; at least one.
        path: The file's name, for messages.
        exactly: Whether only other line endings are accepted.

    Raises:
        ToolError: One edit cannot be made, so none is made.
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
            raise ToolError(why_missing(path, edit.old) or _missing(path, text, edit.old))
        places, is_exact = [alike], False
        note = f"matched with other trailing blanks at line {line_at(text, alike[0])}"
    _check_unique(text, places, edit, path)
    return put(text, places, edit, is_exact=is_exact), note


def why_missing(path: str, old: str) -> str:
    """Return why a file lacks ``old`` if ``old`` has the marker of a cut line, or an empty text."""
    marker = _CUT_LINE.search(old)
    if marker is None:
        return ""
    return (
        f"old contains {marker[0]!r}, which only marks that read_file cut a long line of "
        f"{quoted(path)}; use a part of the line before that marker as old"
    )


def _missing(path: str, text: str, old: str) -> str:
    return f"old text does not appear in {quoted(path)}{closest(text, old)}"


def changes_ends_only(edit: Replacement) -> bool:
    """Return whether old and new text differ only in line endings."""
    return _BREAK.sub("\n", edit.old) == _BREAK.sub("\n", edit.new)


def other_ends(path: str) -> str:
    """Return why an edit of line endings fails: the file's endings differ from the old text's."""
    return (
        f"old and new differ only in their line endings, and {quoted(path)} does not have old with "
        "those of old; nothing was changed. Write \\r\\n or \\n in old exactly as the file has it "
        "(see them with `file`, or `grep -c $'\\r'`)"
    )


def _with_other_ends(text: str, edit: Replacement, path: str) -> tuple[str, str]:
    r"""Apply other line endings as written; no match begins or ends within a ``\r\n``."""
    places = [place for place in _found(text, edit) if not any(map(_splitter(text), place))]
    if not places:
        if _places(text, edit)[0]:
            raise ToolError(other_ends(path))
        raise ToolError(_missing(path, text, edit.old))
    _check_unique(text, places, edit, path)
    where = f" in {len(places)} places" if len(places) > 1 else ""
    return put(text, places, edit, is_exact=True), f"changed only line endings{where}"


def _check_unique(
    text: str, places: Sequence[tuple[int, int]], edit: Replacement, path: str
) -> None:
    if len(places) > 1 and not edit.all:
        n_places = f"{len(places)}" if len(places) < MAX_COUNTED else f"at least {MAX_COUNTED}"
        raise ToolError(
            f"old text appears {n_places} times in {quoted(path)}, at {_lines(text, places)}; add "
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
    """Replace each match of ``edit.old`` by ``edit.new``, with the match's line endings.

    Args:
        text: The file's text, or a part of it.
        places: The bounds of the matches, ascending.
        edit: The old and the new text.
        is_exact: Whether ``edit.old`` matches with its own line endings.
        usual: The line ending to use if ``text`` is a part without a line ending after a match.
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
    """Return the edit with the characters and tags that the model saw escaped (INJ-06)."""
    old, new = (with_tags(restored(one, text)) for one in (edit.old, edit.new))
    return msgspec.structs.replace(edit, old=old, new=new)


def _places(text: str, edit: Replacement) -> tuple[list[tuple[int, int]], bool]:
    """Return the bounds of the matches of ``old``, and whether ``old`` matches exactly."""
    if "\r" not in text and "\r" not in edit.old:
        return _found(text, edit), True
    exact = [place for place in _found(text, edit) if not any(map(_splitter(text), place))]
    if (exact and not edit.all) or not _BREAK.search(edit.old):
        return exact, True
    old = _BREAK.sub("\n", edit.old)
    n_pairs = text.count("\r\n")
    if n_pairs == text.count("\n") == text.count("\r"):  # All lines have the same ending.
        return _found(text, msgspec.structs.replace(edit, old=old.replace("\n", "\r\n"))), False
    # Each CRLF has one character less in the text with ``\n``.
    pairs = [pair.start() - number for number, pair in enumerate(re.finditer("\r\n", text))]
    return [
        (start + bisect.bisect_left(pairs, start), stop + bisect.bisect_left(pairs, stop))
        for start, stop in _found(_BREAK.sub("\n", text), msgspec.structs.replace(edit, old=old))
    ], False


def _found(text: str, edit: Replacement) -> list[tuple[int, int]]:
    """Return the matches of ``old``; overlapping matches show that ``old`` is not unique."""
    size = len(edit.old)
    step = size if edit.all else 1  # Matches may overlap: "aa" occurs twice in "aaa".
    places: list[tuple[int, int]] = []
    start = text.find(edit.old)
    while start >= 0 and (edit.all or len(places) < MAX_COUNTED):
        places.append((start, start + size))
        start = text.find(edit.old, start + step)
    return places


def _splitter(text: str) -> Callable[[int], bool]:
    """Return a function that says whether an offset is between the characters of a CRLF."""
    return lambda offset: offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def _with_line_end(text: str, start: int, stop: int) -> int:
    """Return where a deletion ends; a deletion of whole lines includes the last line break.

    Other agents behave the same way (`edit_real.jsonl`, "exact_but_post_processed").
    """
    begins = start == 0 or text[start - 1] in "\r\n"
    line_end = _BREAK.match(text, stop)
    ends_open = text[stop - 1] not in "\r\n"
    return line_end.end() if begins and ends_open and line_end is not None else stop


def _with_endings(text: str, edit: Replacement, offset: int, endings: _Endings) -> str:
    """Return the new text with the line endings of the replaced ``text``, line by line."""
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
    """Return the length of the common beginning of two sequences."""
    n_same = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        n_same += 1
    return n_same


class _Endings:
    """The line endings of a text, looked up at ascending offsets."""

    def __init__(self, text: str, last: str | None) -> None:
        self._text = text
        self._last = last
        self._start = -1  # The position of the last line ending found.
        self._ending = ""
        self._is_last = False

    def at(self, offset: int) -> str:
        """Return the next line ending from ``offset`` on, or the previous one, or a line feed."""
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


def closest(text: str, old: str) -> str:
    """Describe the parts of a text that resemble ``old``, the best first, with their lines."""
    wanted = [line.rstrip("\r\n") for line in split_lines(old)]
    if wanted and all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return "; leave out the line numbers and tabs that read_file puts before each line"
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    starts = _by_equal_lines(lines, wanted) or _by_likeness(lines, wanted)
    if not starts:
        return "; read_file it again, nothing there is like it"
    there = lines[starts[0] : starts[0] + len(wanted)]
    words = f"; {_difference(there, wanted)}the closest place is line {starts[0] + 1}:\n"
    words += _numbered(lines, starts[0], min(len(wanted), SHOWN_LINES))
    for start in starts[1:]:
        words += f"\nanother is line {start + 1}:\n"
        words += _numbered(lines, start, min(len(wanted), OTHER_LINES))
    return words


def _difference(there: Sequence[str], wanted: Sequence[str]) -> str:
    """Name the difference, if there is exactly one."""
    if _alike(there, wanted, _squeezed):
        return f"only white space differs{_indentation(there, wanted)}; "
    if _alike(there, wanted, _composed):
        return (
            "only the form of some characters differs (Unicode NFC and NFD), so copy them from "
            "read_file; "
        )
    if _alike(there, wanted, lambda text: _squeezed(text.translate(_QUOTES))):
        return "only quotation marks differ; "
    return "only case differs; " if _alike(there, wanted, str.casefold) else ""


def _indentation(there: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the difference in indentation, if all lines have the same difference."""
    pairs = [pair for pair in zip(there, wanted, strict=False) if pair[0].strip()]
    if any(one.strip() != other.strip() for one, other in pairs):
        return ""
    amounts = {len(_indent(one)) - len(_indent(other)) for one, other in pairs}
    kinds = {char for pair in pairs for line in pair for char in _indent(line)}
    if len(amounts) != 1 or amounts == {0} or len(kinds) != 1:
        return ""
    (amount,), (kind,) = amounts, kinds
    word = {" ": "space", "\t": "tab"}.get(kind, "blank") + ("s" if abs(amount) > 1 else "")
    return f", each line is indented by {abs(amount)} {word} {'more' if amount > 0 else 'less'}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _alike(there: Sequence[str], wanted: Sequence[str], plain: Callable[[str], str]) -> bool:
    """Return whether ``there`` has the wanted lines, apart from characters that ``plain`` removes.

    The first and last wanted lines may be parts of lines.
    """
    return plain("\n".join(wanted)).strip() in plain("\n".join(there))


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _numbered(lines: Sequence[str], start: int, n_lines: int) -> str:
    there = enumerate(lines[start : start + n_lines], start + 1)
    text = "\n".join(f"{number}\t{line}" for number, line in there)
    return shown(text if len(text) <= SHOWN_CHARS else untorn(text[:SHOWN_CHARS]))


def _by_equal_lines(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return positions with the most lines of ``wanted``, ignoring white space; best first."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(map(_squeezed, wanted)):
        if line:
            places.setdefault(line, []).append(number)
    votes: dict[int, int] = {}
    for number, line in enumerate(map(_squeezed, lines)):
        for wanted_number in places.get(line, ())[:MAX_VOTES]:
            start = max(number - wanted_number, 0)
            # A lone brace is weak evidence for a position; a long line is strong evidence.
            votes[start] = votes.get(start, 0) + min(len(line), 40)
    if not votes:
        return []
    best = sorted(votes, key=lambda start: (-votes[start], start))[: 4 * MOST_SIMILAR]
    chosen = [best[0]]
    for start in best[1:]:
        is_apart = all(abs(start - other) >= len(wanted) for other in chosen)
        if is_apart and 3 * votes[start] >= 2 * votes[best[0]]:
            chosen.append(start)
    return chosen[:MOST_SIMILAR]


def _by_likeness(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return positions of lines like the longest line of ``wanted``; best first."""
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return []
    query = _plain_start(wanted[number])
    found = _extract()(query, map(_plain_start, lines), score_cutoff=LIKENESS, limit=MOST_SIMILAR)
    if not found:
        return []
    good = [(at, score) for _, score, at in found if score > found[0][1] - 10]
    return [max(at - number, 0) for at, _ in good]


def _plain_start(line: str) -> str:
    """Return a line for comparison, without differences of quotes, case and character form."""
    start = line.strip()[:FUZZY_CHARS]
    return start if start.isascii() else _composed(start.translate(_QUOTES))


@cache
def _extract() -> Callable[..., Any]:
    from rapidfuzz.process import extract  # noqa: PLC0415 # 15 ms that start-up need not pay

    return extract


MOST_EXAMINED = 1_000  # At most 1,000 positions of one line are examined.


BLANKS = " \t\r\n"


def find_alike(text: str, old: str) -> tuple[int, int] | None:
    """Return the only match of ``old``, ignoring trailing blanks, or None for several or none."""
    wanted = [line.rstrip(BLANKS) for line in split_lines(old)]
    number = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()), default=None)
    if number is None or not wanted[number].strip():
        return None
    if not 0 < text.count(wanted[number]) <= MOST_EXAMINED:
        return None
    lines = split_lines(text)
    plain = [line.rstrip(BLANKS) for line in lines]
    found: int | None = None
    for first in _candidates(plain, wanted[number], number):
        if plain[first : first + len(wanted)] != wanted:
            continue
        if found is not None:
            return None
        found = first
    if found is None:
        return None
    start = sum(map(len, lines[:found]))
    there = lines[found : found + len(wanted)]
    stop = start + sum(map(len, there))
    if not old.endswith(("\n", "\r")):
        stop -= len(there[-1]) - len(there[-1].rstrip("\r\n"))
    return start, stop


def _candidates(lines: Sequence[str], line: str, number: int) -> Iterator[int]:
    """Yield first lines of possible matches; ``line`` is the wanted line at index ``number``."""
    at = number - 1
    while True:
        try:
            at = lines.index(line, at + 1)
        except ValueError:
            return
        # The number is not negative, because a slice would then begin at the end.
        yield at - number
