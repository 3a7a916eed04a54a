"""Handles ``indwell/mcp`` and ``indwell.mcp``: lists, adds, removes, approves MCP servers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from indwell.agent.features.mcp.catalogue import named_tools
from indwell.agent.features.mcp.feature import ServerTools
from indwell.agent.features.mcp.named_offers import ServerOffers
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat.views import mcp_offers
from indwell.lsp.host import Host
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import status
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.status import McpOffer, McpParams, McpResult, McpRow, McpTool
from indwell.lsp.wire.language_server import Server
from indwell.mcp.definition import HttpServer
from indwell.mcp.offers import McpError, OfferedTool
from indwell.mcp.server_book import KnownServer, server_named
from indwell.policy.rules import PatternRules, tool_rule
from indwell.service.mcp_servers import (
    add_server,
    remove_server,
    unanswered_words,
    why_unasked,
)
from indwell.service.stored_keys import key_store
from indwell.settings.credentials import redacted

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection

CLOSE, OPEN = "Close", "Open"
_WORDS = 200  # the limit of characters for a server's description in a row
_MOST_TOOLS = 200  # the limit of tools for a server in its row
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
# the limit of characters for a wrong name in a message, because the name may be a secret
_NAME_CHARACTERS = 20
_RUNS_CHARACTERS = 120  # the limit of characters for a command line in a message
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
        case "login":
            await _logged_in(host, params.name)
        case "log":
            return msgspec.structs.replace(
                await _listed(host), log=await _log_of(host, params.name)
            )
        case "list":
            pass
    return await _listed(host)


def _table(params: McpParams) -> Mapping[str, object]:
    """Return the settings table of a server to add."""
    if bool(params.command) == bool(params.url):
        raise UserError("'add' needs either a `command` or a `url`; send one of them along")
    _check_secrets(params)
    if params.url:
        return {"url": params.url, **_headers(params)}
    program, *arguments = params.command
    table: dict[str, object] = {"command": program}
    table |= {"args": arguments} if arguments else {}
    table |= {"variables": [*params.variables]} if params.variables else {}
    return table | ({"hosts": [*params.hosts]} if params.hosts else {})


def _check_secrets(params: McpParams) -> None:
    """Refuse a value that belongs in an environment variable, not in a settings file."""
    for word in (*params.command, params.url):
        if redacted(word) != word:
            raise UserError(
                "the command or address contains a key or a password; put it into a variable of "
                "yours, and write '${NAME}' in its place"
            )
    for name in (*params.variables, *filter(None, [params.header_variable])):
        if not _VARIABLE.fullmatch(name):
            raise UserError(
                f"{short_line(name, _NAME_CHARACTERS)!r} is not the name of a variable; write its "
                "name, such as 'TOKEN', not its value"
            )


def _headers(params: McpParams) -> Mapping[str, object]:
    """Return the table's headers, whose values are the names of environment variables."""
    if not params.header and not params.header_variable:
        return {}
    if not params.header or not params.header_variable:
        raise UserError("a header needs its name and the variable with its value; give both")
    value = f"${{{params.header_variable}}}"
    is_bearer = params.header.casefold() == "authorization"
    return {"headers": {params.header: f"Bearer {value}" if is_bearer else value}}


async def _listed(host: Host) -> McpResult:
    found, offers = await asyncio.gather(host.service.mcp.look(), mcp_offers(host))
    connections = {one.definition.name: one for one in _connections(host)}
    settings = host.settings
    rules = PatternRules(settings.rules_allow, settings.rules_ask, settings.rules_deny)
    rows = (
        _row(one, connections.get(one.name), offers.get(one.name, ServerOffers()), rules)
        for one in found.servers
    )
    return McpResult(tuple(rows), found.problems)


def _row(
    server: KnownServer, connection: Connection | None, offers: ServerOffers, rules: PatternRules
) -> McpRow:
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
        remote=isinstance(server.definition.transport, HttpServer),
        offers=_tools(connection, rules) if connection is not None and is_up else (),
    )


