"""The reference MCP servers, run in the sandbox and used through ``Connection``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from indwell.bounds.command_bounds import confiner
from indwell.mcp.definition import ServerDefinition, StdioServer
from indwell.mcp.offers import DataPiece, TextPiece
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Confine, Surrounding
from indwell.settings.model import Settings
from support.bubblewrap import needs_bubblewrap
from support.reference_servers import needs_reference_servers, node, program

pytestmark = [needs_reference_servers, needs_bubblewrap]


@asynccontextmanager
async def connected(
    folder: Path, package: str, *args: str, env: tuple[tuple[str, str], ...] = ()
) -> AsyncIterator[Any]:
    """Connect to a server that runs confined in ``folder``."""

    def open_bounds() -> tuple[Confine, Callable[[], None]]:
        bounds = confiner((folder,), lambda: Settings(mode="review"))
        return bounds, bounds.close

    transport = StdioServer(node(), (program(package), *args), env)
    servers = Servers()
    around = Surrounding((folder,), open_bounds)
    try:
        yield await servers.lease(ServerDefinition("reference", transport), around).opened()
    finally:
        await servers.close()


async def test_the_reference_server_everything_offers_tools_resources_and_prompts(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path, "server-everything") as server:
        tools = {tool.name for tool in await server.tools()}
        assert {"echo", "get-sum", "get-tiny-image"} <= tools
        assert (await server.call("echo", {"message": "hello"})).pieces == (
            TextPiece("Echo: hello"),
        )
        image = (await server.call("get-tiny-image", {})).pieces
        assert any(isinstance(one, DataPiece) and one.media_type == "image/png" for one in image)
        assert await server.resources()
        assert await server.prompts()


async def test_the_reference_server_filesystem_reads_and_writes_only_in_the_workspace(
    tmp_path: Path,
) -> None:
    folder, outside = tmp_path / "shop", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    async with connected(folder, "server-filesystem", str(folder), str(outside)) as server:
        note, other = folder / "note.txt", outside / "note.txt"
        written = await server.call("write_file", {"path": str(note), "content": "buy paper"})
        assert not written.is_error
        assert note.read_text("utf-8") == "buy paper"
        refused = await server.call("write_file", {"path": str(other), "content": "x"})
        assert refused.is_error  # the server would write the file, but the sandbox refuses
        assert not other.exists()


async def test_the_reference_server_memory_stores_what_it_is_told(tmp_path: Path) -> None:
    env = (("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl")),)
    async with connected(tmp_path, "server-memory", env=env) as server:
        one = {"name": "shop", "entityType": "project", "observations": ["sells paper"]}
        await server.call("create_entities", {"entities": [one]})
        graph = await server.call("read_graph", {})
        assert "sells paper" in json.dumps(graph.structured)
