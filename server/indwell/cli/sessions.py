"""``indwell sessions``: lists the sessions that are kept on this machine, and deletes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indwell.errors import UserError
from indwell.policy.approvals import visible
from indwell.sessions.retention import Stored, delete, stored
from indwell.sessions.store import folder_name
from indwell.settings.places import state_folder


def list_sessions(*, all_folders: bool, as_json: bool) -> int:
    """Print them, newest first; 0 done, 1 if the state folder cannot be read."""
    here = Path.cwd().resolve()
    try:
        state = state_folder(os.environ)
        found = stored(state, folder=None if all_folders else folder_name(here))
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    elif found:
        Console(highlight=False).print(_table(found, with_folder=all_folders))
    else:
        where = "on this machine" if all_folders else f"for {here}; `--all` shows other folders'"
        print(f"no sessions are kept {where}")
    return 0


def delete_sessions(ids: Sequence[str], *, as_json: bool) -> int:
    """Delete them; 0 done, 1 if one could not be, after all others were."""
    gone: list[str] = []
    failed: dict[str, str] = {}
    for session in ids:
        try:
            delete(state_folder(os.environ), session)
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


def _table(found: Sequence[Stored], *, with_folder: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "model", "turns", "first words"):
        table.add_column(name, justify="right" if name == "turns" else "left", overflow="fold")
    if with_folder:
        table.add_column("folder", overflow="fold")
    for one in found:
        seen = one.overview
        cells = [one.id, seen.model, str(seen.turns), seen.preview]
        if with_folder:
            cells.append(one.workspace)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table
