"""Fifty servers with twenty tools each start at once without blocking the event loop."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from indwell.mcp.definition import ServerDefinition, StdioServer
from indwell.mcp.servers import Servers, _connection_type
from indwell.mcp.streams import BreakReason, _message
from indwell.mcp.surrounding import Surrounding
from mcp import types

SERVER = Path(__file__).parents[1] / "support" / "small_mcp_server.py"
N_SERVERS = 50
MOST_HELD_S = 0.010  # seconds of processor time, because a busy machine delays every process
FEW = 0.01  # accepted fraction of slow iterations of the loop, since the garbage collector may run


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """Collect the processor time of each turn of the event loop."""
    held: list[float] = []
    loop = asyncio.get_running_loop()
    last, is_over = 0.0, False

    def look() -> None:
        nonlocal last
        now = time.thread_time()
        held.append(now - last)
        last = now
        if not is_over:
            loop.call_soon(look)

    # The garbage collector skips the objects of other tests, of which a test's process has many.
    gc.collect()
    gc.freeze()
    last = time.thread_time()
    try:
        loop.call_soon(look)
        yield held
    finally:
        is_over = True
        gc.unfreeze()


async def test_fifty_servers_start_at_once_without_blocking_the_event_loop(tmp_path: Path) -> None:
    await asyncio.to_thread(_connection_type)  # servers also import the SDK in a thread
    servers = Servers()
    leases = [
        servers.lease(
            ServerDefinition(
                f"small-{number}",
                StdioServer(sys.executable, ("-I", str(SERVER), str(number))),
                is_confined=False,
            ),
            Surrounding((tmp_path,)),
        )
        for number in range(N_SERVERS)
    ]
    try:
        async with watched() as held:
            connections = await asyncio.gather(*(one.opened() for one in leases))
            tools = await asyncio.gather(*(one.tools() for one in connections))
        assert [len(one) for one in tools] == [20] * N_SERVERS
        assert sum(one > MOST_HELD_S for one in held) <= FEW * len(held)
        assert max(held) < 5 * MOST_HELD_S, sorted(held)[-10:]
    finally:
        await servers.close()


async def test_decoding_a_message_of_very_many_values_does_not_block_the_event_loop() -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "result": {"a": [1] * 900_000, "b": "\U0001f600"}}
    line = json.dumps(sent).encode()
    gaps, began = [0.0], time.monotonic()
    decoding = asyncio.create_task(_message(line, BreakReason()))
    last = began
    while not decoding.done():
        await asyncio.sleep(0)
        gaps.append(time.monotonic() - last)
        last = time.monotonic()
    decoded = decoding.result()
    assert isinstance(decoded, types.JSONRPCResponse)
    assert decoded.result == sent["result"]
    assert max(gaps) < (last - began) / 3


async def test_a_message_with_text_that_cannot_be_encoded_is_dropped() -> None:
    values = ",".join(["1"] * 100_000)
    line = '{"jsonrpc":"2.0","id":1,"result":{"a":[' + values + '],"b":"\\ud800"}}'
    fault = BreakReason()
    assert await _message(line.encode(), fault) is None
    assert await _message(b"[" * 100_000 + line.encode(), fault) is None
    assert not fault.happened.is_set()
