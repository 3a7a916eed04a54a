"""The session's log contains a sub-agent's calls, so a reopened session shows the same calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.agent.core import events
from indwell.service.sessions.recorded_turns import RecordedCall, by_call, events_of
from support.session import World, a_tool, asks, call, says
from support.subagents import EDIT, PLAIN, READ, Model, a_house, delegates

MISSING = asks(call("read_file", "m1", path="nowhere.py"))


def told_live(world: World, agent: str) -> list[events.Event]:
    """Return the live events of the calls of a sub-agent."""
    kinds = (events.ToolStarted, events.EditApplied, events.ToolFinished)
    return [one for one in world.told(*kinds) if one.agent == agent]


def read_back(card: RecordedCall) -> list[events.Event]:
    """Return the events of a sub-agent's calls, read from the log."""
    return [event for one in card.inner for event in one.events()]


async def cards(world: World) -> dict[str, RecordedCall]:
    """Return the recorded tool calls of the last turn, from the log on disk."""
    await world.session.parts.log.commit()
    *_, turn = events_of(world.store.open(world.session.id).records)
    calls = [one for one in by_call(turn.events) if isinstance(one, RecordedCall)]
    return {one.started.id: one for one in calls}


async def test_calls_read_from_the_log_equal_the_calls_reported_live(tmp_path: Path) -> None:
    model = Model(
        [
            asks(call("agent", "c1", task="first"), call("agent", "c2", task=PLAIN)),
            asks(call("read_file", "r9", path="shop.py")),
            says("done"),
        ],
        children={"first": [READ, says("x")], PLAIN: [READ, EDIT, MISSING, says("mended")]},
    )
    async with a_house(tmp_path, model) as (world, _):
        await world.turn()
        found = await cards(world)
        assert {id_: read_back(one) for id_, one in found.items()} == {
            "c1": told_live(world, "c1"),
            "c2": told_live(world, "c2"),
            "r9": [],
        }
    read, edited, missing = found["c2"].inner
    assert (read.started.name, read.started.target) == ("read_file", "shop.py")
    (edit,) = edited.edits
    assert "+    return sum(items)\n" in edit.diff
    assert missing.finished is not None
    assert "nowhere.py" in missing.finished.message
    assert found["c2"].result == "mended"


async def test_the_log_of_a_running_sub_agent_shows_ended_and_running_calls(tmp_path: Path) -> None:
    seen: dict[str, RecordedCall] = {}

    async def look(_name: str, _context: object) -> str:
        seen.update(await cards(world))
        return "ok"

    model = Model(
        [delegates(), says()],
        children={PLAIN: [READ, asks(call("bash", "b1", name="make")), says("x")]},
    )
    bash = a_tool("bash", look, effect="run")
    async with a_house(tmp_path, model, tools=[bash], answers=["once"]) as (world, _):
        await world.turn()
        after = await cards(world)
    read, runs = seen["c1"].inner
    assert (read.started.name, read.finished is None) == ("read_file", False)
    assert (runs.started.name, runs.started.target, runs.finished) == ("bash", "make", None)
    assert [one.finished is None for one in after["c1"].inner] == [False, False]


async def test_a_stopped_command_is_shown_without_an_end(tmp_path: Path) -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def wait(_name: str, _context: object) -> str:
        begun.set()
        await never.wait()
        return ""

    model = Model([delegates()], children={PLAIN: [asks(call("bash", "b1", name="make"))]})
    bash = a_tool("bash", wait, effect="run")
    async with a_house(tmp_path, model, tools=[bash], answers=["once"]) as (world, _):
        task = world.begin()
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (card,) = (await cards(world)).values()
    assert [(one.started.target, one.finished) for one in card.inner] == [("make", None)]
