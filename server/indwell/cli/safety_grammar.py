"""The options of ``indwell permissions``, ``indwell trust`` and ``indwell audit``."""

from __future__ import annotations

import argparse

from indwell.cli.json_option import json_anywhere


def permissions_options(permissions: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    permissions.description = (
        "Lists what you have allowed for always in this folder, takes it back, and says how a "
        "command would be decided on and why."
    )
    actions = permissions.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what is allowed for always here (the default)")
    revoke = actions.add_parser("revoke", help="take permissions back")
    revoke.add_argument("which", nargs="*", metavar="N", help="their numbers in the list")
    revoke.add_argument("--all", action="store_true", help="all of this folder")
    explain = actions.add_parser("explain", help="how a command would be decided on, and why")
    explain.add_argument(
        "--rules",
        metavar="FILE",
        help="JSON with lists of patterns: allow, ask, deny (default: those of your settings)",
    )
    explain.add_argument(
        "--sandboxed", action="store_true", help="as in a sandbox that keeps writes in the folder"
    )
    explain.add_argument(
        "--mode", choices=("plan", "ask", "review", "auto"), help="(default: yours)"
    )
    explain.add_argument("--cwd", metavar="FOLDER", help="where it would run (default: here)")
    explain.add_argument(
        "--stdin",
        action="store_true",
        help="one JSON object a line (command; rules, sandboxed, mode, cwd), one answer a line",
    )
    explain.add_argument("words", nargs="*", metavar="COMMAND", help="behind --")
    json_anywhere(permissions, actions.choices.values())


def trust_options(trust: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    trust.description = (
        "Trusts a folder, as its files are now: commands may run there, its settings may tighten "
        "yours, and its AGENTS.md goes to the model. Asked again when those files change."
    )
    trust.add_argument("folder", nargs="?", default=".", help="(default: this one)")
    what = trust.add_mutually_exclusive_group()
    what.add_argument("--revoke", action="store_true", help="trust it no longer")
    what.add_argument("--list", action="store_true", help="list the answers of all folders")
    trust.add_argument("--yes", action="store_true", help="do it without asking")
    _json(trust)


def audit_options(audit: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    audit.description = (
        "Prints what the agent wanted to do in a session, which rule allowed or denied it, what "
        "you said, and what was run."
    )
    audit.add_argument(
        "session", nargs="?", default="", help="its id or the beginning of it (default: the newest)"
    )
    audit.add_argument("--turn", type=int, metavar="N", help="only this turn")
    _json(audit)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
