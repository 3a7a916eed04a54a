from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from support.editing import Home
from support.raw_client import SCRIPTED, RawClient, raw_client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory) -> AsyncIterator[RawClient]:
    """Yield one initialized server for a whole module; no test of the module may damage it."""
    async with raw_client(Home(tmp_path_factory.mktemp("shared")), command=SCRIPTED) as client:
        yield client
        assert await client.say_goodbye() == 0, client.stderr
        assert client.stderr.count("Traceback") == 0, client.stderr
