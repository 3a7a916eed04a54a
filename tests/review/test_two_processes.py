"""Two processes with ledgers of one workspace, and a third process that reads the whole log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from support.virtual_time import run

FILE = Path("/project/a.py")
N_STEPS = 15


async def _life(random: Random, folder: Path) -> None:
    ledgers = [await ReviewLedger.open(folder, []) for _ in range(2)]
    text: str | None = "".join(f"line {n}\n" for n in range(random.randrange(6)))
    for number in range(N_STEPS):
        one = random.choice(ledgers)
        for other in ledgers if random.random() < 0.5 else [one]:
            other.sync(FILE, text)
        match random.choice(("agent", "agent", "user", "accept", "reject", "refused", "gone")):
            case "agent":
                after = _changed(random, text, f"agent {number}")
                actor = Actor("s", number // 4)
                pending = await one.begin(actor, "use", FILE, text, after)
                text = _changed(random, after, f"race {number}") if number % 5 == 0 else after
                await one.finish(pending, text, accepted=random.random() < 0.2)
            case "user":
                text = _changed(random, text, f"user {number}")
            case "gone":
                text = None if random.random() < 0.3 else text
            case "refused":
                after = _changed(random, text, f"never {number}")
                pending = await one.begin(Actor("s", 9), "use", FILE, text, after)
                await one.withdraw(pending, may_come=random.random() < 0.5)
            case verdict:
                one.sync(FILE, text)
                ids = [hunk.id for hunk in one.hunks(FILE) if random.random() < 0.7]
                if verdict == "accept":
                    await one.accept(ids)
                else:
                    plan = one.rejection(FILE, ids, force=random.random() < 0.3)
                    await one.rejected(plan, plan.text)
                    text = plan.text
    await _compared(ledgers, text, folder)


async def _compared(ledgers: list[ReviewLedger], text: str | None, folder: Path) -> None:
    third = await ReviewLedger.open(folder, [])
    for ledger in (*ledgers, third):
        await ledger.close()
    for ledger in (*ledgers, third):
        await ledger.refresh()
        ledger.sync(FILE, text)
        assert ledger.take_notices() == ()
    for ledger in ledgers:
        assert ledger.hunks(FILE) == third.hunks(FILE)
        assert ledger.base(FILE) == third.base(FILE)
        assert ledger.text(FILE) == (text if third.known() else None)
        assert ledger.untold("s") == third.untold("s")
        await ledger.close()


def _changed(random: Random, text: str | None, word: str) -> str:
    lines = (text or "").splitlines(keepends=True)
    at = random.randrange(len(lines) + 1)
    lines[at : at + random.randrange(3)] = [f"{word} {n}\n" for n in range(random.randrange(3))]
    return "".join(lines)


@settings(max_examples=min(25, settings().max_examples), deadline=None)
@given(st.integers(0, 2**32))
def test_two_processes_agree_on_pending_changes_after_random_events(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(_life(Random(seed), Path(folder)))
