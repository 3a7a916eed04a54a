"""``indwell sessions``: lists the sessions that are kept on this machine, and deletes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from indwell.cli.terminal import cost_words
from indwell.errors import SessionError, UserError
from indwell.policy.approvals import one_line
from indwell.sessions.retention import Stored, delete, session_ids, stored
from indwell.sessions.store import folder_name
from indwell.settings.places import state_folder


def list_sessions(*, all_folders: bool, as_json: bool, limit: int | None) -> int:
    """Print ``limit`` of them, newest first; 0 done, 1 if the state folder cannot be read."""
    here = Path.cwd().resolve()
    folder = None if all_folders else folder_name(here)
    try:
        state = state_folder(os.environ)
        found = stored(state, folder=folder, limit=limit)
        n_older = len(session_ids(state, folder=folder)) - len(found)
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    elif found:
        console = Console(highlight=False)
        for one in found:
            _print(console, one, with_folder=all_folders)
        if n_older > 0:
            print(f"{n_older} older; `--limit 0` lists all", file=sys.stderr)
    else:
        where = (
            "on this machine"
            if all_folders
            else f"for {one_line(str(here))}; `--all` shows other folders'"
        )
        print(f"no sessions are kept {where}")
    return 0


def delete_sessions(ids: Sequence[str], *, as_json: bool) -> int:
    """Delete them; 0 done, 1 if one could not be, after all others were.

    Args:
        ids: Whole, or as much of each as no other session begins with.
        as_json: Print JSON.
    """
    gone: list[str] = []
    failed: dict[str, str] = {}
    for given in ids:
        session = given
        try:
            state = state_folder(os.environ)
            session = whole_id(given, session_ids(state))
            delete(state, session)
        except UserError as error:
            failed[session] = str(error)
        else:
            gone.append(session)
    if as_json:
        sys.stdout.write(msgspec.json.encode({"deleted": gone, "failed": failed}).decode() + "\n")
    else:
        for sentence in failed.values():
            print(sentence, file=sys.stderr)
        if gone:
            print(f"deleted: {', '.join(gone)}")
    return 1 if failed else 0


def whole_id(given: str, known: Sequence[str]) -> str:
    """The one session whose name begins with ``given``; ``given`` itself if none does. Pure.

    Raises:
        SessionError: Several do.
    """
    near = [one for one in known if one.startswith(given)] if given else []
    if given in near or not near:
        return given
    if len(near) > 1:
        raise SessionError(f"{len(near)} sessions begin with {given!r}; write more of it")
    return near[0]


def _print(console: Console, one: Stored, *, with_folder: bool) -> None:
    """One line, the id first and never broken; without a terminal, tabs between the cells."""
    seen = one.overview
    folder = [one.workspace] if with_folder else []
    cells = [one.id, str(seen.turns), cost_words(seen.cost), seen.model, *folder]
    plain = [one_line(cell) for cell in (*cells, seen.preview)]
    if not console.is_terminal:
        print("\t".join(plain))
        return
    turns = "1 turn" if seen.turns == 1 else f"{seen.turns} turns"
    rest = Text("  ".join((turns, *plain[2:])))
    rest.truncate(max(console.width - cell_len(plain[0]) - 2, 0), overflow="ellipsis")
    console.print(Text(f"{plain[0]}  ", end=""), rest, sep="", soft_wrap=True)
