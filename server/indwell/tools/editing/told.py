"""Reports a change: one sentence, the diff, the figures; and notes what the model knows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from indwell.tools.base import Outcome, ToolContext
from indwell.tools.editing.rebase import Proposal, cut_others
from indwell.tools.editing.wellformed import damage
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import AppliedChange, digest
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import display
from indwell.workspace.text import shown


class _ChangeAccount(msgspec.Struct, frozen=True):
    """What is said of a change, and what the model knows when it has read it."""

    outcome: Outcome
    known: str
    digest: str


async def told(
    change: AppliedChange, proposal: Proposal, context: ToolContext, did: str
) -> Outcome:
    """The result of an edit; ``did`` says what it was."""
    account = await asyncio.to_thread(_account, change, proposal, context.workspace.roots, did)
    context.seen.record(change.path, account.digest, account.known)
    return account.outcome


def _account(
    change: AppliedChange, proposal: Proposal, roots: tuple[Path, ...], did: str
) -> _ChangeAccount:
    name = display(change.path, roots)
    difference = compare(change.before, change.after)
    n_added, n_removed = difference.n_added, difference.n_removed
    figure = f"+{n_added} \N{MINUS SIGN}{n_removed}"
    diff = shown(unified(difference, name))
    words = [f"{did}: {figure}", *proposal.notes]
    known, late, is_known = proposal.known, "", change.verified
    if change.after != proposal.text:
        # The model has seen what it proposed; of what became of that it knows what it is shown.
        late, is_known = cut_others(proposal.text, change.after, name)
        # Both hold what others wrote before, and of that it may have been shown a part alone.
        if is_known and proposal.known == proposal.text:
            known = change.after
    if change.note:
        words.append(change.note)
    if not is_known:
        words.append("it could not be verified; read_file it")
    spoilt = damage(name, change.before, change.after)
    if spoilt:
        words.append(spoilt)
    pieces = ["; ".join(words)]
    if change.before is not None:  # the model has just written all of a new file
        pieces.append(cut_diff(diff))
    if proposal.others:
        pieces += [
            f"{name} had changed since it was read, and the edit was merged with that change:",
            proposal.others,
        ]
    if late:
        pieces += ["right after the edit, this was changed:", late]
    outcome = Outcome(
        text="\n".join(piece.rstrip("\n") for piece in pieces),
        figure=figure,
        diff=diff,
        counts=(n_added, n_removed),
        changes=(change,),
    )
    mark = change.stamp.digest if known == change.after == proposal.text else digest(known)
    return _ChangeAccount(outcome, known, mark)
