"""Runs the MCP servers of one process; sessions with equal definitions share one server.

A server ends with the last session that uses it. The SDK is imported in a thread, when the first
server is started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from indwell.errors import UserError
from indwell.mcp.definition import ServerDefinition
from indwell.mcp.surrounding import Surrounding

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection


@dataclass(slots=True)
class _Shared:
    connection: Connection
    n_leases: int = 0
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def changed(self) -> None:
        for one in tuple(self.listeners):
            one()


class Lease:
    """The use of a server by one session, until ``release``."""

    def __init__(
        self,
        definition: ServerDefinition,
        take: Callable[[Lease], Awaitable[_Shared]],
        release: Callable[[Lease], Awaitable[None]],
        on_change: Callable[[], None],
    ) -> None:
        self.definition = definition
        self.on_change = on_change
        self.shared: _Shared | None = None
        self._take = take
        self._release = release
        self._lock = asyncio.Lock()

    @property
    def connection(self) -> Connection | None:
        """The connection, or None before the first use."""
        return self.shared.connection if self.shared else None

    async def opened(self) -> Connection:
        """Return the connection to the server; start the server if necessary."""
        async with self._lock:
            if self.shared is None:
                self.shared = await self._take(self)
        self.shared.connection.start()
        return self.shared.connection

    async def release(self) -> None:
        """Stop using the server; the server ends if no other session uses it."""
        async with self._lock:
            if self.shared is not None:
                await self._release(self)
                self.shared = None


class Servers:
    """The servers that run in this process."""

    def __init__(self) -> None:
        self._running: dict[tuple[ServerDefinition, tuple[Path, ...]], _Shared] = {}

    def lease(
        self,
        definition: ServerDefinition,
        around: Surrounding,
        on_change: Callable[[], None] = lambda: None,
    ) -> Lease:
        """Return a lease of a server; the server starts with ``Lease.opened``.

        Args:
            definition: The server.
            around: The parts of the machine that the server may see.
            on_change: Called when the state or the tools of the server have changed.
        """
        key = definition, around.roots

        async def take(lease: Lease) -> _Shared:
            make = await asyncio.to_thread(_connection_type)
            shared = self._running.get(key)
            if shared is None:
                shared = self._running[key] = _Shared(make(definition, around))
                shared.connection.on_change = shared.changed
            shared.n_leases += 1
            shared.listeners.append(lease.on_change)
            return shared

        async def release(lease: Lease) -> None:
            shared = lease.shared
            assert shared is not None
            shared.n_leases -= 1
            shared.listeners.remove(lease.on_change)
            if not shared.n_leases:
                self._running.pop(key, None)
                await shared.connection.close()

        return Lease(definition, take, release, on_change)

    async def close(self) -> None:
        """Stop all servers."""
        running, self._running = tuple(self._running.values()), {}
        await asyncio.gather(*(one.connection.close() for one in running))


@cache
def _connection_type() -> type[Connection]:
    """Import the SDK, which takes nearly a second, and return the type of connections.

    Raises:
        UserError: The installation lacks the SDK.
    """
    try:
        made: type[Connection] = import_module("indwell.mcp.connection").Connection
    except ImportError as error:
        raise UserError(
            f"MCP servers cannot be used: {error.name or error} is missing from this installation; "
            "install Indwell again"
        ) from error
    return made
