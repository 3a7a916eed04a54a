"""The fake editor's buffers: text, version, undo steps, and how an edit changes them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from indwell.lsp.positions import to_offset
from indwell.workspace.lines import document_lines


@dataclass(slots=True)
class Buffer:
    """One open document as an editor holds it; ``undo`` has the texts before each step."""

    uri: str
    path: Path
    text: str
    version: int = 1
    dirty: bool = False
    undo: list[str] = field(default_factory=list)


def lines_range(first: int, last: int) -> types.Range:
    """The range of whole lines from ``first`` to ``last``, 1-based, inclusive."""
    return types.Range(
        start=types.Position(line=first - 1, character=0),
        end=types.Position(line=last, character=0),
    )


def edited(text: str, change: types.TextDocumentEdit, encoding: str) -> str:
    """Apply edits that all speak of the same text; from the end, so that offsets stay true."""
    lines = document_lines(text)
    spans = [
        (
            to_offset(lines, one.range.start, encoding),
            to_offset(lines, one.range.end, encoding),
            one.new_text,
        )
        for one in change.edits
        if isinstance(one, types.TextEdit | types.AnnotatedTextEdit)
    ]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text
