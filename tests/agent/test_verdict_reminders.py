"""A reminder about a verdict tells the model which changes were reverted, and which remain."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.test_review_in_the_loop import BEFORE, READ, A, edit, reject_all, reviewing, told
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, reject
from indwell.workspace.base import Snapshot
from support.memory_workspace import MemoryWorkspace
from support.session import PATIENCE_S, World, says

ONE = edit("e1", ("line 2", "two"))
MORE = edit("e2", ("two", "TWO"))


def wrote(world: World, ledger: ReviewLedger, text: str) -> None:
    """Change the file to ``text``, as the user's editor would."""
    assert isinstance(world.workspace, MemoryWorkspace)
    world.workspace.files[A] = text
    world.workspace.watch.note(A)
    ledger.sync(A, text)


async def test_only_the_reverted_part_of_a_hunk_of_two_turns_is_reported(tmp_path: Path) -> None:
    script = [READ, ONE, says(), MORE, says(), says()]
    async with reviewing(tmp_path, script) as (world, ledger):
        await world.turn()
        await world.turn("shout")
        await reject_all(world, ledger, session=world.session.id, turn=2)
        await world.turn("and now?")
        (words,) = told(world)
        assert "@@ line 2 @@\n-two\n+TWO\n" in words
        assert "-line 2" not in words
        assert "Besides" not in words
        assert world.session.seen.text(A) == BEFORE.replace("line 2\n", "two\n")


async def test_two_overlapping_rejections_are_not_reported_as_outside_changes(
    tmp_path: Path,
) -> None:
    script = [READ, ONE, says(), MORE, says(), says()]
    async with reviewing(tmp_path, script) as (world, ledger):
        await world.turn()
        await world.turn("shout")
        for turn in (2, 1):
            await reject_all(world, ledger, session=world.session.id, turn=turn)
        await world.turn("and now?")
        (words,) = told(world)
        assert 'rejected="2"' in words
        assert "@@ line 2 @@\n-two\n+TWO\n@@ line 2 @@\n-line 2\n+two\n" in words
        assert "Besides" not in words
        assert world.session.seen.text(A) == BEFORE


async def test_a_rejection_that_the_user_undid_in_the_editor_is_not_reported(
    tmp_path: Path,
) -> None:
    async with reviewing(tmp_path, [READ, ONE, says(), says(), says()]) as (world, ledger):
        await world.turn()
        before = BEFORE.replace("line 2\n", "two\n")
        await reject_all(world, ledger)
        wrote(world, ledger, before)
        await world.turn("and now?")
        assert told(world) == []
        wrote(world, ledger, BEFORE)  # the user redoes the rejection
        await world.turn("and now?")
        (words,) = told(world)
        assert "Your edit of this file was undone" in words


async def test_an_undone_and_then_edited_rejection_is_reported_as_an_outside_change(
    tmp_path: Path,
) -> None:
    async with reviewing(tmp_path, [READ, ONE, says(), says()]) as (world, ledger):
        await world.turn()
        await reject_all(world, ledger)
        now = BEFORE.replace("line 2\n", "two\n").replace("line 9\n", "nine\n")
        wrote(world, ledger, now)
        await world.turn("and now?")
        (words,) = told(world)
        assert "which is taken back" not in words
        assert "was taken back; the file was changed there since, so look at" in words
        assert "-line 9\n+nine\n" in words
        assert "-two" not in words.partition("Besides")[2]
        assert world.session.seen.text(A) == now


async def test_after_undoing_the_later_of_two_rejections_the_earlier_is_still_reported(
    tmp_path: Path,
) -> None:
    both = edit("e1", ("line 2", "two"), ("line 30", "thirty"))
    async with reviewing(tmp_path, [READ, both, says(), says()]) as (world, ledger):
        await world.turn()
        first, second = ledger.hunks(A)
        await reject(ledger, world.workspace, Scope(hunks=(first.id,)))
        assert isinstance(world.workspace, MemoryWorkspace)
        between = world.workspace.files[A]
        await reject(ledger, world.workspace, Scope(hunks=(second.id,)))
        wrote(world, ledger, between)
        await world.turn("and now?")
        (words,) = told(world)
        assert 'rejected="1"' in words
        assert "+two" in words
        assert "thirty" not in words


class SlowWorkspace(MemoryWorkspace):
    """A workspace that can read slowly."""

    is_slow = False

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__(files)
        self.asked = asyncio.Event()

    async def read(self, path: Path) -> Snapshot:
        if self.is_slow:
            self.asked.set()
            await asyncio.Event().wait()
        return await super().read(path)


async def test_a_verdict_is_reported_even_if_a_turn_was_stopped_during_its_report(
    tmp_path: Path,
) -> None:
    workspace = SlowWorkspace({"a.py": BEFORE})
    script = [READ, ONE, says(), says()]
    async with reviewing(tmp_path, script, workspace=workspace) as (world, ledger):
        await world.turn()
        await reject_all(world, ledger)
        workspace.is_slow = True
        stopped = world.begin("and now?")
        await asyncio.wait_for(workspace.asked.wait(), PATIENCE_S)
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
        workspace.is_slow = False
        await world.turn("and now?")
        (words,) = told(world)
        assert 'rejected="1"' in words
        assert ledger.untold(world.session.id) == ()
