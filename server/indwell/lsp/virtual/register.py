"""Wires virtual documents: ``workspace/textDocumentContent``, and the commands that open them."""

from __future__ import annotations

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp.host import Host
from indwell.lsp.protocol_virtual import OpenArguments, OpenResult
from indwell.lsp.virtual.opening import document_of, opened
from indwell.lsp.virtual.refreshing import Refreshing
from indwell.lsp.virtual.sharing import Shared
from indwell.lsp.virtual.texts import context_json, text_of
from indwell.lsp.virtual.uris import NextRequest, parsed
from indwell.lsp.wire.envelope import INVALID_PARAMS, REQUEST_FAILED


def register_virtual(server: LanguageServer, host: Host) -> None:
    """The request and both commands."""
    refreshing = Refreshing(host)

    async def made(uri: str) -> str:
        document = parsed(uri)
        text = await text_of(host, document)
        await refreshing.follow(uri, document, text)
        return text

    shared = Shared(made)

    @server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)
    async def text_document_content(
        params: types.TextDocumentContentParams,
    ) -> types.TextDocumentContentResult:
        try:
            text = await shared.of(params.uri)
        except UserError as error:
            raise JsonRpcException(str(error), REQUEST_FAILED) from error
        return types.TextDocumentContentResult(text=text)

    @server.command("indwell.open")
    async def open_(arguments: OpenArguments | None = None) -> OpenResult | None:
        if arguments is None:
            words = "indwell.open needs one argument: an object with `what`"
            raise JsonRpcException(words, INVALID_PARAMS)
        try:
            return await opened(host, document_of(host, arguments))
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None

    @server.command("indwell.explainRequest")
    async def explain_request() -> msgspec.Raw:
        if not host.client.features.has("events"):
            try:
                await opened(host, NextRequest())
            except UserError as error:
                host.client.show(types.MessageType.Error, f"Indwell: {error}")
        return await context_json(host)
