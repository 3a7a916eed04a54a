"""Time reminders for the model: only after a long time, and never twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from indwell.agent.requests.request_blocks import forthcoming
from indwell.agent.restore import recalled
from indwell.messages import Message, Text
from support.session import START, World, a_tool, a_world, asks, call, says, with_parts


class Time:
    """A clock that does not move until it is set."""

    def __init__(self) -> None:
        self.now = START

    def give(self, world: World) -> None:
        with_parts(world.session, now=lambda: self.now)


def reminders(messages: tuple[Message, ...]) -> list[str]:
    return [
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, Text) and "have passed since" in block.text
    ]


async def test_hours_between_two_turns_are_reported_once_and_minutes_never(tmp_path: Path) -> None:
    clock = Time()
    async with a_world(tmp_path, [says()] * 4) as world:
        clock.give(world)
        await world.turn()
        clock.now += timedelta(minutes=50)
        await world.turn()
        assert reminders(world.messages) == []
        clock.now += timedelta(hours=3)
        shown = await forthcoming(world.session)
        assert [one for one in shown.before if "About 3 hours" in one.text]
        await world.turn()
        await world.turn()
        (told,) = reminders(world.messages)
        assert "About 3 hours have passed since the last answer." in told


async def test_a_resumed_session_knows_the_time_of_its_last_reply(tmp_path: Path) -> None:
    clock = Time()
    async with a_world(tmp_path, [says(), says()]) as world:
        clock.give(world)
        await world.turn()
        records = await world.records()
        clock.now += timedelta(days=3)
        told = recalled(records, clock.now)
        world.session.spending.answered_at = None  # forget the time, as a new process would
        world.session.remember(told.health, told.calibration, told.answered_at)
        await world.turn()
        assert "About 3 days" in reminders(world.messages)[0]


async def test_a_day_that_ends_while_a_turn_runs_is_reported_with_the_next_request(
    tmp_path: Path,
) -> None:
    clock = Time()
    noon = datetime(2026, 11, 21, 12).astimezone()
    clock.now = noon

    async def sleep(_name: str, _context: object) -> str:
        clock.now = noon + timedelta(days=1)
        world.surroundings = msgspec.structs.replace(world.surroundings, date="2026-11-22")
        return "slept"

    script = [asks(call("sleep")), asks(call("sleep")), says(), says()]
    async with a_world(tmp_path, script, tools=[a_tool("sleep", sleep)]) as world:
        clock.give(world)
        await world.turn()
        await world.turn()
        dates = [
            (number, block.text.splitlines()[1][:20])
            for number, message in enumerate(world.messages)
            for block in message.blocks
            if block.meta.source == "environment" and isinstance(block, Text)
        ]
    assert dates == [(0, "Today is 2026-11-21."), (2, "Today is 2026-11-22.")]
