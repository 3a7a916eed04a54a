"""Commands of two sessions in one folder take turns, so that each session gets its own changes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.review.checkpoints.coverage import Coverage
from indwell.review.copies import Copies
from indwell.review.hunk import Actor
from indwell.review.ledger import WAITS, CommandHold, CommandOrder, ReviewLedger
from indwell.review.verdicts import COPIES
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import ledger_in

PATIENCE_S = 60


class OpenSession:
    """A session of the folder that runs commands, each of which writes one file."""

    def __init__(self, name: str, workspace: DiskWorkspace, ledger: ReviewLedger) -> None:
        self.actor = Actor(name, 1)
        self.root = workspace.roots[0]
        self.heard: list[str] = []
        self.told = asyncio.Event()
        self.coverage = Coverage(
            workspace, ledger, Copies(ledger.folder / COPIES), secret=tuple, hide=lambda text: text
        )

    def tell(self, words: str) -> None:
        self.heard.append(words)
        self.told.set()

    def write(self, file: str) -> None:
        (self.root / file).write_bytes(f"{self.actor.session}\n".encode())

    async def command(self, file: str, began: asyncio.Event, end: asyncio.Event) -> None:
        """Run a command that writes before and after ``end`` is set."""
        around = self.coverage.around(self.actor, file, accepted=lambda: False, tell=self.tell)
        async with self.coverage.turn(self.actor.session, self.tell), around:
            began.set()
            self.write(f"{file}-early")
            await end.wait()
            self.write(f"{file}-late")

    async def begin_beside(self) -> None:
        await self.coverage.begin_beside(self.actor, "b1", accepted=lambda: False, tell=self.tell)


async def two_sessions(folder: Path) -> tuple[OpenSession, OpenSession, ReviewLedger]:
    folder = folder.resolve()
    (folder / "work").mkdir()
    ledger = await ledger_in(folder, folder / "work")
    workspace = DiskWorkspace([folder / "work"], private=folder / "undo")
    return OpenSession("s1", workspace, ledger), OpenSession("s2", workspace, ledger), ledger


def credited(ledger: ReviewLedger) -> dict[str, set[str]]:
    return {
        path.name: {actor.session for one in ledger.hunks(path) for actor in one.actors}
        for path in ledger.paths()
    }


async def test_commands_of_two_sessions_are_each_credited_with_their_own_changes(
    tmp_path: Path,
) -> None:
    first, second, ledger = await two_sessions(tmp_path)
    began, end, began_too = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(first.command("a", began, end))
        await began.wait()
        tasks.create_task(second.command("b", began_too, end))
        await second.told.wait()
        assert not began_too.is_set()
        end.set()
    assert (first.heard, second.heard) == ([], [WAITS])
    assert credited(ledger) == {
        "a-early": {"s1"}, "a-late": {"s1"}, "b-early": {"s2"}, "b-late": {"s2"}
    }  # fmt: skip


async def test_the_next_session_waits_until_a_stopped_command_is_recorded(tmp_path: Path) -> None:
    first, second, ledger = await two_sessions(tmp_path)
    began, end = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_S):
        stopped = asyncio.create_task(first.command("a", began, asyncio.Event()))
        await began.wait()
        waiting = asyncio.create_task(second.command("b", asyncio.Event(), end))
        await second.told.wait()
        end.set()
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
        await waiting
    assert credited(ledger) == {"a-early": {"s1"}, "b-early": {"s2"}, "b-late": {"s2"}}


async def test_a_turn_stopped_while_its_command_waits_changes_no_file(
    tmp_path: Path,
) -> None:
    first, second, ledger = await two_sessions(tmp_path)
    began, end = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(first.command("a", began, end))
        await began.wait()
        waiting = asyncio.create_task(second.command("b", asyncio.Event(), end))
        await second.told.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        end.set()
        await running
        await first.command("c", asyncio.Event(), end)
    assert credited(ledger).keys() == {"a-early", "a-late", "c-early", "c-late"}


async def test_commands_of_one_session_run_in_parallel(tmp_path: Path) -> None:
    first, _, ledger = await two_sessions(tmp_path)
    began, began_too, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(first.command("a", began, end))
        tasks.create_task(first.command("b", began_too, end))
        await began.wait()
        await began_too.wait()
        end.set()
    assert first.heard == []
    assert set().union(*credited(ledger).values()) == {"s1"}


async def test_a_background_command_holds_the_folder_between_turns_until_it_has_ended(
    tmp_path: Path,
) -> None:
    first, second, ledger = await two_sessions(tmp_path)
    began, end = asyncio.Event(), asyncio.Event()
    end.set()
    async with asyncio.timeout(PATIENCE_S):
        await first.begin_beside()
        first.write("in-turn")
        await first.coverage.end_beside(runs_on=True)
        first.write("between-turns")
        waiting = asyncio.create_task(second.command("b", began, end))
        await second.told.wait()
        await first.begin_beside()  # the first session's next turn begins
        await first.command("a", asyncio.Event(), end)  # the session itself can run commands
        assert not began.is_set()
        await first.coverage.end_beside(runs_on=False)
        await waiting
    found = credited(ledger)
    assert found["in-turn"] == {"s1"}
    assert "between-turns" not in found
    assert found["b-early"] == {"s2"}


async def test_closing_a_session_lets_waiting_sessions_continue(tmp_path: Path) -> None:
    first, second, _ = await two_sessions(tmp_path)
    end = asyncio.Event()
    end.set()
    async with asyncio.timeout(PATIENCE_S):
        await first.begin_beside()
        waiting = asyncio.create_task(second.command("b", asyncio.Event(), end))
        await second.told.wait()
        await first.coverage.close()
        await waiting


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30))
def test_only_one_session_at_a_time_holds_the_folder_and_every_session_gets_a_turn(
    steps: list[tuple[str, bool]],
) -> None:
    """Each step names the next session that asks, and says if the oldest hold is released first."""

    async def run() -> None:
        order = CommandOrder()
        held: list[CommandHold] = []

        async def ask(session: str) -> None:
            hold = await order.acquire(session, lambda: None)
            held.append(hold)
            assert {one.session for one in held} == {session}

        asking = []
        for session, ends in steps:
            if ends and held:
                held.pop(0).release()
            asking.append(asyncio.create_task(ask(session)))
            await asyncio.sleep(0)
        for _ in range(2 * len(steps) + 1):
            if held:
                held.pop(0).release()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert [one.done() for one in asking] == [True] * len(asking)
        for one in asking:
            one.result()

    asyncio.run(run())


async def test_a_waiting_session_runs_before_the_next_command_of_the_running_session() -> None:
    order, got = CommandOrder(), list[str]()

    async def take(session: str, name: str) -> None:
        hold = await order.acquire(session, lambda: None)
        got.append(name)
        hold.release()

    first = await order.acquire("a", lambda: None)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(take("b", "b"))
        await asyncio.sleep(0)
        tasks.create_task(take("a", "a again"))
        await asyncio.sleep(0)
        assert got == []
        first.release()
    assert got == ["b", "a again"]
