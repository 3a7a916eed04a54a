"""Wires the chat document: two commands, and what editors ask about ``*.chat.md``.

Where an editor lets us, we register for these documents only; elsewhere the answer for any other
document is nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.opening import QuestionPlace, opened
from indwell.lsp.chat.sending import send
from indwell.lsp.chat.views import ChatViews
from indwell.lsp.host import Host
from indwell.lsp.messages.documents import ChatArguments, ChatResult, SendArguments
from indwell.lsp.messages.features import CHAT_FEATURES, CHAT_OPTIONS
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire import sync
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.documents import Document
from indwell.service.mentions import PATTERN, is_chat

ANY_CHAT = ChatArguments()
NEWEST = SendArguments()


def register_chat(server: Server, host: Host) -> ChatViews:
    """Both commands, and the requests about chats."""
    chats = Chats(host)
    views = ChatViews(host, chats)
    host.client.chat = QuestionPlace(host, chats)

    @server.command("indwell.chat")
    async def chat(arguments: ChatArguments = ANY_CHAT) -> ChatResult | None:
        return await host.answering.answer(opened(host, chats, arguments), wait=arguments.wait)

    @server.command("indwell.send")
    async def send_draft(arguments: SendArguments = NEWEST) -> object:
        return await host.answering.answer(send(host, chats, arguments), wait=arguments.wait)

    @server.feature("textDocument/documentSymbol")
    async def symbols(params: types.DocumentSymbolParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.symbols)

    @server.feature("textDocument/foldingRange")
    async def folds(params: types.FoldingRangeParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.folds)

    @server.feature("textDocument/documentLink")
    async def links(params: types.DocumentLinkParams) -> msgspec.Raw:
        return await _looked(host, params.text_document.uri, views.links)

    @server.feature("textDocument/completion")
    async def completion(params: types.CompletionParams) -> msgspec.Raw:
        uri, position = params.text_document.uri, params.position
        return await _looked(host, uri, lambda document: views.completion(document, position))

    return views


async def ask_for_chats(host: Host) -> None:
    """Register for chats alone with an editor that takes that."""
    dynamic = host.client.features.dynamic
    found = [
        sync.Registration(
            id=f"indwell-chat-{name}",
            method=f"textDocument/{name}",
            register_options={"documentSelector": [{"pattern": PATTERN}], **CHAT_OPTIONS[name]},
        )
        for name in CHAT_FEATURES
        if name in dynamic
    ]
    if found:
        await host.client.register(found)


async def _looked(host: Host, uri: str, look: Callable[[Document], Awaitable[Any]]) -> msgspec.Raw:
    """What is asked, as JSON; null for what is no open chat."""
    document = host.documents.get(uri) if is_chat(uri) else None
    if document is None:
        return msgspec.Raw(b"null")
    return msgspec.Raw(msgspec.json.encode(await look(document)))
