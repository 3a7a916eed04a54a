"""Handles ``indwell/mcp`` and ``indwell.mcp``: lists, adds, removes and approves MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from indwell.agent.features.mcp.feature import ServerTools
from indwell.agent.features.mcp.named_offers import ServerOffers
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import UserError
from indwell.lsp.chat.views import mcp_offers
from indwell.lsp.host import Host
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import status
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.status import McpOffer, McpParams, McpResult, McpRow
from indwell.lsp.wire.language_server import Server
from indwell.mcp.server_book import KnownServer
from indwell.service.mcp_servers import add_server, remove_server
from indwell.settings.credentials import redacted

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection

CLOSE = "Close"
_WORDS = 200  # characters of a server's description in a row
_RUNS_CHARACTERS = 120  # characters of a command line in a message
_STANDINGS = {
    "usable": "used",
    "open": "waits for your decision",
    "declined": "you decided not to use it",
    "restricted": "its folder is not trusted",
    "off": "turned off",
}


def register_mcp(server: Server, host: Host) -> None:
    """Register ``indwell/mcp`` and ``indwell.mcp``."""

    @server.feature("indwell/mcp")
    async def mcp(params: McpParams | None) -> McpResult:
        return await done(host, params or McpParams())

    @server.command("indwell.mcp")
    async def command(arguments: protocol.McpArguments) -> McpResult | None:
        return await host.answering.answer(_commanded(host, arguments), wait=arguments.wait)


async def done(host: Host, params: McpParams) -> McpResult:
    """Carry out a request, then list the servers.

    Raises:
        UserError: The request cannot be carried out; the message says why.
    """
    mcp = host.service.mcp
    if params.action != "list" and not params.name:
        raise UserError(f"{params.action!r} needs the `name` of a server; send it along")
    match params.action:
        case "add":
            await asyncio.to_thread(add_server, params.name, _table(params))
            await host.service.read_settings()
        case "remove":
            await asyncio.to_thread(remove_server, params.name, await mcp.look())
            await host.service.read_settings()
        case "approve":
            await mcp.approve(params.name, host.settings.answer_timeout_s)
        case "restart":
            await _restarted(host, params.name)
        case "list":
            pass
    return await _listed(host)


def _table(params: McpParams) -> Mapping[str, object]:
    """Return the settings of a server to add."""
    if bool(params.command) == bool(params.url):
        raise UserError("'add' needs either a `command` or a `url`; send one of them along")
    if params.url:
        return {"url": params.url}
    program, *arguments = params.command
    return {"command": program, **({"args": arguments} if arguments else {})}


async def _listed(host: Host) -> McpResult:
    found, offers = await asyncio.gather(host.service.mcp.look(), mcp_offers(host))
    connections = {one.definition.name: one for one in _connections(host)}
    rows = (
        _row(one, connections.get(one.name), offers.get(one.name, ServerOffers()))
        for one in found.servers
    )
    return McpResult(tuple(rows), found.problems)


def _row(server: KnownServer, connection: Connection | None, offers: ServerOffers) -> McpRow:
    is_up = connection is not None and connection.state == "ready"
    return McpRow(
        name=server.name,
        standing=server.standing,
        state="idle" if connection is None else connection.state,
        problem="" if connection is None else short_line(connection.problem, _WORDS),
        source=server.source,
        own=server.folder is None,
        runs=redacted(server.definition.shown()),
        tools=len(connection.known_tools) if connection is not None and is_up else None,
        prompts=_prompt_offers(server.name, offers),
        resources=_resource_offers(server.name, offers),
    )


def _prompt_offers(name: str, offers: ServerOffers) -> tuple[McpOffer, ...]:
    return tuple(
        McpOffer(f"/{name}:{one_line(one.name)}", short_line(one.description, _WORDS))
        for one in offers.prompts
    )


def _resource_offers(name: str, offers: ServerOffers) -> tuple[McpOffer, ...]:
    return tuple(
        McpOffer(f"@{name}:{one_line(one.uri)}", short_line(one.description or one.name, _WORDS))
        for one in offers.resources
    )


async def _restarted(host: Host, name: str) -> None:
    """Start a server again, for all open sessions.

    Raises:
        UserError: No open session uses the server.
    """
    running = {one for one in _connections(host) if one.definition.name == name}
    if not running:
        raise UserError(f"no open session uses the MCP server {name!r}; it starts with a prompt")
    for connection in running:
        await connection.restart()


def _connections(host: Host) -> tuple[Connection, ...]:
    """Return the connections of all open sessions."""
    leases = (one.parts.features.door(ServerTools).leases for one in host.sessions)
    return tuple(lease.connection for of_one in leases for lease in of_one if lease.connection)


async def _commanded(host: Host, arguments: protocol.McpArguments) -> McpResult | None:
    """Carry out the command; without an action, let the user choose one."""
    if arguments.action != "list":
        params = McpParams(arguments.action, arguments.name, arguments.command, arguments.url)
        return await done(host, params)
    found = await _listed(host)
    undecided = [one for one in found.servers if one.standing in {"open", "declined"}]
    buttons = {f"Decide on {one.name}": McpParams("approve", one.name) for one in undecided}
    running = [one for one in found.servers if one.state != "idle"]
    buttons |= {f"Restart {one.name}": McpParams("restart", one.name) for one in running}
    words = "\n".join(map(_line, found.servers)) or (
        "there are no MCP servers here; `indwell mcp add` in a terminal adds one"
    )
    words = "\n".join((f"Indwell: MCP servers:\n{words}", *found.problems))
    if not buttons:
        host.client.show(types.MessageType.Info, words)
        return found
    titles = (CLOSE, *buttons)
    chosen = await host.client.choose(words, titles, host.settings.answer_timeout_s)
    return await done(host, buttons[chosen]) if chosen in buttons else found


def _line(server: status.McpRow) -> str:
    runs = short_line(server.runs, _RUNS_CHARACTERS)
    is_used = server.standing == "usable" and server.state != "idle"
    state = server.problem or (server.state if is_used else _STANDINGS[server.standing])
    return f"{server.name}: {one_line(state)} ({one_line(server.source)}): {runs}"
