"""A page of a large file: some of its lines, as much of each as is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from indwell.workspace.encoding.decoding import stray_words
from indwell.workspace.large import Large
from indwell.workspace.line_index import LineIndex, line_ends, start_of
from indwell.workspace.text import PIECE


class Line(msgspec.Struct, frozen=True):
    """The beginning of a line, without its end, and how many bytes of it are left out."""

    text: str
    more_b: int = 0


class Page(msgspec.Struct, frozen=True):
    """Some lines of a large file.

    Attributes:
        path: Absolute, resolved.
        lines: What was asked for, or as much of it as fits.
        n_lines: Of the whole file.
        size_b: Bytes of the whole file.
        digest: Of the whole file's bytes.
        notes: Sentences for the model.
    """

    path: Path
    lines: tuple[Line, ...]
    n_lines: int
    size_b: int
    digest: str
    notes: tuple[str, ...] = ()


def page_of(large: Large, first: int, n_lines: int, *, line_b: int, total_b: int) -> Page:
    """Lines of the file from ``first`` (from 0), each cut to ``line_b`` bytes."""
    lines: list[Line] = []
    if first < large.index.n_lines:
        for start, stop in _lines(large, start_of(first, large.index, large.read)):
            line = _line(large, start, stop, line_b)
            total_b -= len(line.text) + 1
            if total_b < 0:
                break
            lines.append(line)
            if len(lines) == n_lines:
                break
    return Page(
        path=large.path,
        lines=tuple(lines),
        n_lines=large.index.n_lines,
        size_b=large.size_b,
        digest=large.index.digest,
        notes=tuple(_notes(large.index)),
    )


def _lines(large: Large, start: int) -> Iterator[tuple[int, int]]:
    """From and to of each line that begins at ``start`` or later, with its end."""
    line = start
    for at in range(start, large.size_b, PIECE):
        for end in line_ends(large.read(at, PIECE + 1), PIECE):
            yield line, at + end
            line = at + end
    if line < large.size_b:
        yield line, large.size_b


def _line(large: Large, start: int, stop: int, line_b: int) -> Line:
    data = large.read(start, min(stop - start, line_b))
    if stop - start <= line_b:
        return Line(large.decoded(data.rstrip(b"\r\n")))
    cut = large.whole(start + line_b) - start
    return Line(large.decoded(data[:cut]), more_b=stop - start - cut)


def _notes(index: LineIndex) -> Iterator[str]:
    if index.is_guess:
        yield f"read as {index.encoding}, which is a guess"
    elif index.encoding != "utf-8":
        yield f"the file is in {index.encoding}, as declared"
    if index.n_stray:
        yield stray_words(index.n_stray, index.encoding)
