"""``indwell sessions``: lists, deletes and forks sessions."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import cost_words
from indwell.cli.terminal.waiting import wait_for
from indwell.errors import SessionError, UserError
from indwell.policy.approvals import one_line
from indwell.service.sessions.stored_sessions import gone_words, recent, size_words
from indwell.service.user_settings import read_settings
from indwell.sessions.forking import fork_session
from indwell.sessions.storage.automatic_deletion import held_b, record_of
from indwell.sessions.storage.retention import Stored, delete, session_ids, stored
from indwell.sessions.storage.store import SessionStore, folder_name
from indwell.settings.paths import state_folder

_MOST_WIDTH = 18  # characters of a cell other than the id and the last cell


def list_sessions(*, all_folders: bool, as_json: bool, limit: int | None) -> int:
    """Print ``limit`` sessions, newest first; returns 0.

    Raises:
        UserError: The state folder cannot be read.
    """
    here = Path.cwd().resolve()
    folder = None if all_folders else folder_name(here)
    state = state_folder(os.environ)
    found = stored(state, folder=folder, limit=limit)
    n_older = len(session_ids(state, folder=folder)) - len(found)
    if as_json:
        sys.stdout.write(json_line(found) + "\n")
    elif found:
        console = Console(highlight=False)
        if console.is_terminal:
            _print_table(console, found, with_folder=all_folders)
        else:  # plain lines for programs, without a header
            for one in found:
                print("\t".join(_cells(one, with_folder=all_folders)))
        if n_older > 0:
            print(f"{n_older} older; `--limit 0` lists all", file=sys.stderr)
        print_room(state, is_terminal=console.is_terminal)
    else:
        where = (
            "on this machine"
            if all_folders
            else f"for {one_line(str(here))}; `--all` shows other folders'"
        )
        print(f"there are no sessions {where}")
    return 0


def print_room(state: Path, *, is_terminal: bool) -> None:
    """Report recent deletions, and at a terminal the disk space of the sessions."""
    lines = [gone_words(recent(record_of(state).gone, datetime.now(UTC)))]
    if is_terminal:
        with contextlib.suppress(UserError):  # invalid settings must not hide sessions
            lines.append(size_words(held_b(state), read_settings(os.environ).settings))
    for line in filter(None, lines):
        print(line, file=sys.stderr)


def delete_sessions(ids: Sequence[str], *, as_json: bool) -> int:
    """Delete sessions; 0 done, 1 if one failed, after trying all.

    Args:
        ids: Full ids, or unique beginnings of them.
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
        sys.stdout.write(json_line({"deleted": gone, "failed": failed}) + "\n")
    else:
        for sentence in failed.values():
            print(sentence, file=sys.stderr)
        if gone:
            print(f"deleted: {', '.join(gone)}")
    return 1 if failed else 0


def whole_id(given: str, known: Sequence[str]) -> str:
    """The one session whose id begins with ``given``; ``given`` itself if none does. Pure.

    Raises:
        SessionError: Several ids begin with it.
    """
    near = [one for one in known if one.startswith(given)] if given else []
    if given in near or not near:
        return given
    if len(near) > 1:
        raise SessionError(f"{len(near)} sessions begin with {given!r}; give more characters")
    return near[0]


def _print_table(console: Console, found: Sequence[Stored], *, with_folder: bool) -> None:
    """Print aligned cells: the id first and whole, long cells cut."""
    folder = ("folder",) if with_folder else ()
    rows = [("session", "turns", "cost", "model", *folder, "words")]
    rows += [_cells(one, with_folder=with_folder) for one in found]
    widths = [min(max(map(cell_len, column)), _MOST_WIDTH) for column in zip(*rows, strict=True)]
    widths[0] = max(cell_len(row[0]) for row in rows)
    for number, row in enumerate(rows):
        line = Text(style="" if number else "bold")
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            shown = Text(cell)
            if 0 < at < len(row) - 1:
                shown.truncate(width, overflow="ellipsis")
            shown.pad_right(width - shown.cell_len)
            line = line + shown + Text("  ")
        line.rstrip()
        line.truncate(max(console.width, widths[0]), overflow="ellipsis")
        console.print(line, soft_wrap=True)


def _cells(one: Stored, *, with_folder: bool) -> tuple[str, ...]:
    seen = one.overview
    folder = (one.workspace,) if with_folder else ()
    held = " ".join(filter(None, (seen.model, "imported" if seen.imported else "")))
    cells = (one.id, str(seen.turns), cost_words(seen.cost), held, *folder, seen.title)
    return tuple(one_line(cell) for cell in cells)


def fork(given: str, turn: int | None, *, as_json: bool) -> int:
    """Fork a session of this folder; returns 0.

    Args:
        given: Its id, or the first characters of it.
        turn: The last turn to copy; None for the last finished one.
        as_json: Print JSON.

    Raises:
        UserError: It cannot be forked.
    """
    store = SessionStore(state_folder(os.environ), Path.cwd())
    made = wait_for(fork_session(store, whole_id(given, store.ids()), turn, now=datetime.now(UTC)))
    if as_json:
        sys.stdout.write(json_line(made._asdict()) + "\n")
        return 0
    for notice in made.notices:
        print(notice, file=sys.stderr)
    print(f"{made.session}\tfork of {made.origin}, as it was after turn {made.turn}")
    print(f'resume it: `indwell run --resume {made.session} "…"`', file=sys.stderr)
    return 0
