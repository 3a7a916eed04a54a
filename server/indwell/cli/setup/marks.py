"""A part of a text file that is setup's, between two marks in comments. Pure."""

from __future__ import annotations

from indwell.cli.setup.refusing import CannotMerge

_BEGIN = "{} >>> indwell setup (this part is written by `indwell setup`; --remove takes it out)"
_END = "{} <<< indwell setup"


def block(text: str, comment: str) -> str:
    """The part with its marks."""
    return f"{_BEGIN.format(comment)}\n{text.rstrip()}\n{_END.format(comment)}\n"


def find(whole: str, comment: str) -> tuple[int, int] | None:
    """Where the part stands, its last line's end with it; None without any marks.

    Raises:
        CannotMerge: Not exactly one beginning that is followed by one end, each a whole line.
    """
    begin, end = _BEGIN.format(comment), _END.format(comment)
    if begin not in whole and end not in whole:
        return None
    lines = whole.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if begin in line]
    ends = [number for number, line in enumerate(lines) if end in line]
    is_whole = len(begins) == len(ends) == 1 and begins < ends
    if not is_whole or (lines[begins[0]].rstrip(), lines[ends[0]].rstrip()) != (begin, end):
        raise CannotMerge("the marks of an earlier setup are damaged or doubled")
    start = sum(map(len, lines[: begins[0]]))
    return start, start + sum(map(len, lines[begins[0] : ends[0] + 1]))


def gap(before: str) -> str:
    """What goes between the user's text and the part: an empty line."""
    if not before or before.endswith("\n\n"):
        return ""
    return "\n" if before.endswith("\n") else "\n\n"


def take(whole: str, start: int, end: int, added: str) -> str:
    """The text without the part, and without the ``added`` line ends before it."""
    head, tail = whole[:start], whole[end:]
    if added and head.endswith("\n\n"):  # else the user has taken the empty line out
        head = head[: -len(added)]
    needs_end = head and tail and not head.endswith("\n")
    return f"{head}\n{tail}" if needs_end else head + tail
