"""``indwell mcp``: lists, adds, removes, approves and tests MCP servers."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from indwell.cli.connections.mcp_connecting import book_here, login, test
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import is_typed, yes_or_no
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import one_line, visible
from indwell.errors import UserError
from indwell.mcp.definition import HttpServer
from indwell.mcp.server_book import (
    KnownServer,
    Standing,
    WorkspaceServers,
    question_about,
    server_named,
)
from indwell.service.mcp_servers import add_server, remove_server, why_unasked
from indwell.settings.credentials import redacted
from indwell.settings.paths import user_file

STANDINGS: dict[Standing, str] = {
    "usable": "used",
    "open": "waits for your approval",
    "declined": "not approved",
    "restricted": "not in this folder, which is not trusted",
    "off": "turned off",
}
"""Describes, for people, whether a server may be used."""


class ServerRow(msgspec.Struct, frozen=True):
    """An MCP server in the output of ``--json``."""

    name: str
    state: Standing
    source: str
    kind: str
    runs: str
    confined: bool


def mcp(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the command; return 0 for success, otherwise 1.

    Raises:
        UserError: The command failed; the message says why.
    """
    match options.action:
        case "add":
            return _add(options, parser)
        case "remove":
            return _remove(options)
        case "approve":
            return _approve(options)
        case "test":
            return test(options.name, as_json=options.json)
        case "login":
            return login(options)
        case _:
            return _list(as_json=options.json)


def _list(*, as_json: bool) -> int:
    found = book_here().look()
    rows = tuple(map(_row, found.servers))
    if as_json:
        sys.stdout.write(json_line({"servers": rows, "problems": found.problems}) + "\n")
        return 0
    for one in rows:
        loose = "" if one.confined or one.kind == "http" else ", outside of the sandbox"
        tell(f"{one.name}: {STANDINGS[one.state]} ({one_line(one.source)}{loose})")
        print(f"  {one_line(one.runs)}")
    if not rows:
        tell("there are no MCP servers here; add one with `indwell mcp add`")
    _tell_problems(found)
    return 0


def _row(server: KnownServer) -> ServerRow:
    definition = server.definition
    is_http = isinstance(definition.transport, HttpServer)
    return ServerRow(
        name=server.name,
        state=server.standing,
        source=server.source,
        kind="http" if is_http else "stdio",
        runs=redacted(definition.shown()),
        confined=definition.is_confined,
    )


def _tell_problems(found: WorkspaceServers) -> None:
    for problem in found.problems:
        tell(visible(problem), file=sys.stderr)


def _add(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if bool(options.words) == bool(options.url):
        parser.error("mcp add: give either the program to start (behind `--`) or --url")
    table: dict[str, Any] = {}
    if options.url:
        table["url"] = options.url
        headers = dict(_pair(one, ":", "--header", parser) for one in options.header)
        table |= {"headers": headers} if headers else {}
        table |= {"client_id": options.client_id} if options.client_id else {}
        table |= {"client_secret": options.client_secret} if options.client_secret else {}
        table |= {"grant": "client_credentials"} if options.client_credentials else {}
    else:
        command, *rest = options.words
        table["command"] = command
        table |= {"args": rest} if rest else {}
        env = dict(_pair(one, "=", "--env", parser) for one in options.env if "=" in one)
        passed = [one for one in options.env if "=" not in one]
        table |= {"env": env} if env else {}
        table |= {"variables": passed} if passed else {}
        table |= {"cwd": options.cwd} if options.cwd else {}
        table |= {"hosts": options.host} if options.host else {}
        table |= {"confined": False} if options.not_confined else {}
    table |= {"pinned": options.pin} if options.pin else {}
    add_server(options.name, table)
    if options.json:
        print(json_line({"added": options.name, "file": str(user_file())}))
        return 0
    tell(f"added {options.name!r} to {one_line(str(user_file()))}")
    tell(f"try it: indwell mcp test {options.name}")
    return 0


def _pair(written: str, sign: str, option: str, parser: argparse.ArgumentParser) -> tuple[str, str]:
    name, found, value = written.partition(sign)
    if not found or not name.strip():
        parser.error(f"mcp add: {option} needs NAME{sign}VALUE")
    return name.strip(), value.strip()


def _remove(options: argparse.Namespace) -> int:
    remove_server(options.name, book_here().look())
    if options.json:
        print(json_line({"removed": options.name}))
        return 0
    tell(f"removed {options.name!r} from {one_line(str(user_file()))}")
    return 0


def _approve(options: argparse.Namespace) -> int:
    book = book_here()
    server = server_named(book.look(), options.name)
    if server.folder is None or server.standing in {"restricted", "off"}:
        raise UserError(why_unasked(server))
    approved = bool(options.yes)
    if not (options.yes or options.no):
        tell(visible(question_about(server)))
        if options.json or not is_typed():
            tell("to use it, add --yes; to refuse it, add --no", file=sys.stderr)
            return 2
        code = yes_or_no("Use it?")
        if code not in {0, 1}:
            return code
        approved = code == 0
    book.answer(server, approved=approved)
    after = server_named(book.look(), options.name)
    if options.json:
        print(json_line(_row(after)))
    else:
        tell(f"{after.name}: {STANDINGS[after.standing]}")
    return 0
