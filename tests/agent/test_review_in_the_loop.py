"""Edits in real turns are recorded, accepted, and reported exactly once."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import EditApplied, HunksChanged, Notice
from indwell.agent.restore import past_of
from indwell.errors import EditMayCome, EditRefused, TextMoved, Unreachable
from indwell.messages import Text
from indwell.policy.call_facts import Policy
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, accept, reject
from indwell.sessions.records import Rewound, TurnEndRecord, TurnStartRecord
from indwell.settings.model import Mode
from indwell.workspace.base import UNMARKED, AppliedChange, ChangeMarks, Snapshot
from support.memory_workspace import ROOT, MemoryWorkspace
from support.session import World, a_world, asks, call, says, with_parts, with_rules

A = ROOT / "a.py"
BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
READ = asks(call("read_file", "r1", path="a.py"))


def edit(id_: str, *pairs: tuple[str, str]) -> Any:
    edits = [{"old": f"{old}\n", "new": f"{new}\n"} for old, new in pairs]
    return asks(call("edit_file", id_, path="a.py", edits=edits))


TWO = edit("e1", ("line 2", "two"), ("line 30", "thirty"))


@asynccontextmanager
async def reviewing(
    folder: Path,
    script: Sequence[Any],
    *,
    mode: Mode = "review",
    workspace: MemoryWorkspace | None = None,
    **named: Any,
) -> AsyncIterator[tuple[World, ReviewLedger]]:
    """Run a session with a review ledger in ``folder``."""
    workspace = workspace or MemoryWorkspace({"a.py": BEFORE})
    ledger = await ReviewLedger.open(folder / "review", workspace.roots)
    async with a_world(folder, script, workspace=workspace, policy=Policy(mode), **named) as world:
        with_parts(world.session, review=ledger)
        yield world, ledger


def told(world: World) -> list[str]:
    """Return the texts of all reminders about changed files, in order."""
    return [
        block.text
        for message in world.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "changed_file"
    ]


async def reject_all(world: World, ledger: ReviewLedger, **scope: Any) -> None:
    done = await reject(ledger, world.workspace, Scope(**scope))
    assert (done.kept, done.failed) == ((), ())
    assert isinstance(world.workspace, MemoryWorkspace)
    world.workspace.watch.note(A)


async def test_changes_wait_in_review_mode_and_their_number_is_reported(tmp_path: Path) -> None:
    async with reviewing(tmp_path, [READ, TWO, says()]) as (world, ledger):
        finished = await world.turn()
        assert [(one.old, one.new) for one in ledger.hunks(A)] == [
            (("line 2\n",), ("two\n",)),
            (("line 30\n",), ("thirty\n",)),
        ]
        assert {one.actors for one in ledger.hunks(A)} == {(Actor(world.session.id, 1),)}
        assert ledger.base(A) == BEFORE
        assert world.told(HunksChanged) == [HunksChanged(1, 2, ("a.py",))]
        assert finished.to_review == 2
        assert len(world.told(EditApplied)) == 1


async def test_in_auto_mode_changes_are_accepted_at_once_and_a_turn_can_be_reverted(
    tmp_path: Path,
) -> None:
    async with reviewing(tmp_path, [READ, TWO, says()], mode="auto") as (world, ledger):
        finished = await world.turn()
        assert (ledger.n_pending, ledger.hunks(A), finished.to_review) == (0, (), 0)
        assert world.told(HunksChanged) == []
        assert ledger.before(A, world.session.id, 1) == BEFORE


async def test_an_edit_shown_and_allowed_in_ask_mode_counts_as_reviewed(tmp_path: Path) -> None:
    script = [READ, TWO, edit("e2", ("line 9", "nine")), says()]
    async with reviewing(tmp_path, script, mode="ask", answers=("once", "no")) as (world, ledger):
        await world.turn()
        assert (ledger.n_pending, ledger.before(A, world.session.id, 1)) == (0, BEFORE)


async def test_an_edit_allowed_by_an_earlier_yes_waits_for_review(tmp_path: Path) -> None:
    script = [READ, TWO, edit("e2", ("line 9", "nine")), says()]
    async with reviewing(tmp_path, script, mode="ask", answers=("session",)) as (world, ledger):
        await world.turn()
        assert len(world.approver.questions) == 1
        assert [one.new for one in ledger.hunks(A)] == [("nine\n",)]


async def test_the_mode_at_the_time_of_each_edit_decides_about_review(tmp_path: Path) -> None:
    modes: list[Mode] = ["review"]

    def later(_request: object) -> Any:
        modes.append("auto")
        return edit("e2", ("line 9", "nine"))

    async with reviewing(tmp_path, [READ, TWO, later, says()]) as (world, ledger):
        parts = world.session.parts
        rules = lambda: parts.rules().in_mode(modes[-1])  # noqa: E731
        world.session.parts = dataclasses.replace(parts, rules=rules)
        await world.turn()
        assert [one.new for one in ledger.hunks(A)] == [("two\n",), ("thirty\n",)]


async def test_in_plan_mode_no_change_is_recorded(tmp_path: Path) -> None:
    async with reviewing(tmp_path, [READ, TWO, says()], mode="plan") as (world, ledger):
        await world.turn()
        assert (world.results[-1].is_error, ledger.known()) == (True, ())


class Failing(MemoryWorkspace):
    """A workspace that refuses edits with an error, or never answers."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__({"a.py": BEFORE})
        self.is_asked = asyncio.Event()
        self._error = error

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        del path, base, text, marks
        assert label.endswith("(turn 1)")
        self.is_asked.set()
        if self._error is None:
            await asyncio.Event().wait()
        assert self._error is not None
        raise self._error


