"""Applies the hunks of an edit that the user allowed, and tells the model of the rest.

A choice is for the hunks that were shown. If the edit would come to others by now, nothing is
written (POL-22).
"""

from __future__ import annotations

import asyncio

import msgspec

from indwell.errors import EditRefused
from indwell.policy.approvals import Chosen
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.editing.rebase import Proposal
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.hunks import DiffHunk, OtherHunks, take_hunks
from indwell.workspace.comparing.merge import merge

MOVED = "what it would do changed while the user was asked; nothing was done"


class RefusedHunks(msgspec.Struct, frozen=True):
    """The hunks that the user did not allow, and how many there were in all."""

    hunks: tuple[DiffHunk, ...] = ()
    of: int = 0


async def allowed_part(
    snapshot: Snapshot, proposal: Proposal, context: ToolContext, name: str
) -> tuple[Proposal, RefusedHunks]:
    """What of a proposal may be written, and what not; all of it if nothing was chosen.

    Raises:
        EditRefused: It has other hunks than those that were chosen from.
    """
    if context.chosen is None:
        return proposal, RefusedHunks()
    known = context.seen.text(snapshot.path)
    try:
        return await asyncio.to_thread(_part, snapshot, proposal, context.chosen, name, known)
    except OtherHunks:
        raise EditRefused(MOVED) from None


def check_whole(path: str, context: ToolContext) -> None:
    """For what is written whole, or in place: of this no hunks were shown.

    Raises:
        EditRefused: Some were, so the file was another one.
    """
    if context.chosen is not None:
        raise EditRefused(f"{path!r}: {MOVED}")


def with_refused(outcome: Outcome, refused: RefusedHunks) -> Outcome:
    """The outcome of an edit, with what of it the user did not allow."""
    n_refused = len(refused.hunks)
    if not n_refused:
        return outcome
    were = "1 was" if n_refused == 1 else f"{n_refused} were"
    diff = cut_diff("".join(f"{hunk.header}\n{hunk.text}" for hunk in refused.hunks))
    words = (
        f"{outcome.text}\nThe user was asked hunk by hunk: {refused.of - n_refused} of "
        f"{refused.of} hunks of this edit were allowed, and the diff above is all that was "
        f"applied. {were} refused and not applied; do not repeat them unless the user asks:\n"
        f"{diff.rstrip(chr(10))}"
    )
    figure = f"{outcome.figure}, {refused.of - n_refused} of {refused.of} hunks"
    return msgspec.structs.replace(outcome, text=words, figure=figure)


def _part(
    snapshot: Snapshot, proposal: Proposal, chosen: Chosen, name: str, known: str | None
) -> tuple[Proposal, RefusedHunks]:
    taken = take_hunks(snapshot.text, proposal.text, name, of=chosen.of, ids=chosen.hunks)
    now_known = taken.text
    if proposal.known != proposal.text:  # others wrote there what the model was not shown
        before = snapshot.text if known is None else known
        merged = merge(snapshot.text, taken.text, before)
        now_known = before if merged.conflicts else merged.text
    part = msgspec.structs.replace(proposal, text=taken.text, known=now_known)
    return part, RefusedHunks(taken.left, len(chosen.of))
