"""``indwell acp``: serves an ACP client on stdin and stdout."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from acp.agent.router import build_agent_router
from acp.connection import Connection
from acp.interfaces import Agent
from acp.meta import AGENT_METHODS
from acp.stdio import stdio_streams

from acp import schema
from indwell.acp.agent import AcpAgent
from indwell.acp.client import AcpClient
from indwell.acp.sessions import SessionMaker

LINE_B = 50_000_000  # bytes of one message: a prompt with pictures


async def serve_client(new_maker: Callable[[], SessionMaker]) -> int:
    """Serve one client until it closes stdin; returns the exit code. A cancellation ends in order.

    Args:
        new_maker: Returns a new composition root for each session.
    """
    reader, writer = await stdio_streams(limit=LINE_B)
    client = AcpClient()
    agent = AcpAgent(client, new_maker)
    # The router calls methods by name, and answers that a missing one does not exist.
    served: Agent = agent  # type: ignore[assignment]
    router = build_agent_router(served, use_unstable_protocol=True)
    router.route_request(
        AGENT_METHODS["session_delete"], schema.DeleteSessionRequest, agent, "delete_session"
    )
    connection = Connection(router, writer, reader, listening=False)
    client.connect(connection)
    try:
        await connection.main_loop()
    finally:
        await agent.close()
        await connection.close()  # and stdout with it
        sys.stdout = io.StringIO()
    return 0
