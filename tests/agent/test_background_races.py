"""Background commands that begin or end at unusual times."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.core.events import CommandsChanged, Event
from indwell.agent.core.prompt import Prompt
from indwell.agent.features.background.board import BackgroundBoard
from indwell.agent.loop.turn import run_turn
from indwell.messages import Reply, Request
from indwell.review.verdicts import Scope, reject
from indwell.sandbox import Finished
from indwell.sandbox.capture import OnChunk
from indwell.tools.base import ToolContext
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.disk import DiskWorkspace
from support.bubblewrap import needs_bubblewrap
from support.running_on import (
    SOON_S,
    background,
    let_go,
    looks,
    reminders,
    results,
    starts,
    told,
)
from support.session import asks, call, says

pytestmark = needs_bubblewrap


async def test_a_background_command_with_endless_output_can_be_started_and_read(
    tmp_path: Path,
) -> None:
    script = [starts("yes"), says("it runs"), looks(id="b1"), says("ok")]
    async with background(tmp_path, script) as project:
        await asyncio.wait_for(project.turn(), SOON_S)
        assert "[b1 runs on in the background" in results(project)[-1]
        await asyncio.wait_for(project.turn(), SOON_S)
        assert results(project)[-1].startswith("b1 runs, ")


async def test_a_command_is_reviewed_even_if_another_command_ended_during_its_start(
    tmp_path: Path,
) -> None:
    second = "echo x > began; cat second; echo more >> a.txt"
    script = [starts("cat gate"), starts(second, "s2"), says("ok")]
    async with background(tmp_path, script, is_reviewed=True) as project:
        project.settings[0] = msgspec.structs.replace(project.settings[0], mode="review")
        racing: list[asyncio.Future[None]] = []
        for name in ("began", "second"):
            os.mkfifo(project.folder / name)

        async def race() -> None:
            await asyncio.to_thread((project.folder / "began").read_text)
            await let_go(project)
            await asyncio.to_thread((project.folder / "second").write_text, "go\n")

        def hear(event: Event) -> None:
            if isinstance(event, CommandsChanged) and not racing:
                project.session.parts.features.door(BackgroundBoard).begin_s = SOON_S
                racing.append(asyncio.ensure_future(race()))

        await asyncio.wait_for(run_turn(project.session, Prompt("go"), hear), 2 * SOON_S)
        ledger = project.session.parts.changes.ledger
        assert ledger is not None
        hunks = ledger.hunks(project.folder / "a.txt")
        assert [(one.old, one.new) for one in hunks] == [((), ("more\n",))]


async def test_a_rejection_by_the_user_is_not_a_change_of_the_running_command(
    tmp_path: Path,
) -> None:
    script = [
        asks(call("bash", "c1", command="echo more >> a.txt")),
        says("done"),
        starts("cat gate; echo new > b.txt"),
        looks(id="b1", wait_s=int(SOON_S)),
        says("ok"),
    ]
    async with background(tmp_path, script, is_reviewed=True) as project:
        project.settings[0] = msgspec.structs.replace(project.settings[0], mode="review")
        parts, path = project.session.parts, project.folder / "a.txt"
        ledger, text = parts.changes.ledger, path.read_text(encoding="utf-8")
        assert ledger is not None
        await project.turn()
        assert [(one.old, one.new) for one in ledger.hunks(path)] == [((), ("more\n",))]
        judging: list[asyncio.Future[None]] = []

        async def judge() -> None:
            await reject(ledger, parts.workspace, Scope(path=path))
            await let_go(project)

        def hear(event: Event) -> None:
            if isinstance(event, CommandsChanged) and not judging:
                judging.append(asyncio.ensure_future(judge()))

        await asyncio.wait_for(run_turn(project.session, Prompt("go"), hear), 2 * SOON_S)
        assert path.read_text(encoding="utf-8") == text
        assert ledger.paths() == (project.folder / "b.txt",)
        assert ledger.beside == set()


async def test_a_rejection_during_a_command_is_not_credited_to_that_command(
    tmp_path: Path,
) -> None:
    waits = "echo begun > begun; cat gate; echo new > b.txt"
    script = [
        asks(call("bash", "c1", command="echo more >> a.txt")),
        says("done"),
        asks(call("bash", "c2", command=waits)),
        says("ok"),
    ]
    async with background(tmp_path, script, is_reviewed=True) as project:
        project.settings[0] = msgspec.structs.replace(project.settings[0], mode="review")
        parts, path = project.session.parts, project.folder / "a.txt"
        ledger, text = parts.changes.ledger, path.read_text(encoding="utf-8")
        assert ledger is not None
        await project.turn()
        os.mkfifo(project.folder / "begun")
        turn = asyncio.ensure_future(project.turn())
        await asyncio.to_thread((project.folder / "begun").read_text)
        await reject(ledger, parts.workspace, Scope(path=path))
        await asyncio.to_thread((project.folder / "gate").write_text, "open\n")
        await asyncio.wait_for(turn, SOON_S)
        assert path.read_text(encoding="utf-8") == text
        assert ledger.paths() == (project.folder / "b.txt",)
        assert ledger.beside == set()


@pytest.mark.parametrize("output", ["printf 'a line without an end '; ", ""])
async def test_a_command_whose_call_is_stopped_after_the_start_is_reported(
    tmp_path: Path, output: str
) -> None:
    command = f"{output}cat gate"
    script = [starts(command), says("I see"), says("again")]
    async with background(tmp_path, script) as project:

        def hear(event: Event) -> None:
            project.events.append(event)
            if isinstance(event, CommandsChanged):
                turn.cancel()

        turn = asyncio.ensure_future(run_turn(project.session, Prompt("go"), hear))
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert [[one.state for one in rows] for rows in told(project)] == [["running"]]
        await project.turn()
        (reminder,) = reminders(project)
        assert "runs on, begun by a call that was interrupted: b1." in reminder
        await project.turn()
        assert len(reminders(project)) == 1


async def test_a_command_that_ends_at_once_is_not_in_the_background_while_its_changes_are_recorded(
    tmp_path: Path,
) -> None:
    # The command ends at once, but recording its changes takes longer than ``begin_s``.
    board, taken_down = BackgroundBoard(begin_s=0.5), asyncio.Event()
    heard: list[Event] = []

    async def take_down() -> None:
        await taken_down.wait()

    async def run(feed: OnChunk, _stop: asyncio.Event, _note: Callable[[str], None]) -> Finished:
        feed(b"out\n")
        asyncio.get_running_loop().call_later(1.5 * board.begin_s, taken_down.set)
        return Finished(3, b"out\n", b"", 0, 4, b"", timed_out=False, seconds=0.0, left_running=0)

    board.uncover, board.outside = take_down, heard.append

    async def spill(name: str, _text: str) -> Path:
        return tmp_path / name

    context = ToolContext(DiskWorkspace([tmp_path]), KnownTexts(), spill, lambda _text: None)
    outcome = await asyncio.wait_for(board.start("exit 3", run, context), SOON_S)
    assert taken_down.is_set()
    assert (outcome.text, board.commands, heard) == ("out\nexit code 3", (), [])


async def test_a_steering_message_ends_a_long_wait(tmp_path: Path) -> None:
    def wait(_request: Request) -> Reply:
        project.session.steer("leave it")
        return looks(id="b1", wait_s=300)

    script: list[Any] = [starts("cat gate"), wait, says("ok")]
    async with background(tmp_path, script) as project:
        await asyncio.wait_for(project.turn(), SOON_S)
        assert results(project)[1].startswith("b1 runs, ")


@pytest.mark.parametrize("breaks_late", [False, True])
async def test_an_internal_error_leaves_no_running_command(
    tmp_path: Path, *, breaks_late: bool
) -> None:
    board, go_on = BackgroundBoard(begin_s=0.01 if breaks_late else SOON_S), asyncio.Event()
    heard: asyncio.Queue[Event] = asyncio.Queue()
    board.outside = heard.put_nowait

    async def run(_feed: OnChunk, _stop: asyncio.Event, _note: Callable[[str], None]) -> Finished:
        if breaks_late:
            await go_on.wait()
        raise RuntimeError("ours")

    async def spill(name: str, _text: str) -> Path:
        return tmp_path / name

    context = ToolContext(DiskWorkspace([tmp_path]), KnownTexts(), spill, lambda _text: None)
    if not breaks_late:
        with pytest.raises(RuntimeError, match="ours"):
            await board.start("sleep 9", run, context)
        assert board.commands == ()
        return
    outcome = await board.start("sleep 9", run, context)
    assert "[b1 runs on in the background" in outcome.text
    go_on.set()
    states = []
    while states != ["ended"]:
        told_now = await asyncio.wait_for(heard.get(), SOON_S)
        assert isinstance(told_now, CommandsChanged)
        states = [one.state for one in told_now.commands]
    (one,) = board.commands
    assert one.task is not None
    with pytest.raises(RuntimeError, match="ours"):
        one.task.result()
