"""Converts a notebook (``.ipynb``) to a text of cells, and edits of the text to JSON. Pure.

Each cell begins with a line such as ``# %% [code]``. Outputs, metadata and ids are not in the text.
An edit replaces only the source of the changed cells; every other byte of the JSON is unchanged.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined] # has no stub
from typing import Any, NamedTuple

from indwell import edges
from indwell.lazy_pattern import lazy_pattern

SUFFIX = ".ipynb"
KINDS = ("code", "markdown", "raw")
MOST_COMPARED = 1_000  # In notebooks with more cells, a frequent cell identifies no position.
MOST_NAMED = 100  # A note names the first lines of at most 100 cells.
_MARK = lazy_pattern(r"^# %% \[(code|markdown|raw)\][ \t]*$", re.MULTILINE)
_SPACE = lazy_pattern(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_NEWEST = (4, 5)  # A new notebook has this version, the first version in which cells have ids.


class NotebookCell(NamedTuple):
    """A cell: its kind, and its source with line breaks as in the notebook."""

    kind: str
    source: str


class _Span(NamedTuple):
    """A value in a JSON text, and the value's position."""

    value: Any
    start: int
    stop: int


def cells_text(cells: Sequence[NotebookCell]) -> str | None:
    """Return cells as one text, or None if a cell's source would be read as several cells."""
    if any(_MARK.search(one.source) for one in cells):
        return None
    return "".join(f"# %% [{one.kind}]\n{one.source}\n" for one in cells)


def cells_of(text: str) -> tuple[NotebookCell, ...]:
    """Parse a text of cells.

    Raises:
        ValueError: The text does not begin with a cell.
    """
    marks = list(_MARK.finditer(text))
    head = text[: marks[0].start()] if marks else text
    if head.strip():
        raise ValueError(
            "the text of a notebook begins with a line '# %% [code]', '# %% [markdown]' or "
            "'# %% [raw]', and so does each of its cells"
        )
    if not marks:
        return ()
    ends = [*(one.start() for one in marks[1:]), len(text)]
    bodies = (text[mark.end() + 1 : end] for mark, end in zip(marks, ends, strict=True))
    return tuple(
        NotebookCell(mark[1], body.removesuffix("\n"))
        for mark, body in zip(marks, bodies, strict=True)
    )


def notebook_text(raw: str) -> str | None:
    """Return a notebook's JSON as a text of cells, or None if Indwell cannot edit the notebook."""
    try:
        cells = [_cell(one.value) for one in _cells_in(raw)]
    except (ValueError, RecursionError):
        return None
    return cells_text(cells)


def cell_lines(text: str) -> tuple[int, ...]:
    """Return the first line of each cell's source in a text of cells, from 1."""
    lines, last, found = 1, 0, []
    for mark in _MARK.finditer(text):
        lines += text.count("\n", last, mark.start())
        last = mark.start()
        found.append(lines + 1)
    return tuple(found)


def about_cells(text: str) -> str:
    """Return the note for the model that explains a text of cells."""
    lines = cell_lines(text)
    named = ", ".join(str(one) for one in lines[:MOST_NAMED])
    more = ", …" if len(lines) > MOST_NAMED else ""
    begin = f"; their sources begin in lines {named}{more}" if lines else ""
    many = "1 cell" if len(lines) == 1 else f"{len(lines)} cells"
    return f"a notebook of {many} as text, outputs left out{begin}"


