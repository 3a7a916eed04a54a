"""``indwell sessions fork``: a new session that goes on from the end of a turn of another one."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from indwell.cli.json_line import json_line
from indwell.cli.sessions import whole_id
from indwell.cli.waiting import wait_for
from indwell.errors import UserError
from indwell.sessions.branches import Fork
from indwell.sessions.forking import fork_session
from indwell.sessions.store import SessionStore
from indwell.settings.places import state_folder


def fork(given: str, turn: int | None, *, as_json: bool) -> int:
    """Fork a session of this folder; 0 done, 1 if it cannot be.

    Args:
        given: Its id, or the beginning of it.
        turn: Up to whose end; None for the last one that has ended.
        as_json: Print JSON.
    """
    try:
        store = SessionStore(state_folder(os.environ), Path.cwd())
        made = wait_for(_forked(store, whole_id(given, store.ids()), turn))
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        sys.stdout.write(json_line(made._asdict()) + "\n")
        return 0
    for notice in made.notices:
        print(notice, file=sys.stderr)
    print(f"{made.session}\tfork of {made.origin}, as it was after turn {made.turn}")
    print(f'go on with it: `indwell run --resume {made.session} "…"`', file=sys.stderr)
    return 0


async def _forked(store: SessionStore, origin: str, turn: int | None) -> Fork:
    return await fork_session(store, origin, turn, now=datetime.now(UTC))
