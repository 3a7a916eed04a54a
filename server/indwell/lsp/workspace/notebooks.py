"""Presents the editor's open notebooks as texts; LSP sends each cell as a document.

LSP has no edit that adds or removes cells. The text of a cell is therefore changed in the editor,
and other changes of cells are made in the file, which the editor then loads again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.lsp.wire import sync
from indwell.lsp.workspace.buffer_edits import BufferEdits
from indwell.lsp.workspace.documents import Document, Documents, path_of, unbroken
from indwell.workspace.base import AppliedChange, Snapshot, TextStamp, Workspace, digest
from indwell.workspace.encoding.notebook import (
    SUFFIX,
    NotebookCell,
    about_cells,
    cells_of,
    cells_text,
    notebook_text,
    with_cells,
)

RELOAD_S = 5.0  # the time limit, in seconds, for the editor to load a changed file again
_MARKUP = 1  # the kind of a text cell, in LSP


@dataclass(slots=True, eq=False)
class OpenNotebook:
    """An open notebook.

    Attributes:
        uri: The editor's URI.
        path: The resolved path.
        version: The editor's version number.
        cells: The notebook's cells: LSP's kind, and the URI of the document.
        is_dirty: Whether the notebook has unsaved changes.
    """

    uri: str
    path: Path
    version: int
    cells: list[sync.CellItem] = field(default_factory=list)
    is_dirty: bool = False


class Notebooks:
    """Tracks all open notebooks.

    Args:
        documents: The open documents, which include the cells.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._by_uri: dict[str, OpenNotebook] = {}

    def __iter__(self) -> Iterator[OpenNotebook]:
        return iter(tuple(self._by_uri.values()))

    def at(self, path: Path) -> OpenNotebook | None:
        """Return the open notebook of a file (resolved path)."""
        if path.suffix != SUFFIX:
            return None
        return next((one for one in self._by_uri.values() if one.path == path), None)

    def open(self, params: sync.DidOpenNotebook) -> None:
        """Add a notebook that the editor opened, and its cells."""
        for one in params.cell_text_documents:
            self._documents.open(one)
        item = params.notebook_document
        path = path_of(item.uri)
        if path is not None:
            self._by_uri[item.uri] = OpenNotebook(item.uri, path, item.version, list(item.cells))
            self._tell(item.uri)

    def change(self, params: sync.DidChangeNotebook) -> None:
        """Apply changes of cells and of their texts; outputs are ignored."""
        cells = params.change.cells
        if cells is None:
            return
        notebook = self._by_uri.get(params.notebook_document.uri)
        if cells.structure is not None:
            for opened in cells.structure.did_open:
                self._documents.open(opened)
            array = cells.structure.array
            if notebook is not None:
                stop = array.start + array.delete_count
                notebook.cells[array.start : stop] = array.cells
            for closed in cells.structure.did_close:
                self._documents.close(closed.uri)
        for one in cells.text_content:
            self._documents.change(one.document.uri, one.document.version, one.changes)
        if notebook is None:
            return
        kinds = {one.document: one for one in cells.data}
        notebook.cells = [kinds.get(one.document, one) for one in notebook.cells]
        notebook.version = params.notebook_document.version or notebook.version
        notebook.is_dirty |= cells.structure is not None or bool(cells.text_content)
        self._tell(notebook.uri)

    def saved(self, uri: str) -> None:
        """Record that the editor saved a notebook."""
        if (notebook := self._by_uri.get(uri)) is not None:
            notebook.is_dirty = False
            for one in notebook.cells:
                self._documents.saved(one.document)
            self._tell(uri)

    def close(self, params: sync.DidCloseNotebook) -> None:
        """Remove a notebook that the editor closed, and its cells."""
        for one in params.cell_text_documents:
            self._documents.close(one.uri)
        uri = params.notebook_document.uri
        self._by_uri.pop(uri, None)
        self._tell(uri)

    def parts(self, notebook: OpenNotebook) -> tuple[tuple[NotebookCell, Document], ...]:
        """Return the cells with their documents, without cells that have no document."""
        found = ((one.kind, self._documents.get(one.document)) for one in notebook.cells)
        return tuple((_cell(kind, one), one) for kind, one in found if one is not None)

    def text(self, notebook: OpenNotebook) -> str | None:
        """Return the text of all cells, or None if the cells cannot be shown as one text."""
        return cells_text([cell for cell, _ in self.parts(notebook)])

    def snapshot(self, notebook: OpenNotebook) -> Snapshot | None:
        """Return the notebook as the model reads it, or None if the file must be read unchanged."""
        text = self.text(notebook)
        if text is None:
            return None
        return Snapshot(
            path=notebook.path,
            text=text,
            stamp=TextStamp(digest(text), notebook.version),
            origin="buffer",
            unsaved=notebook.is_dirty,
            notes=(about_cells(text),),
        )

    async def write(
        self,
        notebook: OpenNotebook,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        edits: BufferEdits,
        disk: Workspace,
    ) -> AppliedChange:
        """Change the cells of an open notebook.

        Raises:
            TextMoved: The notebook was changed first.
            EditRefused: The editor refused an edit, or unsaved cells would have to be moved.
            ToolError: The text has no cells.
        """
        name, path = repr(notebook.path.name), notebook.path
        if base is None:
            raise EditRefused(f"{name} is open in the editor already; read and edit it")
        parts = self.parts(notebook)
        before = cells_text([cell for cell, _ in parts])
        if before != base.text:
            raise TextMoved(f"{name} was changed in the editor; nothing was edited; read it again")
        try:
            wanted = cells_of(text)
        except ValueError as error:
            raise ToolError(f"the new text of {name} was not written: {error}") from error
        if [one.kind for one in wanted] == [cell.kind for cell, _ in parts]:
            for (cell, document), new in zip(parts, wanted, strict=True):
                if cell.source != new.source:
                    ended = new.source.replace("\n", _end_of(document.text))
                    await edits.change(document, path, ended, label)
        elif notebook.is_dirty:
            raise EditRefused(
                f"{name} is open with unsaved changes, and an editor cannot add, remove or move "
                "cells for us; ask the user to save it, or change the text of its cells only"
            )
        else:
            await disk.write(path, base, text, label=label)
            await self._until_loaded(notebook, cells_text(wanted) or text)
        after = self.text(notebook) or text
        is_there = after == (cells_text(wanted) or text)
        note = "" if is_there else "the editor shows another text by now; read_file it again"
        stamp = TextStamp(digest(after), notebook.version)
        return AppliedChange(path, before, after, stamp, verified=is_there, note=note)

    async def _until_loaded(self, notebook: OpenNotebook, text: str) -> None:
        """Wait a moment until the editor has loaded the changed file."""
        try:
            async with asyncio.timeout(RELOAD_S):
                while self._by_uri.get(notebook.uri) is notebook and self.text(notebook) != text:
                    await self._documents.changed()
        except TimeoutError:
            return  # the caller compares the text

    def _tell(self, uri: str) -> None:
        self._documents.changed_on_disk([uri])


def _cell(kind: int, document: Document) -> NotebookCell:
    name = "markdown" if kind == _MARKUP else "raw" if document.language == "raw" else "code"
    return NotebookCell(name, unbroken(document.text))


def _end_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def shown_text(document: Document) -> str:
    """Return a document's text in the form for reading and editing: for a notebook, its cells."""
    if document.path is None or document.path.suffix != SUFFIX:
        return document.text
    text = notebook_text(document.text)
    return document.text if text is None else text


def edited_text(document: Document, text: str) -> str:
    """Return a document's text for a new text in the form of ``shown_text``.

    Raises:
        ToolError: The text has no cells.
    """
    if shown_text(document) is document.text:
        return text
    try:
        return with_cells(document.text, text)
    except ValueError as error:
        raise ToolError(f"the new text of the notebook was not written: {error}") from error