def new_notebook(text: str) -> str:
    """Return the JSON of a new notebook with these cells; JSON of a notebook stays unchanged.

    Raises:
        ValueError: The text is neither cells nor the JSON of a notebook.
    """
    if text.lstrip().startswith("{") and notebook_text(text) is not None:
        return text
    major, minor = _NEWEST
    cells = [_new_cell(one, has_ids=True) for one in cells_of(text)]
    whole = {"cells": cells, "metadata": {}, "nbformat": major, "nbformat_minor": minor}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def with_cells(raw: str, text: str) -> str:
    """Return a notebook's JSON with the cells of ``text``; unchanged cells keep every byte.

    A text that is itself the JSON of a notebook replaces the whole JSON.

    Raises:
        ValueError: The text has no cells, or the JSON is not a notebook.
    """
    if text.lstrip().startswith("{"):
        return new_notebook(text)
    spans = _cells_in(raw)
    old, new = [_cell(one.value) for one in spans], cells_of(text)
    style = _Style(raw, spans)
    made: list[str] = []
    for at, cell in zip(_partners(old, new), new, strict=True):
        if at is None:
            made.append(style.cell(_new_cell(cell, has_ids=style.has_ids)))
        elif old[at] == cell:
            made.append(raw[spans[at].start : spans[at].stop])
        else:
            made.append(_with_source(raw, spans[at], cell.source, style))
    return style.joined(made)


def _partners(old: Sequence[NotebookCell], new: Sequence[NotebookCell]) -> Iterator[int | None]:
    """Yield for each new cell the old cell that it continues, or None for an added cell."""
    same = 0  # Equal cells at the beginning are skipped, because comparing many cells takes long.
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    yield from range(same)
    few = max(len(old), len(new)) - same <= MOST_COMPARED
    matcher = difflib.SequenceMatcher(None, old[same:], new[same:], autojunk=not few)
    for what, first, last, start, stop in matcher.get_opcodes():
        left = list(range(same + first, same + last))
        for cell in new[same + start : same + stop]:
            if what == "equal":
                yield left.pop(0)
                continue
            at = next((one for one in left if old[one].kind == cell.kind), None)
            left = left if at is None else left[left.index(at) + 1 :]
            yield at


def _cell(value: object) -> NotebookCell:
    """Return the cell that this JSON describes.

    Raises:
        ValueError: The JSON is not a cell.
    """
    if not isinstance(value, dict) or value.get("cell_type") not in KINDS:
        raise ValueError("a cell of an unknown kind")
    source = value.get("source")
    if isinstance(source, list) and all(isinstance(one, str) for one in source):
        source = "".join(source)
    if not isinstance(source, str) or "\r" in source:
        raise ValueError("a source that is not text with plain line breaks")
    return NotebookCell(value["cell_type"], source)


def _new_cell(cell: NotebookCell, *, has_ids: bool) -> Mapping[str, Any]:
    value: dict[str, Any] = {"cell_type": cell.kind}
    if cell.kind == "code":
        value["execution_count"] = None
    if has_ids:
        value["id"] = edges.random_hex("cell", 4)
    value["metadata"] = {}
    if cell.kind == "code":
        value["outputs"] = []
    value["source"] = cell.source.splitlines(keepends=True)
    return value


def _cells_in(raw: str) -> list[_Span]:
    """Return the cells of a notebook of version 4, with their positions.

    Raises:
    ValueError: The JSON is not a notebook of version 4.
    """
    whole = dict(_members(raw, 0))
    if not whole or "nbformat" not in whole or whole["nbformat"].value != _NEWEST[0]:
        raise ValueError("no notebook of version 4")
    if "cells" not in whole or not isinstance(whole["cells"].value, list):
        raise ValueError("a notebook without cells")
    if raw[max(one.stop for one in whole.values()) :].strip(" \t\r\n") != "}":
        raise ValueError("text behind the notebook, which its cells would hide")
    return list(_items(raw, whole["cells"].start))


def _members(raw: str, at: int) -> Iterator[tuple[str, _Span]]:
    """Yield the members of the object at a position.

    Raises:
    ValueError: There is no object, or the object is invalid.
    """
    at = _expect(raw, _skip(raw, at), "{")
    while raw[at : at + 1] != "}":
        key, at = scanstring(raw, _expect(raw, at, '"', skip=False))
        start = _expect(raw, _skip(raw, at), ":")
        value, stop = _DECODER.raw_decode(raw, start)
        yield key, _Span(value, start, stop)
        at = _next(raw, stop, "}")


