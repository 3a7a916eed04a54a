"""Defines the command-line options of ``indwell mcp``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def mcp_options(mcp: argparse.ArgumentParser) -> None:
    """Add the command's actions and options to the command's parser."""
    mcp.description = (
        "Lists, adds, removes and tries the servers of the Model Context Protocol (MCP). Yours are "
        "in your settings and work in every folder; those of a project are in its .mcp.json or "
        ".vscode/mcp.json, and are used only after you approve them."
    )
    mcp.epilog = "Exit codes: 0 done, 1 not done, 2 the command line was wrong, 130 Ctrl-C."
    actions = mcp.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list the servers of this folder (the default)")
    _add(actions.add_parser("add", help="add a server to your settings, or replace it"))
    remove = actions.add_parser("remove", help="remove a server from your settings")
    _name(remove)
    approve = actions.add_parser("approve", help="decide whether a server of this project is used")
    _name(approve)
    said = approve.add_mutually_exclusive_group()
    said.add_argument("--yes", action="store_true", help="use it, without a question")
    said.add_argument("--no", action="store_true", help="do not use it")
    test = actions.add_parser("test", help="connect to a server, and list what it offers")
    _name(test)
    login = actions.add_parser("login", help="log in to a server that wants a login (OAuth)")
    _name(login)
    login.add_argument(
        "--paste",
        action="store_true",
        help="print the address, and read the address that the browser ends at: for a machine "
        "without a browser",
    )
    login.add_argument("--forget", action="store_true", help="delete the stored login instead")
    words = "print one JSON object"
    mcp.add_argument("--json", action="store_true", help=words)
    # The option has no default, because a default would override an earlier ``--json``.
    for one in actions.choices.values():
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=words)


def split_program(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split off the program and its options after the ``--`` of ``mcp add``.

    argparse cannot do this, because it ends a list of arguments at the first option.
    """
    if "mcp" in arguments[:1] and "add" in arguments and "--" in arguments:
        at = arguments.index("--")
        return arguments[:at], arguments[at + 1 :]
    return arguments, ()


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server's name")


def _add(add: argparse.ArgumentParser) -> None:
    add.epilog = (
        "For example: indwell mcp add files -- npx -y @modelcontextprotocol/server-filesystem . "
        "Or: indwell mcp add docs --url https://host/mcp"
    )
    _name(add)
    add.add_argument("words", nargs="*", metavar="COMMAND", help="the program and its arguments")
    add.add_argument("--url", default="", help="the address of a server that runs already")
    add.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="a header for that address; ${VARIABLE} in it takes a variable of yours",
    )
    add.add_argument(
        "--client-id",
        default="",
        metavar="ID",
        help="the id of a client that you registered at the server that logs in",
    )
    add.add_argument(
        "--client-secret",
        default="",
        metavar="'${NAME}'",
        help="the variable of yours with the secret of that client",
    )
    add.add_argument(
        "--client-credentials",
        action="store_true",
        help="log in as that client, without a browser",
    )
    add.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable for the program; NAME alone hands on yours",
    )
    add.add_argument("--cwd", default="", help="its working directory (default: the workspace)")
    add.add_argument(
        "--pin",
        action="append",
        default=[],
        metavar="TOOL",
        help="a tool of it that the model sees in every request",
    )
    add.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="a host that the program may reach from its sandbox, such as api.github.com",
    )
    add.add_argument(
        "--not-confined", action="store_true", help="start the program outside of the sandbox"
    )
