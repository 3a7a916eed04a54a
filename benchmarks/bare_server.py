"""Runs a pygls server that does nothing: the floor for servers in this language and library."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("bare", "1", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def code_action(_params: types.CodeActionParams) -> list[types.CodeAction]:
    return []


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(_params: types.DidOpenTextDocumentParams) -> None:
    """Do nothing; the library keeps the text."""


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(_params: types.DidChangeTextDocumentParams) -> None:
    """Do nothing; the library applies the change."""


if __name__ == "__main__":
    server.start_io()
