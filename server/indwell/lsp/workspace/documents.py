"""Tracks the editor's open documents: text, version, name, and the author of changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from indwell.context.untrusted_text import one_line
from indwell.errors import ToolError
from indwell.files.disk_names import true_path
from indwell.files.spelling import plain_path
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire.sync import OpenedDocument, Position, TextChange
from indwell.lsp.workspace.line_blocks import LineBlocks
from indwell.service.mentions import is_chat
from indwell.workspace.base import TextStamp, digest
from indwell.workspace.paths import display
from indwell.workspace.text import document_lines

Dirt: TypeAlias = Literal["clean", "agent", "user"]
"""Who made a buffer's unsaved changes: nobody, only the agent, or also the user."""

LONG = 65_536  # slow work on a text with more characters is done in a thread


@dataclass(slots=True, eq=False)
class Document:
    """One open document.

    Attributes:
        uri: The editor's URI.
        path: The resolved path, or None if there is no file (``untitled:``).
        language: The editor's language id.
        version: The editor's version number.
        body: The text of the document.
        dirt: The author of the unsaved changes; "clean" if there are none.
        is_stale: Whether changes came in an impossible order, so that the text may be wrong.
        n_agreed: The number of times that the document's text was the text on disk: opened or
            saved.
        n_edits: The number of agent's edits that the editor is applying; meanwhile, changes are not
            typing.
        by_agent: In a chat, the non-blank lines that the agent has written.
        is_chat: Whether the document is a chat with the agent.
    """

    uri: str
    path: Path | None
    language: str
    version: int
    body: LineBlocks
    dirt: Dirt = "clean"
    is_stale: bool = False
    n_agreed: int = 0
    n_edits: int = 0
    by_agent: set[str] = field(default_factory=set, repr=False)
    is_chat: bool = field(init=False)
    _digest: str | None = field(default=None, repr=False)
    # The value is None until the digest is computed.
    _origin: str | None = field(default=None, repr=False)
    _origin_digest: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.is_chat = is_chat(self.uri)

    @property
    def text(self) -> str:
        """The whole text, as the same object until the next change."""
        return self.body.text

    @property
    def lines(self) -> list[str]:
        """All lines with their line ends, as editors count lines, in a new list each time."""
        return document_lines(self.text)

    @property
    def stamp(self) -> TextStamp:
        """The stamp that identifies exactly the present text."""
        if self._digest is None:
            self._digest = digest(self.text)
        return TextStamp(digest=self._digest, version=self.version)

    async def stamped(self) -> tuple[str, TextStamp]:
        """Return the present text and its stamp, computed in a thread if the text is long."""
        text, version, known = self.text, self.version, self._digest
        if known is None:
            known = await digested(text)
            self.learn(text, known)
        return text, TextStamp(digest=known, version=version)

    def learn(self, text: str, known: str) -> None:
        """Store the known digest of ``text``, if ``text`` is still the present text."""
        if self.text is text or self.text == text:
            self._digest = known

    def agrees(self, text: str) -> None:
        """Record that the file on disk has ``text``, after the document was opened or saved."""
        self._origin = text
        self.n_agreed += 1

    async def origin(self) -> str:
        """Return the digest of the text on disk at the last open or save; see ``unbroken``."""
        if self._origin is not None:
            text = self._origin
            known = await digested(text, unbroken)
            if self._origin is text:
                self._origin, self._origin_digest = None, known
            return known
        return self._origin_digest

    def apply(self, changes: Sequence[TextChange], version: int | None, encoding: str) -> None:
        """Apply the changes of one notification, in order.

        If the version does not increase, notifications were lost or reordered. The document is then
        stale until the editor sends a whole text.
        """
        for change in changes:
            if change.range is None:
                self.body = LineBlocks(change.text)
                self.is_stale = False
            else:
                start, end = change.range.start, change.range.end
                self.body.replace(
                    (start.line, start.character), (end.line, end.character), change.text, encoding
                )
        if version is not None:
            is_whole = any(change.range is None for change in changes)
            self.is_stale |= version <= self.version and not is_whole
            self.version = version
        self.dirt = "user"
        self._digest = None

    def offset(self, position: types.Position | Position, encoding: str) -> int:
        """Return the offset in code points of a position, limited to the document."""
        return self.body.offset(position.line, position.character, encoding)

    def place(self, offset: int, encoding: str) -> types.Position:
        """Return the position of an offset in code points."""
        line, character = self.body.position(offset, encoding)
        return types.Position(line=line, character=character)


async def digested(text: str, form: Callable[[str], str] = lambda text: text) -> str:
    """Return a text's digest; use a thread for a long text (1 ms per megabyte)."""
    if len(text) < LONG:
        return digest(form(text))
    return await asyncio.to_thread(lambda: digest(form(text)))


def unbroken(text: str) -> str:
    r"""Replace ``\r\n`` by ``\n``, because some editors send other line ends.

    Emacs always sends ``\n``, and VS Code makes all line ends of a buffer equal.
    """
    return text.replace("\r\n", "\n") if "\r" in text else text


