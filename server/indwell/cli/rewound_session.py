"""``indwell run --resume ID --turn N``: the conversation is taken back, and files if wanted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from indwell.cli.json_line import json_line
from indwell.policy.approvals import visible
from indwell.review.ledger import ReviewLedger
from indwell.review.rewound import conflict, told
from indwell.review.verdicts import planned_rewind, rewind_files
from indwell.sessions.branches import Rewind
from indwell.sessions.forking import rewind_session
from indwell.sessions.store import SessionStore
from indwell.workspace.base import Workspace

RESTORES = frozenset({"r", "restore"})
NOTHING = "no change of later turns stands in the files"


async def taken_back(
    store: SessionStore,
    session: str,
    turn: int,
    *,
    ledger: ReviewLedger | None,
    workspace: Workspace,
) -> Rewind:
    """Take the conversation back, then the files if there is a ``ledger``.

    What would lose the user's work is asked about on a terminal, and kept everywhere else. The
    notices tell what became of the files.

    Raises:
        SessionError: There is no such session or turn, it is open, or it cannot be written.
    """
    made = await rewind_session(store, session, turn, now=datetime.now(UTC))
    if ledger is None:
        return made
    done = await rewind_files(ledger, workspace, session, turn)
    said = told(done, workspace.roots)
    if done.kept and sys.stdin.isatty():
        plans = await planned_rewind(ledger, workspace, session, turn)
        agreed = {one.path: one.before for one in plans if one.kept}
        print(conflict(done, workspace.roots), file=sys.stderr)
        answer = await asyncio.to_thread(input, "[K]eep mine / [r]estore: ")
        if answer.strip().lower() in RESTORES:
            more = await rewind_files(ledger, workspace, session, turn, force=True, agreed=agreed)
            said += told(more, workspace.roots)
    return made._replace(notices=(*made.notices, *(said or (NOTHING,))))


def tell_rewound(session: str, made: Rewind, *, as_json: bool, files: bool = False) -> None:
    """Say what was taken back, and how to go on."""
    if as_json:
        data = {"session": session, **made._asdict()}
        sys.stdout.write(json_line(data) + "\n")
        return
    tell_notices(made.notices)
    where = f"the end of turn {made.turn}" if made.turn else "its beginning"
    print(f"taken back to {where}" + ("" if files else "; files stay as they are (--files)"))
    if made.draft:
        print(f"what was said next: {visible(made.draft)}")
    print(f'go on with it: `indwell run --resume {session} "…"`')


def tell_notices(notices: Sequence[str]) -> None:
    """Say what the user should know, beside what is printed."""
    for notice in notices:
        print(visible(notice), file=sys.stderr)
