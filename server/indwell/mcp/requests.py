"""Sends requests over one connection to an MCP server, with time limits and plain errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp.client import Client, InputRequiredRoundsExceededError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from indwell.context.untrusted_text import short_line
from indwell.mcp.definition import START_S, ServerDefinition
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.mcp.streams import BreakReason, is_session_gone
from mcp import types

MOST_PAGES, MOST_OFFERS = 50, 1_000  # the limits of pages and of entries for one list
MOST_WORDS = 300  # the limit of characters for a server's text in Indwell's messages

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Requests:
    """Sends requests over one live connection; a request ends with the connection.

    Args:
        client: The SDK's client, which is connected.
        definition: The definition of the server.
        fault: The reason why the connection broke, set when the connection breaks.

    Attributes:
        kept: Lists that were read over the connection, by kind.
    """

    def __init__(self, client: Client, definition: ServerDefinition, fault: BreakReason) -> None:
        self.client = client
        self.kept: dict[str, tuple[Any, ...]] = {}
        self._definition = definition
        self._fault = fault

    @property
    def is_broken(self) -> bool:
        """Return whether the connection is broken."""
        return self._fault.happened.is_set()

    async def limited(self, request: Awaitable[T]) -> T:
        """Await a request, up to the definition's time limit."""
        try:
            async with asyncio.timeout(self._definition.timeout_s):
                return await request
        except TimeoutError as error:
            raise self.silent() from error

    def silent(self) -> McpError:
        """Return the error for a server that did not answer in time."""
        return McpError(
            f"the MCP server {self._definition.name!r} did not answer within "
            f"{self._definition.timeout_s:g} s"
        )

    def _broken(self) -> McpError:
        why = f": {self._fault.words}" if self._fault.words else ""
        return McpError(f"the connection to the MCP server {self._definition.name!r} broke{why}")

    async def unless_broken(self, request: Awaitable[T]) -> T:
        """Await a request; fail when the connection breaks, even if the SDK does not notice."""
        asking = asyncio.ensure_future(request)
        broken = asyncio.ensure_future(self._fault.happened.wait())
        try:
            await asyncio.wait({asking, broken}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise self._broken()
            return asking.result()
        finally:
            broken.cancel()
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})

    async def asked(self, request: Awaitable[Any], convert: Callable[[Any], T]) -> T:
        """Await a request, and convert the result; raise a failure as ``McpError``."""
        try:
            return convert(await request)
        except MCPError as error:
            if error.error.code == types.CONNECTION_CLOSED or is_session_gone(error):
                self._fault.set("the server ended the session")
            if self._fault.happened.is_set():
                raise self._broken() from error
            whose = f"the MCP server {self._definition.name!r}"
            if self._fault.wants_scope:
                self._fault.wants_scope = False
                raise NeedsLogin(
                    f"{whose} requires more permissions than your login gave; run "
                    f"`indwell mcp login {self._definition.name}`, then try again"
                ) from error
            said = short_line(error.error.message, MOST_WORDS)
            raise McpError(f"{whose} refused it: {said}") from error
        except (ValidationError, RuntimeError, InputRequiredRoundsExceededError) as error:
            _log.info("an answer of an MCP server cannot be used", exc_info=error)
            whose = f"the answer of the MCP server {self._definition.name!r}"
            raise McpError(f"{whose} does not follow the protocol") from error

    async def listed(self, kind: str, convert: Callable[[Any], T]) -> tuple[T, ...]:
        """Return a whole list of a server, read page by page, up to a limit."""
        fetch: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "tools": self.client.list_tools,
            "resources": self.client.list_resources,
            "templates": self.client.list_resource_templates,
            "prompts": self.client.list_prompts,
        }
        field = "resource_templates" if kind == "templates" else kind
        found: list[T] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self.asked(fetch[kind](cursor=cursor), lambda page: page)
            found += map(convert, getattr(page, field))
            cursor = page.next_cursor
            if not cursor or len(found) >= MOST_OFFERS:
                break
        return tuple(found[:MOST_OFFERS])

    async def ask_for_log(self) -> None:
        """Ask a server of an older protocol version to send its log messages."""
        client = self.client
        if client.server_capabilities.logging is None or client.session.discover_result is not None:
            return
        request = types.SetLevelRequest(params=types.SetLevelRequestParams(level="info"))
        try:
            async with asyncio.timeout(START_S):
                await client.session.send_request(request, types.EmptyResult)
        except (MCPError, TimeoutError) as error:
            _log.debug("an MCP server takes no level for its log", exc_info=error)
