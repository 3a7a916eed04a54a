"""A ledger in a folder of its own, and changes in it as if an agent had made them."""

from __future__ import annotations

from pathlib import Path

from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger

ME = Actor("s1", 1)


async def ledger_in(folder: Path, *roots: Path) -> ReviewLedger:
    """A ledger that knows nothing yet, or what an earlier one left there."""
    return await ReviewLedger.open(folder / "ledger", roots)


async def change(
    ledger: ReviewLedger, path: Path, before: str | None, after: str, actor: Actor = ME
) -> None:
    """The agent changes a file, as an edit that was taken."""
    pending = await ledger.begin(actor, "call", path, before, after)
    await ledger.finish(pending, after, accepted=False)
