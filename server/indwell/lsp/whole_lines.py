"""Edits that mean the same in every position encoding, for editors that do not say which. Pure.

An editor that names no encoding counts utf-16 code units, says the protocol. lsp-mode 8.0 counts
characters and ALE 3.3 bytes (both seen in the tests of real editors), and an edit behind an emoji
lands in the wrong place. Before the first character that is not ASCII all counts are equal, and
so they are where a line begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from indwell.workspace.comparing.diff import TextEdit

_ENDS = "\r\n"


def whole_lines(text: str, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The same change; ends behind a character that is no ASCII move to where a line begins.

    Args:
        text: That the edits are of.
        edits: Ascending, without overlap.
    """
    made: list[TextEdit] = []
    for start, stop, new in edits:
        first, last = _start_of(text, start), _stop_of(text, stop)
        wide = TextEdit(first, last, text[first:start] + new + text[stop:last])
        if made and made[-1].stop > wide.start:
            wide = _joined(text, made.pop(), wide, start)
        made.append(wide)
    return tuple(made)


def _joined(text: str, before: TextEdit, behind: TextEdit, start: int) -> TextEdit:
    """Two that overlap: the second begins at ``start``, in a line that the first ends in or beyond.

    What the first put back of that line behind its own change is text up to its stop, and may go
    beyond ``start``; where it ends sooner, what stands between them stays. The second put back what
    stands between its own first place and ``start``.
    """
    beyond = max(0, before.stop - start)
    kept = before.text[: len(before.text) - beyond] + text[before.stop : start]
    return TextEdit(before.start, behind.stop, kept + behind.text[start - behind.start :])


def _start_of(text: str, at: int) -> int:
    line = _line_start(text, at)
    return at if text[line:at].isascii() else line


def _stop_of(text: str, at: int) -> int:
    line = _line_start(text, at)
    if text[line:at].isascii():
        return at
    while at < len(text) and text[at] not in _ENDS:
        at += 1
    return at + 2 if text[at : at + 2] == "\r\n" else min(at + 1, len(text))


def _line_start(text: str, at: int) -> int:
    # Between the two halves of a CRLF the line has not ended yet.
    before = at - 1 if text[at - 1 : at + 1] == "\r\n" else at
    return max(text.rfind(end, 0, before) for end in _ENDS) + 1
