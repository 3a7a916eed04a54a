"""Implements the fake editor's buffers: text, version, undo steps, and edits. Pure."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from indwell.workspace.text import document_lines, index_in_line, units_in_line

_BREAK = re.compile(r"\r\n|\n|\r")


class Span(NamedTuple):
    """An edit: new text that replaces the code points from ``start`` to ``end``."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Buffer:
    """One open document as an editor holds it.

    Attributes:
        uri: The URI that the editor sends.
        path: The path of the saved file.
        text: The text that the user sees.
        saved: The text on disk at the last read or write.
        version: The number of changes, including changes that the editor has not sent yet.
        undo: The texts before each step.
        redo: The texts that were undone, the last one at the end.
        ending: The one line ending of the buffer; if empty, each line keeps its own line ending.
    """

    uri: str
    path: Path
    text: str
    saved: str = ""
    version: int = 1
    undo: list[str] = field(default_factory=list)
    redo: list[str] = field(default_factory=list)
    ending: str = ""

    @property
    def dirty(self) -> bool:
        """Return whether the buffer has unsaved text."""
        return self.text != self.saved

    def take(self, text: str) -> None:
        """Set the buffer's text, as one step of undo."""
        self.undo.append(self.text)
        self.redo.clear()
        self.text = text
        self.version += 1

    def back(self) -> bool:
        """Undo one step; return False if there is none."""
        return self._move(self.undo, self.redo)

    def forth(self) -> bool:
        """Redo one step; return False if there is none."""
        return self._move(self.redo, self.undo)

    def _move(self, source: list[str], target: list[str]) -> bool:
        if not source:
            return False
        target.append(self.text)
        self.text = source.pop()
        self.version += 1
        return True


class Places:
    """Converts many positions in one text.

    Args:
        text: The whole text.
        encoding: The negotiated position encoding.
    """

    def __init__(self, text: str, encoding: str) -> None:
        self._lines = document_lines(text)
        self._starts = list(accumulate(map(len, self._lines), initial=0))
        self._encoding = encoding

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position in code points, clamped to the text."""
        if position.line >= len(self._lines):
            return self._starts[-1]
        line = self._lines[position.line]
        index = index_in_line(line, position.character, self._encoding)
        return self._starts[position.line] + index

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset in code points."""
        number = min(bisect.bisect_right(self._starts, offset), len(self._lines)) - 1
        index = offset - self._starts[number]
        character = units_in_line(self._lines[number], index, self._encoding)
        return types.Position(line=number, character=character)


def lines_range(first: int, last: int) -> types.Range:
    """Return the range of the whole lines from ``first`` to ``last``, 1-based, inclusive."""
    return types.Range(
        start=types.Position(line=first - 1, character=0),
        end=types.Position(line=last, character=0),
    )


def spans_of(text: str, change: types.TextDocumentEdit, encoding: str) -> list[Span]:
    """Return the spans that an edit of ``text`` replaces, in the order of the text.

    Raises:
        ValueError: The spans overlap, which the protocol forbids.
    """
    places = Places(text, encoding)
    spans = [
        Span(places.offset(one.range.start), places.offset(one.range.end), one.new_text)
        for one in change.edits
        if isinstance(one, types.TextEdit | types.AnnotatedTextEdit)
    ]
    # A stable sort keeps the order of insertions at one position.
    spans.sort(key=lambda span: span[:2])
    for before, after in pairwise(spans):
        if before.end > after.start:
            raise ValueError(f"edits overlap at offset {after.start}")
    return spans


def spliced(text: str, spans: Iterable[Span]) -> str:
    """Return the text with ascending spans replaced; the spans do not overlap."""
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], span.text]
        at = span.end
    return "".join([*pieces, text[at:]])


def edited(text: str, change: types.TextDocumentEdit, encoding: str) -> str:
    """Return the text after edits whose positions all refer to ``text``."""
    return spliced(text, spans_of(text, change, encoding))


def usual_ending(text: str) -> str:
    r"""Return the line ending of most lines; ``\n`` if there are no lines."""
    found: Sequence[str] = _BREAK.findall(text)
    return max(("\n", "\r\n"), key=found.count)


def with_ending(text: str, ending: str) -> str:
    """Return the text with one line ending; unchanged if ``ending`` is empty."""
    return _BREAK.sub(ending, text) if ending else text
