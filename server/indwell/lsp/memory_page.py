"""``indwell.memory``: the page of what is remembered, opened to be read and edited."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp.host import Host
from indwell.lsp.protocol_asking import MemoryArguments, MemoryResult

OF_WORKSPACE = MemoryArguments()


def register_memory(server: LanguageServer, host: Host) -> None:
    """The command."""

    @server.command("indwell.memory")
    async def memory(arguments: MemoryArguments = OF_WORKSPACE) -> MemoryResult | None:
        try:
            path = await host.backend.memory_page(host.root, arguments.scope)
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None
        shown = await host.client.show_document(path.as_uri())
        if not shown:
            words = f"Indwell: what is remembered stands in {path}; open it"
            host.client.show(types.MessageType.Info, words)
        return MemoryResult(path.as_uri(), str(path), shown)