class Documents:
    """All open documents by URI, with a way to wait for the next change."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._by_uri: dict[str, Document] = {}
        self._changed = asyncio.Event()
        self.newest: str | None = None
        # the URIs of documents that Indwell opened and in which the user does not work
        self.beside: set[str] = set()
        self._by_path: dict[Path, Document] = {}
        self._listeners: list[Callable[[Path], None]] = []
        self.on_typing: Callable[[], None] = lambda: None
        # the user's saves since the server's start, counted by file
        self.n_saves: Counter[Path] = Counter()

    def __iter__(self) -> Iterator[Document]:
        return iter(self._by_uri.values())

    def get(self, uri: str) -> Document | None:
        """Return the open document with this URI."""
        return self._by_uri.get(uri)

    def at(self, path: Path) -> Document | None:
        """Return the open document of a file (resolved path); of several documents, the newest."""
        return self._by_path.get(path)

    def open(self, item: OpenedDocument) -> Document:
        """Add a document that the editor opened; replace an open document with the same URI."""
        document = Document(
            uri=item.uri,
            path=path_of(item.uri),
            language=item.language_id,
            version=item.version,
            body=LineBlocks(item.text),
        )
        document.agrees(item.text)
        self._by_uri.pop(item.uri, None)  # the document was opened again, so it becomes the newest
        self._by_uri[item.uri] = document
        if document.path is not None:
            self._by_path[document.path] = document
        if self._is_looked_at(item.uri):
            self.newest = item.uri
        self._tell(document)
        return document

    def change(self, uri: str, version: int | None, changes: Sequence[TextChange]) -> None:
        """Apply a didChange, unless the document is not open."""
        document = self._by_uri.get(uri)
        if document is not None:
            document.apply(changes, version, self.encoding)
            if not document.n_edits:
                self.on_typing()
            self._tell(document)

    def saved(self, uri: str, text: str | None = None) -> None:
        """Record that the editor saved a document, with ``text`` if the editor sends the text."""
        document = self._by_uri.get(uri)
        if document is not None:
            if text is not None and (document.is_stale or document.text != text):
                document.apply([TextChange(text=text)], None, self.encoding)
            document.agrees(document.text)
            document.dirt = "clean"
            if document.path is not None:
                self.n_saves[document.path] += 1
            self._tell(document)

    def close(self, uri: str) -> None:
        """Remove a document that the editor closed; from then on, the file on disk is read."""
        document = self._by_uri.pop(uri, None)
        if self.newest == uri:
            self.newest = next(filter(self._is_looked_at, reversed(self._by_uri)), None)
        if document is not None:
            if document.path is not None and self._by_path.get(document.path) is document:
                del self._by_path[document.path]
                same = (one for one in self if one.path == document.path)
                self._by_path.update((document.path, one) for one in same)
            self._tell(document)

    async def changed(self) -> None:
        """Wait until any document is opened, changed, saved or closed."""
        await self._changed.wait()

    def newest_where(self, fits: Callable[[str], bool]) -> str | None:
        """Return the newest document in which a user may work and whose URI matches."""
        fitting = (uri for uri in reversed(self._by_uri) if self._is_looked_at(uri) and fits(uri))
        return next(fitting, None)

    @property
    def next_change(self) -> asyncio.Event:
        """The event that is set when any document is opened, changed, saved or closed."""
        return self._changed

    def on_change(self, listener: Callable[[Path], None]) -> None:
        """Call ``listener`` with each file whose buffer is opened, changed, saved or closed.

        The listener also receives files that the editor reports as changed on disk.
        """
        self._listeners.append(listener)

    def changed_on_disk(self, uris: Iterable[str]) -> None:
        """Record files that the editor reports as created, changed or deleted on disk."""
        for path in filter(None, map(path_of, uris)):
            for listener in self._listeners:
                listener(path)

    def _is_looked_at(self, uri: str) -> bool:
        """Return whether a user could work in the document, and not only look at it."""
        return uri.startswith(("file:", "untitled:")) and uri not in self.beside

    def _tell(self, document: Document) -> None:
        """Wake all tasks that wait for a change, and call the listeners."""
        if document.path is not None:
            for listener in self._listeners:
                listener(document.path)
        self._changed.set()
        self._changed = asyncio.Event()


def name_in(uri: str) -> str:
    """Return the path in a URI of any scheme, as written in the URI, for rules about names."""
    return unquote(urlsplit(uri).path)


def path_of(uri: str) -> Path | None:
    """Return the resolved path of a ``file:`` URI, in the disk's spelling, or None for others."""
    if not uri.startswith("file:"):
        return None
    try:
        path = plain_path(uri)
        return Path(true_path(path)) if path else None
    except (ValueError, ToolError):
        return None  # the name has a NUL or a lone surrogate, or the file is on another host


_CELL = "vscode-notebook-cell:"


def notebook_of(uri: str) -> Path | None:
    """Return the notebook's path in the URI of a cell in VS Code, or None for other URIs."""
    if not uri.startswith(_CELL):
        return None
    return path_of(f"file:{uri.removeprefix(_CELL).partition('#')[0]}")


def shown_name(document: Document, roots: tuple[Path, ...]) -> str:
    """Return a document's name, relative to the first of ``roots`` that contains it."""
    if document.path is not None:
        return display(document.path, roots)
    notebook = notebook_of(document.uri)
    if notebook is None:
        return one_line(document.uri)
    return f"{display(notebook, roots)} (a cell)"
