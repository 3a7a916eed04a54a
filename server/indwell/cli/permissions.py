"""``indwell permissions``: what was allowed for always, and its end."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from indwell.cli.json_line import json_line
from indwell.errors import SettingsError, UserError
from indwell.policy.approvals import one_line, visible
from indwell.sessions.store import folder_name
from indwell.settings.places import state_folder
from indwell.settings.rules import RuleBook


class Told(msgspec.Struct, frozen=True):
    """What ``--json`` prints: the rules in force, and how many were taken back."""

    folder: str
    rules: tuple[str, ...]
    revoked: int = 0


def permissions(options: argparse.Namespace) -> int:
    """Do it; 0 if it is done, 1 if it cannot be.

    Raises:
        UserError: The command line names a number that is not in the list.
    """
    folder = Path.cwd()
    book = rules_of_folder(folder)
    if book.problem:
        print(visible(book.problem), file=sys.stderr)
        return 1
    try:
        revoked = _revoke(options, book) if options.action == "revoke" else 0
    except SettingsError as error:
        print(visible(str(error)), file=sys.stderr)
        return 1
    _tell(Told(str(folder), book.always, revoked), as_json=options.json)
    return 0


def rules_of_folder(folder: Path) -> RuleBook:
    """What was allowed for always in a folder."""
    name = folder_name(folder.resolve())
    return RuleBook(state_folder(os.environ) / "permissions" / f"{name}.json")


def _revoke(options: argparse.Namespace, book: RuleBook) -> int:
    known = book.always
    if options.all:
        return book.revoke(known)
    if not options.which:
        raise UserError("say which: their numbers in `indwell permissions`, or --all")
    chosen = []
    for word in options.which:
        if not (word.isascii() and word.isdigit() and 1 <= int(word) <= len(known)):
            raise UserError(f"{word!r} is no number in the list, which has {len(known)}")
        chosen.append(known[int(word) - 1])
    return book.revoke(chosen)


def _tell(told: Told, *, as_json: bool) -> None:
    if as_json:
        print(json_line(told))
        return
    if told.revoked:
        print(f"{told.revoked} taken back; running servers heed it at once.")
    if not told.rules:
        print(f"Nothing is allowed for always in {one_line(told.folder)}.")
        return
    print(f"Allowed for always in {one_line(told.folder)}, each exactly as it stands:")
    for number, rule in enumerate(told.rules, 1):
        print(f"{number:4}  {one_line(rule)}")