def _items(raw: str, at: int) -> Iterator[_Span]:
    at = _expect(raw, at, "[")
    while raw[at : at + 1] != "]":
        value, stop = _DECODER.raw_decode(raw, at)
        yield _Span(value, at, stop)
        at = _next(raw, stop, "]")


def _next(raw: str, at: int, end: str) -> int:
    """Return the position of the next member, or of the end."""
    at = _skip(raw, at)
    if raw[at : at + 1] == end:
        return at
    return _expect(raw, at, ",")


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return at if match is None else match.end()


def _expect(raw: str, at: int, wanted: str, *, skip: bool = True) -> int:
    if raw[at : at + 1] != wanted:
        raise ValueError(f"{wanted!r} is missing at character {at}")
    return _skip(raw, at + 1) if skip else at + 1


class _Style:
    """The format of a notebook's JSON, so that new parts look like the old parts.

    Attributes:
        has_ids: Whether the cells have ids.
    """

    def __init__(self, raw: str, spans: Sequence[_Span]) -> None:
        whole = dict(_members(raw, 0))
        self._raw, self._spans = raw, spans
        self._array = whole["cells"]
        minor = whole["nbformat_minor"].value if "nbformat_minor" in whole else 0
        self.has_ids = isinstance(minor, int) and minor >= _NEWEST[1]
        self.is_ascii = raw.isascii() and "\\u" in raw
        cells = raw[self._array.start : self._array.stop] if spans else raw.strip()
        self.is_compact = "\n" not in cells
        outer = _indent_at(raw, self._array.start)
        first = _indent_at(raw, spans[0].start) if spans else ""
        self.unit = first.removeprefix(outer) if spans and first != outer else (outer or " ")
        self.of_cell = first if spans else outer + self.unit
        self.outer = outer
        self.separators = (", ", ": ") if '": ' in raw else (",", ":")

    def value(self, value: object, indent: str) -> str:
        """Return JSON whose lines after the first begin with ``indent``."""
        if self.is_compact:
            return json.dumps(value, ensure_ascii=self.is_ascii, separators=self.separators)
        text = json.dumps(value, ensure_ascii=self.is_ascii, indent=self.unit)
        return text.replace("\n", f"\n{indent}")

    def cell(self, value: object) -> str:
        """Return the JSON of a new cell."""
        return self.value(value, self.of_cell)

    def joined(self, cells: Sequence[str]) -> str:
        """Return the whole JSON with these cells in place of the old cells."""
        raw, spans, array = self._raw, self._spans, self._array
        if len(cells) == len(spans):
            parts, last = [], 0
            for span, cell in zip(spans, cells, strict=True):
                parts += [raw[last : span.start], cell]
                last = span.stop
            return "".join((*parts, raw[last:]))
        if self.is_compact or not cells:
            body = f"[{self.separators[0].join(cells)}]"
        else:
            between = f",\n{self.of_cell}"
            body = f"[\n{self.of_cell}{between.join(cells)}\n{self.outer}]"
        return f"{raw[: array.start]}{body}{raw[array.stop :]}"


def _with_source(raw: str, span: _Span, source: str, style: _Style) -> str:
    """Return the JSON of a cell with another source, in the format of the old JSON."""
    old = dict(_members(raw, span.start))["source"]
    lines: object = source
    if isinstance(old.value, list):
        lines = source.splitlines(keepends=True)
    text = style.value(lines, _indent_at(raw, old.start))
    return f"{raw[span.start : old.start]}{text}{raw[old.stop : span.stop]}"


def _indent_at(raw: str, at: int) -> str:
    """Return the white space at the beginning of the line at a position."""
    start = raw.rfind("\n", 0, at) + 1
    match = _SPACE.match(raw, start)
    return "" if match is None else raw[start : match.end()]
