"""``indwell trust``: trusts a folder with its present files, revokes trust, lists answers."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.terminal.front_door import MEANINGS
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import is_typed, yes_or_no
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import named, one_line, visible
from indwell.errors import UserError
from indwell.policy.trust import State, TrustStanding, is_unchanged
from indwell.service.user_settings import read_settings
from indwell.settings.paths import state_folder
from indwell.settings.trust_store import TrustStore
from indwell.settings.trusted_files import FolderAnswer


class TrustOutput(msgspec.Struct, frozen=True):
    """The output of ``--json`` for a folder; Indwell runs or obeys its ``files``."""

    folder: str
    state: str
    by: str
    files: tuple[str, ...] = ()


def trust(options: argparse.Namespace) -> int:
    """Run the command; return 0 for success, 1 for a failure, 2 if no terminal can ask.

    Raises:
        UserError: The folder does not exist, or the answer cannot be stored.
    """
    if options.list:
        return _list(as_json=options.json)
    folder = Path(options.folder).resolve()
    if not folder.is_dir():
        raise UserError(f"{options.folder!r} is not a folder")
    try:
        if options.revoke:
            return _revoke(folder, as_json=options.json)
        return _trust(folder, is_sure=options.yes, as_json=options.json)
    except UserError as error:
        tell(visible(str(error)), file=sys.stderr)
        return 1


def _trust(folder: Path, *, is_sure: bool, as_json: bool) -> int:
    settings = read_settings(os.environ).settings
    here = FolderTrust(os.environ)
    (standing,) = here.look((folder,), settings)
    shown = here.shown(standing)
    if standing.state == "trusted" and (standing.is_whole or _is_whole(shown)):
        _tell(shown, as_json=as_json)
        return 0
    shown = _to_be_asked(shown)
    if not is_sure:
        if as_json or not is_typed():
            # Show all content that --yes would accept, including the instructions of subfolders.
            _tell(msgspec.structs.replace(standing, items=shown.items), as_json=as_json)
            tell("to trust its present files, add --yes", file=sys.stderr)
            return 2
        tell(visible(shown.question))
        code = yes_or_no("Trust it?", MEANINGS)
        if code:
            tell("it stays restricted")
            return code
    here.answer(shown, trusted=True)
    (after,) = here.look((folder,), settings)
    _tell(here.shown(after), as_json=as_json)
    return 0 if after.state == "trusted" else 1


def _is_whole(shown: TrustStanding) -> bool:
    """Return whether all trusted files are unchanged, including the instructions of subfolders."""
    return shown.before is not None and is_unchanged(shown.before, shown.items)


def _to_be_asked(standing: TrustStanding) -> TrustStanding:
    """Return the trust as if the user had never refused, so that the user sees what is stored."""
    before = None if _is_whole(standing) else standing.before
    return msgspec.structs.replace(standing, state="open", before=before)


def _revoke(folder: Path, *, as_json: bool) -> int:
    was_known = TrustStore(state_folder(os.environ)).forget(folder)
    settings = read_settings(os.environ).settings
    (after,) = FolderTrust(os.environ).look((folder,), settings)
    if as_json:
        _tell(after, as_json=True)
    elif was_known:
        tell(f"forgotten: {one_line(str(folder))}")
    else:
        tell(f"there is no answer for {named(str(folder))}")
    if after.state == "trusted":
        tell(f"it is still trusted by {after.by}", file=sys.stderr)
        return 1
    return 0 if was_known else 1


def _state_of(answer: FolderAnswer) -> State:
    """Name the state of a folder by an answer; a folder with left-out files has no answer yet."""
    if answer.is_left_out:
        return "open"
    return "trusted" if answer.trusted else "restricted"


def _list(*, as_json: bool) -> int:
    answers = TrustStore(state_folder(os.environ)).read()
    if answers.problem:
        tell(visible(answers.problem), file=sys.stderr)
        return 1
    told = [
        TrustOutput(
            folder=folder,
            state=_state_of(one),
            by=f"your answer of {one.at}",
            files=tuple(one.files),
        )
        for folder, one in sorted(answers.folders.items())
    ]
    if as_json:
        _print_json(told)
        return 0
    for one in told:
        tell(f"{one.state}: {named(one.folder)} ({one_line(one.by)})")
    if not told:
        tell("you have answered for no folder yet")
    return 0


def _tell(standing: TrustStanding, *, as_json: bool) -> None:
    names = tuple(one.name for one in standing.items)
    if as_json:
        _print_json(TrustOutput(standing.folder, standing.state, standing.by, names))
        return
    state = "trusted" if standing.state == "trusted" else "restricted"
    tell(f"{state}: {named(standing.folder)} ({visible(standing.by)})")
    for name in names:
        print(f"  {one_line(name)}")


def _print_json(value: object) -> None:
    sys.stdout.write(json_line(value) + "\n")
