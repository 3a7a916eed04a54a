"""The client that the official conformance suite tests: Indwell's connection without an agent.

Usage: ``python mcp_conformance_client.py URL``. The client calls each tool.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from indwell.mcp.definition import Grant, HttpServer, OwnClient, ServerDefinition
from indwell.mcp.login import log_in, turn_auth
from indwell.mcp.offers import NeedsLogin, Sample, SampleRequest, ServerAnswer, ServerQuestion
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Surrounding
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.login_server import browse


class Accepts:
    """A user who accepts each form unchanged. Implements ``Caller``."""

    def progress(self, words: str) -> None:
        del words

    async def answer(self, question: ServerQuestion) -> ServerAnswer:
        values = {one.name: one.default for one in question.fields if one.default is not None}
        return ServerAnswer("accept", values)

    async def sample(self, request: SampleRequest) -> Sample:
        del request
        return Sample("a word", "test-model")


ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
MOST_LOGINS = 3  # The limit stops a server that requires a login after each login.


def no_ring() -> Ring:
    raise KeyringUnusable("the suite keeps keys in a file")


async def use(definition: ServerDefinition, keys: KeyStore) -> None:
    """Connect as a turn does, and call each tool."""
    servers = Servers()
    around = Surrounding((Path.cwd(),), auth=lambda one: turn_auth(one, keys))
    try:
        server = await servers.lease(definition, around).opened()
        for tool in await server.tools():
            await server.call(tool.name, ARGUMENTS.get(tool.name, {}), Accepts())
    finally:
        await servers.close()


def client() -> OwnClient | None:
    """Return the client that the scenario has registered, if any."""
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "client_id" not in given:
        return None
    is_alone = given["name"].startswith("auth/client-credentials")
    grant: Grant = "client_credentials" if is_alone else "authorization_code"
    return OwnClient(given["client_id"], given["client_secret"], grant)


async def main(url: str) -> None:
    definition = ServerDefinition("conformance", HttpServer(url, client=client()), timeout_s=20)
    with TemporaryDirectory() as folder:
        keys = KeyStore(Path(folder) / "keys.json", no_ring)
        for _ in range(MOST_LOGINS):
            try:
                await use(definition, keys)
            except NeedsLogin:
                await log_in(definition, keys, browse)
            else:
                return
        await use(definition, keys)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
