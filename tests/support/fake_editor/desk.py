"""Holds the fake editor's open buffers, applies the user's actions, and notifies the server.

The module does not depend on the transport: ``notify`` sends the notifications.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types

from support.fake_editor.buffer import Buffer, Places, Span, spliced, usual_ending, with_ending
from support.fake_editor.profiles import Behaviour

Notify: TypeAlias = Callable[[str, object], None]
"""Takes the method and the params of a notification."""

_Changes: TypeAlias = list[types.TextDocumentContentChangeEvent]


class Desk:
    """All open buffers of one editor.

    Args:
        notify: Sends a notification to the server.
        behaviour: The behaviour of this kind of editor.
        encoding: The negotiated position encoding.

    Attributes:
        formatter: Formats a text, if the behaviour says so.
    """

    def __init__(
        self, notify: Notify, behaviour: Behaviour | None = None, *, encoding: str = "utf-16"
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.encoding = encoding
        self.buffers: dict[str, Buffer] = {}
        self.formatter: Callable[[str], str] = lambda text: text
        self._notify = notify
        self._untold: dict[str, _Changes] = {}

    def open(self, path: Path, language: str = "python", *, text: str | None = None) -> Buffer:
        """Open a file; ``text`` is its unsaved text in the editor, if it differs from the disk."""
        saved = path.read_bytes().decode() if path.exists() else ""
        shown = saved if text is None else text
        ending = usual_ending(shown) if self.behaviour.one_ending else ""
        shown = with_ending(shown, ending)
        # Unified line endings are no change until the user makes a change.
        on_disk = with_ending(saved, ending)
        buffer = Buffer(uri=path.as_uri(), path=path, text=shown, saved=on_disk, ending=ending)
        self.buffers[buffer.uri] = buffer
        item = types.TextDocumentItem(
            uri=buffer.uri, language_id=language, version=buffer.version, text=shown
        )
        self._notify(
            types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(text_document=item)
        )
        return buffer

    def close(self, buffer: Buffer) -> None:
        """Close a buffer and discard unsaved text."""
        self.tell()
        del self.buffers[buffer.uri]
        identifier = types.TextDocumentIdentifier(uri=buffer.uri)
        self._notify(
            types.TEXT_DOCUMENT_DID_CLOSE,
            types.DidCloseTextDocumentParams(text_document=identifier),
        )

    def replace(self, buffer: Buffer, spans: Sequence[Span]) -> None:
        """Replace ascending spans, as one step of undo."""
        spans = [span._replace(text=with_ending(span.text, buffer.ending)) for span in spans]
        places = Places(buffer.text, self.encoding)
        # The last span comes first, so that no change moves the positions of another.
        changes: _Changes = [_partial(places, span) for span in reversed(spans)]
        buffer.take(spliced(buffer.text, spans))
        self._changed(buffer, changes)

    def rewrite(self, buffer: Buffer, text: str) -> None:
        """Replace the whole text, as one step of undo."""
        buffer.take(with_ending(text, buffer.ending))
        self._changed(buffer, None)

    def undo(self, buffer: Buffer) -> None:
        """Undo one step; nothing happens if there is none."""
        if buffer.back():
            self._changed(buffer, None)

    def redo(self, buffer: Buffer) -> None:
        """Redo one step; nothing happens if there is none."""
        if buffer.forth():
            self._changed(buffer, None)

    def save(self, buffer: Buffer) -> None:
        """Write a buffer to disk, formatted if the editor does so."""
        if self.behaviour.formats_on_save:
            self.format(buffer)
        self.tell()
        buffer.path.write_bytes(buffer.text.encode())
        buffer.saved = buffer.text
        identifier = types.TextDocumentIdentifier(uri=buffer.uri)
        self._notify(
            types.TEXT_DOCUMENT_DID_SAVE, types.DidSaveTextDocumentParams(text_document=identifier)
        )

    def format(self, buffer: Buffer) -> None:
        """Run the formatter; a change is a separate step of undo."""
        text = self.formatter(buffer.text)
        if text != buffer.text:
            self.rewrite(buffer, text)

    def noticed_disk(self) -> None:
        """Reload changed files into buffers without changes, if the editor does so."""
        for buffer in list(self.buffers.values()):
            if self.behaviour.reloads and not buffer.dirty and buffer.path.exists():
                self.reload(buffer)

    def reload(self, buffer: Buffer) -> None:
        """Show the text on disk; one undo step restores unsaved text."""
        text = with_ending(buffer.path.read_bytes().decode(), buffer.ending)
        buffer.saved = text
        if text != buffer.text:
            self.rewrite(buffer, text)

    def create(self, path: Path, *, empty: bool) -> None:
        """Create a file and its folders, or empty an existing file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if empty or not path.exists():
            path.write_bytes(b"")

    def delete(self, path: Path) -> None:
        """Delete a file and close its buffer, if they exist."""
        path.unlink(missing_ok=True)
        buffer = self.buffers.get(path.as_uri())
        if buffer is not None:
            self.close(buffer)

    def tell(self) -> None:
        """Send the collected changes to the server."""
        for uri, changes in list(self._untold.items()):
            del self._untold[uri]
            self._tell_change(self.buffers[uri], changes)

    def _changed(self, buffer: Buffer, changes: _Changes | None) -> None:
        if changes is None or self.behaviour.whole:
            changes = [types.TextDocumentContentChangeWholeDocument(text=buffer.text)]
        if self.behaviour.late:
            self._untold.setdefault(buffer.uri, []).extend(changes)
        else:
            self._tell_change(buffer, changes)

    def _tell_change(self, buffer: Buffer, changes: _Changes) -> None:
        identifier = types.VersionedTextDocumentIdentifier(uri=buffer.uri, version=buffer.version)
        self._notify(
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.DidChangeTextDocumentParams(text_document=identifier, content_changes=changes),
        )


def _partial(places: Places, span: Span) -> types.TextDocumentContentChangePartial:
    range_ = types.Range(start=places.position(span.start), end=places.position(span.end))
    return types.TextDocumentContentChangePartial(range=range_, text=span.text)