@pytest.mark.parametrize("error", [EditRefused("no"), TextMoved("moved")])
async def test_a_refused_edit_is_not_recorded(tmp_path: Path, error: Exception) -> None:
    workspace = Failing(error)
    async with reviewing(tmp_path, [READ, TWO, says()], workspace=workspace) as (world, ledger):
        await world.turn()
        assert ledger.n_pending == 0
        ledger.sync(A, BEFORE.replace("line 2\n", "two\n").replace("line 30\n", "thirty\n"))
        assert ledger.n_pending == 0  # the user has written the same text


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_an_edit_that_the_editor_applies_late_counts_as_the_agents(
    tmp_path: Path, *, is_stopped: bool
) -> None:
    workspace = Failing(None if is_stopped else EditMayCome("and may still apply it"))
    async with reviewing(tmp_path, [READ, TWO, says()], workspace=workspace) as (world, ledger):
        running = world.begin()
        await workspace.is_asked.wait()
        if is_stopped:
            running.cancel()
        await asyncio.wait({running})
        assert ledger.n_pending == 0
        ledger.sync(A, BEFORE.replace("line 2\n", "two\n").replace("line 30\n", "thirty\n"))
        assert ledger.n_pending == 2


async def test_a_rejection_is_reported_once_and_the_file_counts_as_read(tmp_path: Path) -> None:
    script = [READ, TWO, says(), edit("e2", ("line 30", "30")), says(), says()]
    async with reviewing(tmp_path, script) as (world, ledger):
        await world.turn()
        await reject_all(world, ledger)
        await world.turn("and now?")
        await world.turn("more?")
        (words,) = told(world)
        assert words == (
            '<changed-file path="a.py" rejected="2">\n'
            "The user rejected these changes of yours, which are taken back. Do not make them "
            "again unless the user asks for it:\n"
            "@@ line 2 @@\n-line 2\n+two\n@@ line 30 @@\n-line 30\n+thirty\n</changed-file>"
        )
        assert [one.is_error for one in world.results] == [False, False, False]
        assert isinstance(world.workspace, MemoryWorkspace)
        assert world.workspace.files[A] == BEFORE.replace("line 30\n", "30\n")


