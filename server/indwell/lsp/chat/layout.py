r"""Where things stand in a chat document: its session, its turns, what the user is writing. Pure.

A heading of ours is a whole line at column 0, read the same inside and outside of fences; whatever
is written by anybody but the user passes ``neutral`` first, so that none of its lines is one. What
may be sent is only what stands below the last heading, and only if that is ``## You``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

YOU = "## You"
WAITING = "## You · waiting"
_TURN = "## Indwell · turn "
_MOST_DIGITS = 9

SESSION = re.compile(r"<!-- indwell: session ([0-9a-z][0-9a-z-]{0,63}) -->[ \t]*")
_SQUEEZED = 48  # characters other than blanks that tell one end of a text from another
_WINDOW = 600  # characters in which they are looked for

Kind: TypeAlias = Literal["you", "waiting", "turn"]


class Heading(NamedTuple):
    """A line of ours: from ``start`` up to ``end``, which is behind its line break."""

    kind: Kind
    turn: int
    start: int
    end: int


class Splice(NamedTuple):
    """New text for the characters from ``start`` up to ``stop``."""

    start: int
    stop: int
    text: str


class Draft(NamedTuple):
    """What the user is writing.

    Attributes:
        heading: The line above it.
        start: Where the words begin, blanks left out.
        stop: Where they end.
    """

    heading: Heading
    start: int
    stop: int


class Section(NamedTuple):
    """What stands below a turn's heading; new text of it goes to ``end``."""

    heading: Heading
    end: int


Plan: TypeAlias = Callable[[str], Sequence[Splice]]
"""What to put into a text; nothing is a plan too."""


def turn_line(turn: int) -> str:
    """The heading of a turn."""
    return f"{_TURN}{turn}"


def session_line(session: str) -> str:
    """The first line of a document that belongs to a session."""
    return f"<!-- indwell: session {session} -->"


def session_of(text: str) -> str:
    """The session that the first line names; empty if none is."""
    found = SESSION.fullmatch(text[: _line_end(text, 0)].rstrip("\r").removeprefix("\ufeff"))
    return found[1] if found else ""


def headings(text: str) -> Iterator[Heading]:
    """All headings of ours, in order."""
    at = 0 if text.startswith("## ") else text.find("\n## ") + 1
    while at or text.startswith("## "):
        found = _heading(text, at)
        if found is not None:
            yield found
        at = text.find("\n## ", at) + 1
        if not at:
            return


def backwards(text: str) -> Iterator[Heading]:
    """All headings of ours, the last one first."""
    stop = len(text)
    while (at := text.rfind("\n## ", 0, stop)) >= 0:
        found = _heading(text, at + 1)
        if found is not None:
            yield found
        stop = at + 1
    if text.startswith("## ") and (found := _heading(text, 0)) is not None:
        yield found


def draft_of(text: str) -> Draft | None:
    """What would be sent; None if the last heading is none of the user's."""
    last = next(backwards(text), None)
    if last is None or last.kind != "you":
        return None
    start, stop = last.end, len(text)
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return Draft(last, start, stop)


def section_of(text: str, turn: int, near: int | None = None) -> Section | None:
    """The newest section of a turn.

    Args:
        text: Of the document.
        turn: Its number.
        near: Where its heading stood last; looked at first.
    """
    found = None
    if near is not None and (near == 0 or text[near - 1 : near] == "\n"):
        found = _heading(text, near)
    if found is None or (found.kind, found.turn) != ("turn", turn):
        found = next((one for one in backwards(text) if one.turn == turn), None)
    if found is None:
        return None
    after = next_heading(text, found.end)
    end = len(text) if after is None else after.start
    least = found.start + len(turn_line(turn))
    while end > least and text[end - 1].isspace():
        end -= 1
    return Section(found, end)


def ends_alike(text: str, end: int, written: str) -> bool:
    """Does ``text`` end at ``end`` as what was ``written`` does, white space aside?

    Editors wrap, indent and strip blanks at the ends of lines.
    """
    there = "".join(text[max(0, end - _WINDOW) : end].split())[-_SQUEEZED:]
    ours = "".join(written[-_WINDOW:].split())[-_SQUEEZED:]
    least = min(len(there), len(ours))
    return bool(least) and there[-least:] == ours[-least:]


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Replace places that do not overlap, in ascending order."""
    pieces, at = [], 0
    for start, stop, new in sorted(splices, key=lambda one: one[:2]):
        pieces += [text[at:start], new]
        at = stop
    return "".join((*pieces, text[at:]))


def line_break(text: str) -> str:
    """The line break of a document, by its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def edited(text: str, splices: Sequence[Splice]) -> str:
    """The text with new pieces in its own line breaks."""
    end = line_break(text)
    if end == "\n":
        return spliced(text, splices)
    return spliced(text, [one._replace(text=in_breaks(one.text, end)) for one in splices])


def in_breaks(text: str, end: str) -> str:
    """A text with another line break."""
    return text.replace("\r\n", "\n").replace("\n", end)


def bound(text: str, session: str) -> tuple[Splice, ...]:
    """Let the first line name a session."""
    line = session_line(session)
    end = _line_end(text, 0)
    first = text[:end].rstrip("\r")
    if SESSION.fullmatch(first.removeprefix("\ufeff")):
        return () if first == line else (Splice(0, len(first), line),)
    return (Splice(0, 0, f"{line}\n\n"),)


def noted(text: str, note: str) -> tuple[Splice, ...]:
    """Put a paragraph of ours above the draft."""
    draft = draft_of(text)
    if draft is None:
        return (Splice(len(text), len(text), f"\n\n{note}\n\n{YOU}\n\n"),)
    return (Splice(draft.heading.start, draft.heading.start, f"{note}\n\n"),)


def content_end(text: str, heading: Heading) -> int:
    """Where what stands below a heading ends, blanks left out."""
    after = next_heading(text, heading.end)
    end = len(text) if after is None else after.start
    while end > heading.end and text[end - 1].isspace():
        end -= 1
    return end


def next_heading(text: str, start: int) -> Heading | None:
    """The first heading of ours from an offset on."""
    at = start if text.startswith("## ", start) else text.find("\n## ", max(0, start - 1)) + 1
    while at > 0 or text.startswith("## ", at):
        found = _heading(text, at)
        if found is not None and at >= start:
            return found
        at = text.find("\n## ", at) + 1
        if not at:
            return None
    return None


def _heading(text: str, start: int) -> Heading | None:
    end = _line_end(text, start)
    line = text[start : min(end, start + 80)].rstrip()
    after = min(end + 1, len(text))
    if line == YOU:
        return Heading("you", 0, start, after)
    if line == WAITING:
        return Heading("waiting", 0, start, after)
    number = line.removeprefix(_TURN)
    if number != line and number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS:
        return Heading("turn", int(number), start, after)
    return None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
