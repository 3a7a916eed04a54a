"""Defines types of frequent messages, such as key presses, without lsprotocol.

lsprotocol's classes would take milliseconds for a change to a large document, and the first code
action would wait 250 ms for the import of lsprotocol. Attributes have lsprotocol's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Position(msgspec.Struct, frozen=True):
    """A position: a 0-based line, and the number of code units before the position in the line."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """A range of text, from ``start`` up to ``end``."""

    start: Position
    end: Position


class TextChange(msgspec.Struct, frozen=True):
    """New text for a range; ``range`` is None for the whole document."""

    text: str
    range: Range | None = None


class OpenedDocument(msgspec.Struct, frozen=True, rename="camel"):
    """A document that the editor opens."""

    uri: str
    language_id: str
    version: int
    text: str


class Identifier(msgspec.Struct, frozen=True):
    """A changed document; ``version`` is the version after the change."""

    uri: str
    version: int | None = None


class DidOpen(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/didOpen``."""

    text_document: OpenedDocument


class DidChange(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/didChange``; changes apply one after the other."""

    text_document: Identifier
    content_changes: tuple[TextChange, ...]


class DidSave(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/didSave``; some editors send the text without a request."""

    text_document: Identifier
    text: str | None = None


class DidClose(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/didClose``."""

    text_document: Identifier


class CellItem(msgspec.Struct, frozen=True):
    """A notebook cell: its kind (1 for markup, 2 for code), and its document's URI."""

    kind: int
    document: str


class OpenedNotebook(msgspec.Struct, frozen=True):
    """A notebook that the editor opens."""

    uri: str
    version: int
    cells: tuple[CellItem, ...] = ()


class DidOpenNotebook(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``notebookDocument/didOpen``."""

    notebook_document: OpenedNotebook
    cell_text_documents: tuple[OpenedDocument, ...] = ()


class CellArray(msgspec.Struct, frozen=True, rename="camel"):
    """Cells that replace other cells, from index ``start`` on."""

    start: int
    delete_count: int
    cells: tuple[CellItem, ...] = ()


class CellStructure(msgspec.Struct, frozen=True, rename="camel"):
    """The added and removed cells of a notebook."""

    array: CellArray
    did_open: tuple[OpenedDocument, ...] = ()
    did_close: tuple[Identifier, ...] = ()


class CellText(msgspec.Struct, frozen=True):
    """The changes of one cell's text."""

    document: Identifier
    changes: tuple[TextChange, ...]


class CellChanges(msgspec.Struct, frozen=True, rename="camel"):
    """The changes of cells; ``data`` lists cells with a new kind, metadata or outputs."""

    structure: CellStructure | None = None
    data: tuple[CellItem, ...] = ()
    text_content: tuple[CellText, ...] = ()


class NotebookChange(msgspec.Struct, frozen=True):
    """The changes of a notebook."""

    cells: CellChanges | None = None


class DidChangeNotebook(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``notebookDocument/didChange``."""

    notebook_document: Identifier
    change: NotebookChange


class DidSaveNotebook(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``notebookDocument/didSave``."""

    notebook_document: Identifier


class DidCloseNotebook(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``notebookDocument/didClose``."""

    notebook_document: Identifier
    cell_text_documents: tuple[Identifier, ...] = ()


class FileEvent(msgspec.Struct, frozen=True):
    """A file that was created, changed or deleted on disk; the server does not ask which."""

    uri: str


class DidChangeWatchedFiles(msgspec.Struct, frozen=True):
    """The params of ``workspace/didChangeWatchedFiles``."""

    changes: tuple[FileEvent, ...]


class ActionContext(msgspec.Struct, frozen=True, rename="camel"):
    """The context of a request for code actions; the diagnostics stay JSON.

    Attributes:
        only: The requested kinds.
        trigger_kind: How the request was triggered: 1 by the user, 2 automatically, or None from an
            old editor.
    """

    diagnostics: list[dict[str, Any]] = msgspec.field(default_factory=list)
    only: list[str] | None = None
    trigger_kind: int | None = None


class CodeAction(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/codeAction``."""

    text_document: Identifier
    range: Range
    context: ActionContext


class CodeLens(msgspec.Struct, frozen=True, rename="camel"):
    """The params of ``textDocument/codeLens``."""

    text_document: Identifier


class DidChangeConfiguration(msgspec.Struct, frozen=True):
    """The params of ``workspace/didChangeConfiguration``, which may contain any JSON."""

    settings: Any = None


class Registration(msgspec.Struct, frozen=True, rename="camel"):
    """A method that the server registers with the editor, with its options as plain JSON."""

    id: str
    method: str
    register_options: Mapping[str, Any]


class RegistrationParams(msgspec.Struct, frozen=True):
    """The params of ``client/registerCapability``, which the server sends."""

    registrations: list[Registration]


class ConfigurationItem(msgspec.Struct, frozen=True):
    """The name of one section of the editor's settings."""

    section: str


class ConfigurationParams(msgspec.Struct, frozen=True):
    """The params of ``workspace/configuration``, which the server sends."""

    items: list[ConfigurationItem]


PLAIN_RESULTS = {"client/registerCapability", "workspace/configuration"}
"""The server's requests whose answers are not converted from JSON."""

PARAMS: Mapping[str, type[msgspec.Struct]] = {
    "textDocument/didOpen": DidOpen,
    "textDocument/didChange": DidChange,
    "textDocument/didSave": DidSave,
    "textDocument/didClose": DidClose,
    "notebookDocument/didOpen": DidOpenNotebook,
    "notebookDocument/didChange": DidChangeNotebook,
    "notebookDocument/didSave": DidSaveNotebook,
    "notebookDocument/didClose": DidCloseNotebook,
    "textDocument/codeAction": CodeAction,
    "textDocument/codeLens": CodeLens,
    "workspace/didChangeConfiguration": DidChangeConfiguration,
    "workspace/didChangeWatchedFiles": DidChangeWatchedFiles,
}
