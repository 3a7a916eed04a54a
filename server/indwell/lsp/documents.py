"""The documents that the editor has open: text as the editor holds it, version, who changed it.

Own store: pygls' one splits lines at form feeds and takes milliseconds a change in a large file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pygls.uris import to_fs_path

from indwell.lsp.positions import index_in_line
from indwell.lsp.wire.sync import Change, Item, Position, Range
from indwell.workspace.base import Stamp, digest
from indwell.workspace.lines import document_lines

Dirt: TypeAlias = Literal["clean", "agent", "user"]
"""Whose text is not on disk yet: nobody's, only the agent's, or the user's too."""


@dataclass(slots=True)
class Document:
    """One open document.

    Attributes:
        uri: As the editor names it.
        path: Resolved; None for what is no file (``untitled:``).
        language: As the editor names it.
        version: As the editor counts.
        lines: With their endings, as editors count lines.
        saved: Digest of the text when it was opened or saved last: what should be on disk.
        dirt: Whose text is not on disk.
    """

    uri: str
    path: Path | None
    language: str
    version: int
    lines: list[str]
    saved: str
    dirt: Dirt = "clean"
    _text: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The whole text; joined once a change."""
        if self._text is None:
            self._text = "".join(self.lines)
        return self._text

    @property
    def stamp(self) -> Stamp:
        """Identifies exactly this text."""
        return Stamp(digest=digest(self.text), version=self.version)

    def apply(self, changes: Sequence[Change], version: int, encoding: str) -> None:
        """Apply the changes of one notification, in order."""
        for change in changes:
            if change.range is not None:
                self._splice(change.range, change.text, encoding)
            else:
                self.lines = document_lines(change.text)
        self.version = version
        self.dirt = "user"
        self._text = None

    def _splice(self, range_: Range, text: str, encoding: str) -> None:
        """Replace a range; work in proportion to the lines it touches.

        Whatever the positions are, they mean a place: outside the document its end, in the wrong
        order the range between them (as VS Code's own documents do).
        """
        lines = self.lines
        start, end = range_.start, range_.end
        if (start.line, start.character) > (end.line, end.character):
            start, end = end, start
        if end.line < 0:  # no line is: the start of the document, as in VS Code
            start = end = Position(line=0, character=0)
        elif start.line < 0:
            start = Position(line=0, character=0)
        if start.line >= len(lines):
            start = end = Position(line=len(lines) - 1, character=1 << 30)
        elif end.line >= len(lines):
            end = Position(line=len(lines) - 1, character=1 << 30)
        head = lines[start.line][: index_in_line(lines[start.line], start.character, encoding)]
        tail = lines[end.line][index_in_line(lines[end.line], end.character, encoding) :]
        # A "\r" in front and a "\n" behind may meet, so neighbours are split again with it.
        first, last = start.line, end.line
        if first > 0 and lines[first - 1].endswith("\r"):
            first -= 1
            head = lines[first] + head
        fresh = document_lines(head + text + tail)
        if last + 1 < len(lines) and not fresh[-1]:
            fresh.pop()
        if not tail and last + 1 < len(lines) and fresh and not fresh[-1].endswith(("\r", "\n")):
            last += 1
            fresh[-1:] = document_lines(fresh[-1] + lines[last])
            if last + 1 < len(lines) and not fresh[-1]:
                fresh.pop()
        lines[first : last + 1] = fresh


class Documents:
    """All open documents by URI, and a way to wait until one changes."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._by_uri: dict[str, Document] = {}
        self._changed = asyncio.Event()
        self.newest: str | None = None

    def __iter__(self) -> Iterator[Document]:
        return iter(self._by_uri.values())

    def get(self, uri: str) -> Document | None:
        """The open document with this URI."""
        return self._by_uri.get(uri)

    def at(self, path: Path) -> Document | None:
        """The open document of this file (resolved path)."""
        return next((one for one in self._by_uri.values() if one.path == path), None)

    def open(self, item: Item) -> Document:
        """Take a document that the editor opened; a second didOpen starts it anew."""
        document = Document(
            uri=item.uri,
            path=path_of(item.uri),
            language=item.language_id,
            version=item.version,
            lines=document_lines(item.text),
            saved=digest(item.text),
        )
        self._by_uri.pop(item.uri, None)  # opened again: now it is the newest
        self._by_uri[item.uri] = document
        if _is_looked_at(item.uri):
            self.newest = item.uri
        self._tell()
        return document

    def change(self, uri: str, version: int | None, changes: Sequence[Change]) -> None:
        """Apply a didChange; one for a document that is not open is ignored."""
        document = self._by_uri.get(uri)
        if document is not None:
            known = document.version if version is None else version
            document.apply(changes, known, self.encoding)
            self._tell()

    def saved(self, uri: str) -> None:
        """The editor wrote the document to disk."""
        document = self._by_uri.get(uri)
        if document is not None:
            document.saved, document.dirt = digest(document.text), "clean"
            self._tell()

    def close(self, uri: str) -> None:
        """The editor closed the document; from now on the disk holds the truth."""
        self._by_uri.pop(uri, None)
        if self.newest == uri:
            self.newest = next(filter(_is_looked_at, reversed(self._by_uri)), None)
        self._tell()

    async def changed(self) -> None:
        """Wait until any document is opened, changed, saved or closed."""
        await self._changed.wait()

    def _tell(self) -> None:
        """Wake everybody who waits now; later waiters wait for the next change."""
        self._changed.set()
        self._changed = asyncio.Event()


def _is_looked_at(uri: str) -> bool:
    """Could a user have opened it? Editors open other schemes for peeks and for the background."""
    return uri.startswith(("file:", "untitled:"))


def name_in(uri: str) -> str:
    """The path that a URI of any scheme names, as it is written: for rules that go by names."""
    return unquote(urlsplit(uri).path)


def path_of(uri: str) -> Path | None:
    """The resolved path of a ``file:`` URI; None for any other."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    try:
        return Path(path).resolve() if path else None
    except ValueError:
        return None  # a NUL, or half of a character: no file has such a name
