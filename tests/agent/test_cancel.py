from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from indwell.agent.core.events import EditApplied, FileChanged, TextAdded, ToolStarted, TurnFinished
from indwell.context.pairing import INTERRUPTED
from indwell.messages import Request
from indwell.policy.approvals import Answer, Question
from indwell.providers.scripted import Hang, hang
from indwell.sessions import records as log
from indwell.sessions.records import FileLines
from indwell.tools.base import ToolContext
from support.session import World, a_tool, a_world, asks, call, says, texts

FILES = {"a.py": "x = 1\n"}


async def cancelled(world: World, task: asyncio.Task[TurnFinished]) -> TurnFinished:
    """Cancel a turn, and return its last event; a missing ``CancelledError`` fails the test."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (finished,) = world.told(TurnFinished)
    assert isinstance(finished, TurnFinished)
    assert (finished.ending, finished.message) == ("cancelled", "stopped")
    last = (await world.records())[-1]
    files = tuple(FileLines(one.path, one.added, one.removed) for one in finished.changes)
    assert last == log.TurnEndRecord(
        1, "cancelled", last.at, "stopped", finished.draft, finished.seconds, files
    )
    return finished


async def wait_for_ever(name: str, context: ToolContext) -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def test_a_turn_cancelled_before_any_reply_returns_the_draft(tmp_path: Path) -> None:
    asked = asyncio.Event()

    def never_answers(request: Request) -> Hang:
        asked.set()
        return hang()

    async with a_world(tmp_path, [never_answers, says("fine")]) as world:
        task = world.begin("my words")
        await asked.wait()
        finished = await cancelled(world, task)
        assert (finished.draft, finished.answer, world.messages) == ("my words", "", ())
        assert (await world.turn("again")).ending == "done"
        assert texts(world.messages[0])[1:] == ["again"]


async def test_a_turn_cancelled_before_its_start_returns_the_draft(tmp_path: Path) -> None:
    async with a_world(tmp_path, []) as world:
        task = world.begin("my words")
        await asyncio.sleep(0)
        assert (await cancelled(world, task)).draft == "my words"
        assert world.messages == ()


async def test_a_partial_reply_is_kept_and_marked_as_incomplete(tmp_path: Path) -> None:
    async with a_world(tmp_path, [hang("Half a "), says("sentence.")]) as world:
        task = world.begin("go")
        await world.until(lambda event: event == TextAdded(1, "a "))
        finished = await cancelled(world, task)
        assert (finished.draft, finished.answer) == ("", "Half a ")
        assert [texts(message)[-1] for message in world.messages] == [
            "go",
            "Half a \n[the reply broke off here]",
        ]
        assert world.session.conversation.pending == ()
        assert (await world.turn("go on")).ending == "done"
        await world.records()


async def test_cancelling_during_a_tool_keeps_finished_results_and_marks_the_rest_interrupted(
    tmp_path: Path,
) -> None:
    calls = [
        call("read_file", "c1", path="a.py"),
        call("stay", "c2", name="b"),
        call("write_file", "c3", path="c.py", content="never"),
    ]
    script = [asks(*calls), says("Then I go on.")]
    tools = [a_tool("stay", wait_for_ever, effect="edit")]
    async with a_world(tmp_path, script, files=FILES, tools=tools) as world:
        task = world.begin()
        await world.until(lambda event: isinstance(event, ToolStarted) and event.id == "c2")
        await cancelled(world, task)
        assert [(one.text, one.is_error) for one in world.results] == [
            ("1\tx = 1", False),
            (f"[{INTERRUPTED}]", True),
            (f"[{INTERRUPTED}]", True),
        ]
        assert Path("/workspace/c.py") not in world.workspace.files
        assert (await world.turn("go on")).ending == "done"
        assert texts(world.messages[2])[-1] == "go on"
        await world.records()


async def test_cancelling_during_parallel_reads_keeps_the_finished_results(tmp_path: Path) -> None:
    calls = [call("stay", "c1"), call("read_file", "c2", path="a.py"), call("stay", "c3")]
    tools = [a_tool("stay", wait_for_ever)]
    async with a_world(tmp_path, [asks(*calls)], files=FILES, tools=tools) as world:
        task = world.begin()
        await world.until(lambda event: getattr(event, "figure", "") == "1 line")
        await asyncio.sleep(0)
        await cancelled(world, task)
        assert [one.is_error for one in world.results] == [True, False, True]


async def test_edits_before_a_cancellation_are_counted_in_the_turns_end(tmp_path: Path) -> None:
    calls = [call("write_file", "c1", path="b.py", content="x\n"), call("stay", "c2", name="c")]
    tools = [a_tool("stay", wait_for_ever, effect="edit")]
    async with a_world(tmp_path, [asks(*calls)], tools=tools) as world:
        task = world.begin()
        await world.until(lambda event: isinstance(event, ToolStarted) and event.id == "c2")
        finished = await cancelled(world, task)
        assert len(world.told(EditApplied)) == 1
        assert finished.changes == (FileChanged("b.py", 1, 0),)


async def test_a_call_does_not_run_while_the_user_is_asked(tmp_path: Path) -> None:
    asked = asyncio.Event()

    class Silent:
        async def ask(self, question: Question) -> Answer:
            del question
            asked.set()
            await asyncio.Event().wait()
            return "once"

    calls = [call("write_file", path=".vscode/settings.json", content="{}")]
    async with a_world(tmp_path, [asks(*calls)]) as world:
        world.session.parts = dataclasses.replace(world.session.parts, approver=Silent())
        task = world.begin()
        await asked.wait()
        await cancelled(world, task)
        assert world.workspace.files == {}
        assert [one.text for one in world.results] == [f"[{INTERRUPTED}]"]
        assert not any(isinstance(one, log.Intent) for one in await world.records())


async def test_a_partial_reply_of_a_later_round_follows_the_finished_work(tmp_path: Path) -> None:
    script = [asks(call("read_file", path="a.py"), text="I look."), hang("It is "), says()]
    async with a_world(tmp_path, script, files=FILES) as world:
        task = world.begin()
        await world.until(lambda event: event == TextAdded(1, "is "))
        finished = await cancelled(world, task)
        assert (finished.answer, finished.draft, finished.rounds) == ("It is ", "", 2)
        assert [texts(message)[-1] for message in world.messages] == [
            "go",
            "I look.",
            "1\tx = 1",
            "It is \n[the reply broke off here]",
        ]
        assert (await world.turn("go on")).ending == "done"
        await world.records()


async def test_a_stopped_call_that_had_begun_to_answer_is_charged_as_estimated(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path, [hang("Half a "), says("sentence.")]) as world:
        task = world.begin("go")
        await world.until(lambda event: event == TextAdded(1, "a "))
        finished = await cancelled(world, task)
        (spent,) = [one for one in await world.records() if isinstance(one, log.Spent)]
    assert spent.usage.output > 0
    assert spent.usage.input > 0
    assert not spent.usage.reported
    assert (finished.usage, finished.cost) == (spent.usage, spent.usage.output * 0.25)


async def test_a_request_cancelled_before_any_reply_costs_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    def never_answers(request: Request) -> Hang:
        asked.set()
        return hang()

    async with a_world(tmp_path, [never_answers]) as world:
        task = world.begin("go")
        await asked.wait()
        assert (await cancelled(world, task)).cost == 0.0
        assert not [one for one in await world.records() if isinstance(one, log.Spent)]