async def test_accepted_changes_are_reported_only_together_with_rejected_changes(
    tmp_path: Path,
) -> None:
    script = [READ, TWO, says(), says(), edit("e2", ("line 9", "nine")), says(), says()]
    async with reviewing(tmp_path, script) as (world, ledger):
        await world.turn()
        first, second = ledger.hunks(A)
        await accept(ledger, world.workspace, Scope(hunks=(first.id,)))
        await reject_all(world, ledger, hunks=(second.id,))
        await world.turn("and now?")
        (words,) = told(world)
        assert "-line 30\n+thirty" in words
        assert "two" not in words
        assert "The user accepted another one of this file." in words
        await world.turn("go on")
        await accept(ledger, world.workspace, Scope())
        await world.turn("and now?")
        assert len(told(world)) == 1


async def test_other_changes_of_the_file_are_reported_in_the_same_block(tmp_path: Path) -> None:
    async with reviewing(tmp_path, [READ, TWO, says(), says()]) as (world, ledger):
        await world.turn()
        assert isinstance(world.workspace, MemoryWorkspace)
        files = world.workspace.files
        files[A] = files[A].replace("line 20\n", "typed\n")
        await reject_all(world, ledger)
        await world.turn("and now?")
        assert files[A] == BEFORE.replace("line 20\n", "typed\n")
        (words,) = told(world)
        assert words.count("The user rejected these changes of yours") == 1
        assert "Besides, this file was changed by a sub-agent, the user or another program" in words
        assert "-line 20\n+typed\n" in words
        assert world.session.seen.text(A) == files[A]


async def test_a_rejected_new_file_is_deleted_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    write = asks(call("write_file", "w1", path="new.py", content="x = 1\n"))
    async with reviewing(tmp_path, [write, says(), says()]) as (world, ledger):
        await world.turn()
        done = await reject(ledger, world.workspace, Scope())
        assert len(done.hunks) == 1
        assert isinstance(world.workspace, MemoryWorkspace)
        assert ROOT / "new.py" not in world.workspace.files
        world.workspace.watch.note(ROOT / "new.py")
        await world.turn("and now?")
        (words,) = told(world)
        assert "+x = 1\nThe file is gone with that." in words


async def test_a_verdict_that_reached_no_model_is_reported_by_the_next_server(
    tmp_path: Path,
) -> None:
    def fails(_request: object) -> Any:
        raise Unreachable("nobody there")

    async with reviewing(tmp_path, [READ, TWO, says(), fails]) as (world, ledger):
        await world.turn()
        await reject_all(world, ledger)
        finished = await world.turn("and now?")
        assert finished.ending == "failed"
        assert isinstance(world.workspace, MemoryWorkspace)
        workspace, identifier = world.workspace, world.session.id
    (tmp_path / "again").mkdir()
    again = await ReviewLedger.open(tmp_path / "review", workspace.roots)
    async with a_world(
        tmp_path / "again", [says(), says()], workspace=workspace, policy=Policy("review")
    ) as world:
        world.session.id = identifier
        with_parts(world.session, review=again)
        await world.turn("and now?")
        assert len(told(world)) == 1
        await world.turn("more?")
        assert len(told(world)) == 1
        assert again.untold(identifier) == ()


async def test_the_verdict_on_a_file_that_a_deny_rule_hides_is_not_reported(tmp_path: Path) -> None:
    async with reviewing(tmp_path, [READ, TWO, says(), says()]) as (world, ledger):
        await world.turn()
        await reject_all(world, ledger)
        with_rules(world.session, hidden=lambda _path: True)
        await world.turn("and now?")
        assert told(world) == []


def test_turn_numbers_are_not_reused_after_a_rewind() -> None:
    at = "2026-11-21T09:00:00.000+00:00"
    turns = [(TurnStartRecord(n, "go", at), TurnEndRecord(n, "done", at)) for n in (1, 2, 3)]
    assert past_of([one for turn in turns for one in turn] + [Rewound(1, "small", at)]).turns == 3


async def test_if_the_review_log_fails_the_edit_is_made_and_the_failure_reported(
    tmp_path: Path,
) -> None:
    (tmp_path / "review").write_bytes(b"in the way")
    async with reviewing(tmp_path, [READ, TWO, says()]) as (world, ledger):
        await world.turn()
        assert ledger.n_pending == 2
        notices = [one.message for one in world.told(Notice)]
        assert any("changes to review cannot be stored" in one for one in notices)
