"""``indwell run --resume ID --turn N`` without words: the conversation is taken back, no more."""

from __future__ import annotations

import sys

import msgspec

from indwell.policy.approvals import visible
from indwell.sessions.branches import Rewind


def tell_rewound(session: str, made: Rewind, *, as_json: bool) -> None:
    """Say what was taken back, and how to go on."""
    if as_json:
        data = {"session": session, **made._asdict()}
        sys.stdout.write(msgspec.json.encode(data).decode() + "\n")
        return
    for notice in made.notices:
        print(notice, file=sys.stderr)
    where = f"the end of turn {made.turn}" if made.turn else "its beginning"
    print(f"taken back to {where}; files stay as they are")
    if made.draft:
        print(f"what was said next: {visible(made.draft)}")
    print(f'go on with it: `indwell run --resume {session} "…"`')
