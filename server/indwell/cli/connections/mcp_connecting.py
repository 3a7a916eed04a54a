"""``indwell mcp test`` and ``login``: connects to a server, and logs in with a browser."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import is_typed, typed_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import UserError
from indwell.mcp.definition import HttpServer, ServerDefinition
from indwell.mcp.offers import McpError
from indwell.mcp.server_book import KnownServer, ServerBook, server_named
from indwell.mcp.surrounding import Surrounding
from indwell.service.mcp_servers import unanswered_words, why_unasked
from indwell.service.stored_keys import key_store
from indwell.service.user_settings import read_settings
from indwell.settings.model import Settings
from indwell.wiring.mcp import running_servers, surrounding_of

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection


class ServersHere(NamedTuple):
    """The servers of the working directory, and the facts that decide which servers may run."""

    book: ServerBook
    roots: tuple[Path, ...]
    settings: Settings
    trust: FolderTrust


def servers_here() -> ServersHere:
    """Return the servers of the working directory."""
    settings = read_settings(os.environ).settings
    trust = FolderTrust(os.environ)
    roots = (Path.cwd(),)
    trust.look(roots, settings)
    book = ServerBook(lambda: roots, lambda: settings, trust, os.environ)
    return ServersHere(book, roots, settings, trust)


def book_here() -> ServerBook:
    """Return the server definitions of the working directory, and the user's answers about them."""
    return servers_here().book


_LOG_LINES = 40  # the limit of lines of a server's log after a failed test
_SAID_CHARACTERS = 120  # the limit of characters for a server's description in a list


def usable_server(name: str) -> ServerDefinition:
    """Return a server that may be used in the working directory.

    Raises:
        UserError: No server has this name, or the server may not be used.
    """
    server = server_named(book_here().look(), name)
    if server.standing != "usable":
        raise UserError(_why_not(server))
    return server.definition


def _why_not(server: KnownServer) -> str:
    is_undecided = server.standing in {"open", "declined"}
    return unanswered_words(server) if is_undecided else why_unasked(server)


def test(name: str, *, as_json: bool) -> int:
    """Connect to a server, print its tools, prompts and resources; return 0 if it works.

    Raises:
        UserError: The server does not work, or may not be used.
    """
    here = servers_here()
    around = surrounding_of(here.roots, lambda: here.settings, here.trust, os.environ)
    return wait_for(_tested(usable_server(name), around, as_json=as_json))


async def _tested(definition: ServerDefinition, around: Surrounding, *, as_json: bool) -> int:
    lease = running_servers().lease(definition, around)
    try:
        connection = await lease.opened()
        tools = await connection.tools()
        resources = await connection.resources()
        prompts = await connection.prompts()
        version = connection.version
    except McpError:
        if lease.connection is not None:
            await _print_log(lease.connection)
        raise
    finally:
        await lease.release()
    if as_json:
        offers = {
            "tools": [one.name for one in tools],
            "resources": [one.uri for one in resources],
            "prompts": [one.name for one in prompts],
        }
        print(json_line({"name": definition.name, "version": version, **offers}))
        return 0
    tell(f"{definition.name} works: {one_line(version)}")
    for one in tools:
        _offer("tool", one.name, one.description)
    for found in resources:
        _offer("resource", found.uri, found.description or found.name)
    for prompt in prompts:
        _offer("prompt", prompt.name, prompt.description)
    return 0


async def _print_log(connection: Connection) -> None:
    """Print the last lines that the server wrote, because they may explain its failure."""
    lines = await connection.log.read(only_output=True)
    if lines:
        words = ("the server wrote:", *lines[-_LOG_LINES:])
        print("\n  ".join(words), file=sys.stderr, flush=True)


def _offer(kind: str, name: str, words: str) -> None:
    said = short_line(words, _SAID_CHARACTERS)
    print(f"  {kind} {one_line(name)}" + (f": {said}" if said else ""))


def login(options: argparse.Namespace) -> int:
    """Log in to a server, or delete its login; return 0 for success, otherwise 1.

    Raises:
        UserError: The login failed, or the server needs no login.
    """
    definition = usable_server(options.name).expanded(os.environ)
    server = definition.transport
    if not isinstance(server, HttpServer):
        raise UserError(f"the MCP server {options.name!r} is a program, and needs no login")
    from indwell.mcp.login import log_in, login_key

    keys = key_store()
    if options.forget:
        gone = keys.forget(login_key(server))
        return _tell(
            options,
            "the login is deleted" if gone else "there is no login to delete",
            done=gone,
            state="forgotten" if gone else "none",
        )

    async def show(address: str) -> None:
        opens = not options.paste and _opens_browser(os.environ)
        how = "your browser opens this address" if opens else "open this address in your browser"
        tell(f"{how}; log in there:", file=sys.stderr)
        print(one_line(address), file=sys.stderr, flush=True)
        if opens:
            await asyncio.to_thread(webbrowser.open, address)

    pasted = _pasted if options.paste or is_typed() else None
    done = wait_for(log_in(definition, keys, show, pasted))
    words = f"logged in to {options.name!r}" if done else f"{options.name!r} wants no login"
    return _tell(options, words, done=True, state="logged in" if done else "not needed")


def _opens_browser(environment: Mapping[str, str]) -> bool:
    """Return whether a browser can be opened on this machine, which is not possible over SSH."""
    if "BROWSER" in environment:
        return True
    if not is_typed() or "SSH_CONNECTION" in environment:
        return False
    has_desktop = {"DISPLAY", "WAYLAND_DISPLAY"} & environment.keys()
    return sys.platform in {"win32", "darwin"} or bool(has_desktop)


async def _pasted() -> str:
    """Read the final address of a browser on another machine, as the user pasted it."""
    prompt = "Waiting. On another machine, paste the address that the browser ends at: "
    while (line := await typed_line(prompt)) is not None:
        if line.strip():
            return line.strip()
    await asyncio.Event().wait()  # stdin has ended, but a browser may still connect
    raise AssertionError


def _tell(options: argparse.Namespace, words: str, *, done: bool, state: str) -> int:
    if options.json:
        print(json_line({"name": options.name, "login": state}))
    else:
        tell(words)
    return 0 if done else 1
