"""Makes a review ledger in a separate folder, and records changes as an agent's edits."""

from __future__ import annotations

from pathlib import Path

from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger

ME = Actor("s1", 1)


async def ledger_in(folder: Path, *roots: Path) -> ReviewLedger:
    """Return a ledger for a folder, with the changes that an earlier ledger stored there."""
    return await ReviewLedger.open(folder / "ledger", roots)


async def change(
    ledger: ReviewLedger, path: Path, before: str | None, after: str, actor: Actor = ME
) -> None:
    """Change a file and record the change as an accepted edit of the agent."""
    pending = await ledger.begin(actor, "call", path, before, after)
    await ledger.finish(pending, after, accepted=False)
