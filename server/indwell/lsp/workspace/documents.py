"""The open documents of the editor: text, version, name, and who changed them last."""

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
"""Whose changes are unsaved: nobody's, only the agent's, or also the user's."""

LONG = 65_536  # characters; slow work on a longer text is done in a thread


@dataclass(slots=True, eq=False)
class Document:
    """One open document.

    Attributes:
        uri: The editor's URI.
        path: The resolved path; None without a file (``untitled:``).
        language: The editor's language id.
        version: The editor's version number.
        body: The text.
        dirt: Who made the unsaved changes, or "clean" without unsaved changes.
        is_stale: Whether changes came in an impossible order, so that the text may be wrong.
        n_agreed: How often the document was opened or saved, by the editor or by Indwell.
        n_edits: Edits of the agent that the editor is applying; changes during them are not typing.
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
    _origin: str | None = field(default=None, repr=False)  # None until the digest is computed
    _origin_digest: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.is_chat = is_chat(self.uri)

    @property
    def text(self) -> str:
        """The whole text; the same object until the next change."""
        return self.body.text

    @property
    def lines(self) -> list[str]:
        """All lines with their endings, as editors count them; a new list each time."""
        return document_lines(self.text)

    @property
    def stamp(self) -> TextStamp:
        """Identifies exactly the present text."""
        if self._digest is None:
            self._digest = digest(self.text)
        return TextStamp(digest=self._digest, version=self.version)

    async def stamped(self) -> tuple[str, TextStamp]:
        """Return the present text and its stamp; a long text is digested in a thread."""
        text, version, known = self.text, self.version, self._digest
        if known is None:
            known = await digested(text)
            self.learn(text, known)
        return text, TextStamp(digest=known, version=version)

    def learn(self, text: str, known: str) -> None:
        """Store the known digest of ``text``, if that is still the present text."""
        if self.text is text or self.text == text:
            self._digest = known

    def agrees(self, text: str) -> None:
        """Note that the file on disk has ``text``, after the document was opened or saved."""
        self._origin = text
        self.n_agreed += 1

    async def origin(self) -> str:
        """Digest of the text on disk at the last open or save; see ``unbroken``."""
        if self._origin is not None:
            text = self._origin
            known = await digested(text, unbroken)
            if self._origin is text:
                self._origin, self._origin_digest = None, known
            return known
        return self._origin_digest

    def apply(self, changes: Sequence[TextChange], version: int | None, encoding: str) -> None:
        """Apply the changes of one notification, in order.

        A version that does not rise means that notifications were lost or reordered. Then the
        document is stale until a whole text comes (EDT-16).
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
        """Return the offset in code points of a position; clamped to the document."""
        return self.body.offset(position.line, position.character, encoding)

    def place(self, offset: int, encoding: str) -> types.Position:
        """Return the position of an offset in code points."""
        line, character = self.body.position(offset, encoding)
        return types.Position(line=line, character=character)


async def digested(text: str, form: Callable[[str], str] = lambda text: text) -> str:
    """A digest of a text; for a long text in a thread, because it takes 1 ms per megabyte."""
    if len(text) < LONG:
        return digest(form(text))
    return await asyncio.to_thread(lambda: digest(form(text)))


def unbroken(text: str) -> str:
    r"""Replace ``\r\n`` by ``\n``, because some editors send other line ends than the disk has.

    Emacs always sends ``\n``, and VS Code makes all line ends of a buffer the same.
    """
    return text.replace("\r\n", "\n") if "\r" in text else text


class Documents:
    """All open documents by URI, and a way to wait until one changes."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._by_uri: dict[str, Document] = {}
        self._changed = asyncio.Event()
        self.newest: str | None = None
        self.beside: set[str] = set()  # documents of Indwell in which the user does not work
        self._by_path: dict[Path, Document] = {}
        self._listeners: list[Callable[[Path], None]] = []
        self.on_typing: Callable[[], None] = lambda: None
        self.n_saves: Counter[Path] = Counter()  # saves by the user since the server's start

    def __iter__(self) -> Iterator[Document]:
        return iter(self._by_uri.values())

    def get(self, uri: str) -> Document | None:
        """Return the open document with this URI."""
        return self._by_uri.get(uri)

    def at(self, path: Path) -> Document | None:
        """Return the open document of a file (resolved path); of several the newest."""
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
        self._by_uri.pop(item.uri, None)  # opened again, so the document becomes the newest
        self._by_uri[item.uri] = document
        if document.path is not None:
            self._by_path[document.path] = document
        if self._is_looked_at(item.uri):
            self.newest = item.uri
        self._tell(document)
        return document

    def change(self, uri: str, version: int | None, changes: Sequence[TextChange]) -> None:
        """Apply a didChange; ignore a didChange for a document that is not open."""
        document = self._by_uri.get(uri)
        if document is not None:
            document.apply(changes, version, self.encoding)
            if not document.n_edits:
                self.on_typing()
            self._tell(document)

    def saved(self, uri: str, text: str | None = None) -> None:
        """Note that the editor saved a document, with ``text`` if the editor sends it."""
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
        """Remove a document that the editor closed; from now on its file on disk counts."""
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
        """Return the newest document in which a user may work and whose URI fits."""
        fitting = (uri for uri in reversed(self._by_uri) if self._is_looked_at(uri) and fits(uri))
        return next(fitting, None)

    @property
    def next_change(self) -> asyncio.Event:
        """An event that is set when any document is opened, changed, saved or closed."""
        return self._changed

    def on_change(self, listener: Callable[[Path], None]) -> None:
        """Call ``listener`` with each file whose buffer is opened, changed, saved or closed.

        The listener also receives files that the editor reports as changed on disk.
        """
        self._listeners.append(listener)

    def changed_on_disk(self, uris: Iterable[str]) -> None:
        """Note files that the editor reports as created, changed or deleted on disk."""
        for path in filter(None, map(path_of, uris)):
            for listener in self._listeners:
                listener(path)

    def _is_looked_at(self, uri: str) -> bool:
        """Whether a user could work in the document; editors open other schemes for previews."""
        return uri.startswith(("file:", "untitled:")) and uri not in self.beside

    def _tell(self, document: Document) -> None:
        """Wake all tasks that wait for a change."""
        if document.path is not None:
            for listener in self._listeners:
                listener(document.path)
        self._changed.set()
        self._changed = asyncio.Event()


def name_in(uri: str) -> str:
    """Return the path in a URI of any scheme, as the URI has it, for rules about names."""
    return unquote(urlsplit(uri).path)


def path_of(uri: str) -> Path | None:
    """Return the resolved path of a ``file:`` URI, in the disk's spelling; None for other URIs."""
    if not uri.startswith("file:"):
        return None
    try:
        path = plain_path(uri)
        return Path(true_path(path)) if path else None
    except (ValueError, ToolError):
        return None  # a name with a NUL or a lone surrogate, or a file on another host


_CELL = "vscode-notebook-cell:"


def notebook_of(uri: str) -> Path | None:
    """Return the path of a notebook from the URI of a cell in VS Code; None for other URIs."""
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