def _tools(connection: Connection, rules: PatternRules) -> tuple[McpTool, ...]:
    named = named_tools([(connection.definition.name, connection.known_tools)])
    return tuple(_tool(one.name, one.tool, rules) for one in named[:_MOST_TOOLS])


def _tool(name: str, tool: OfferedTool, rules: PatternRules) -> McpTool:
    """Return a tool with the rule that decides: deny rules first, then ask, then allow."""
    decided: tuple[tuple[Literal["deny", "ask", "allow"], tuple[str, ...]], ...] = (
        ("deny", rules.deny),
        ("ask", rules.ask),
        ("allow", rules.allow),
    )
    found = ((permission, tool_rule(name, patterns)) for permission, patterns in decided)
    permission, rule = next((one for one in found if one[1]), ("ask", ""))
    return McpTool(
        name=one_line(tool.name),
        description=short_line(tool.description, _WORDS),
        claims=tool.claims,
        permission=permission,
        rule=one_line(rule),
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
    """Restart a server for all open sessions.

    Raises:
        UserError: No open session uses the server.
    """
    running = {one for one in _connections(host) if one.definition.name == name}
    if not running:
        raise UserError(f"no open session uses the MCP server {name!r}; it starts with a prompt")
    for connection in running:
        await connection.restart()


async def _log_of(host: Host, name: str) -> tuple[str, ...]:
    """Return the log of a server.

    Raises:
        UserError: No open session uses the server.
    """
    used = dict.fromkeys(one for one in _connections(host) if one.definition.name == name)
    if not used:
        raise UserError(
            f"no open session uses the MCP server {name!r}; its log begins when a prompt starts it"
        )
    logs = [await one.log.read() for one in used]
    return tuple(line for lines in logs for line in lines)


async def _logged_in(host: Host, name: str) -> None:
    """Log in to a server in the user's browser, and restart the server.

    Raises:
        UserError: The server has no login, or the login failed.
    """
    server = server_named(await host.service.mcp.look(), name)
    if server.standing != "usable":
        is_undecided = server.standing in {"open", "declined"}
        raise UserError(unanswered_words(server) if is_undecided else why_unasked(server))
    if not isinstance(server.definition.transport, HttpServer):
        raise UserError(f"the MCP server {name!r} is a program, and needs no login")
    from indwell.mcp.login import log_in  # noqa: PLC0415 - its SDK takes long to import

    async def lead(address: str) -> None:
        words = f"The MCP server {name!r} wants a login. Open this address in your browser?"
        asked = f"Indwell: {words}\n{one_line(address)}"
        chosen = await host.client.choose(asked, (CLOSE, OPEN), host.settings.answer_timeout_s)
        if chosen != OPEN:
            raise UserError("the login was not begun; nothing has changed")
        if not await host.client.show_document(address, in_browser=True):
            raise UserError(
                f"this editor opens no browser; run `indwell mcp login {name}` in a terminal"
            )

    try:
        await log_in(server.definition.expanded(os.environ), key_store(), lead)
    except McpError as error:
        raise UserError(f"{error}; the MCP server {name!r} is not logged in") from error
    for connection in _connections(host):
        if connection.definition.name == name:
            await connection.restart()


def _connections(host: Host) -> tuple[Connection, ...]:
    """Return the connections of all open sessions."""
    leases = (one.parts.features.door(ServerTools).leases for one in host.sessions)
    return tuple(lease.connection for of_one in leases for lease in of_one if lease.connection)


async def _commanded(host: Host, arguments: protocol.McpArguments) -> McpResult | None:
    """Carry out the command; without an action, ask the user to choose an action."""
    if arguments.action != "list":
        params = McpParams(
            action=arguments.action,
            name=arguments.name,
            command=arguments.command,
            url=arguments.url,
            variables=arguments.variables,
            hosts=arguments.hosts,
            header=arguments.header,
            header_variable=arguments.header_variable,
        )
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
