"""Messages to a running turn are sent with the next model call, or returned to the user."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from indwell.agent.core.events import Steered, ToolStarted, TurnFinished
from indwell.errors import ServerFault, SessionError, UserError
from indwell.messages import Reply, Request
from indwell.providers.scripted import hang
from indwell.sessions import records as log
from indwell.tools.base import ToolContext
from support.session import ENVIRONMENT, World, a_tool, a_world, asks, call, says, texts

FILES = {"a.py": "x = 1\n"}
READ = call("read_file", path="a.py")


async def test_steering_messages_follow_the_tool_results_in_the_next_request(
    tmp_path: Path,
) -> None:
    async def meddle(name: str, context: ToolContext) -> str:
        world.session.steer("use tabs")
        world.session.steer("and be brief")
        return "looked"

    script = [asks(call("look")), says("Tabs it is.")]
    async with a_world(tmp_path, script, tools=[a_tool("look", meddle)]) as world:
        finished = await world.turn()
        assert (finished.ending, finished.draft, finished.rounds) == ("done", "", 2)
        said = world.provider.requests[-1].messages[-1]
        assert texts(said) == ["looked", "use tabs", "and be brief"]
        assert {block.meta.source for block in said.blocks[1:]} == {"user"}
        assert {block.meta.tier for block in said.blocks[1:]} == {1}
        assert world.told(Steered) == [
            Steered(1, "use tabs", delivered=True),
            Steered(1, "and be brief", delivered=True),
        ]
        await world.records()


async def test_a_turn_that_would_end_continues_with_steering_messages(tmp_path: Path) -> None:
    def say_and_hear(request: Request) -> Reply:
        world.session.steer("one more thing")
        return says("first")

    async with a_world(tmp_path, [say_and_hear, says("second")]) as world:
        finished = await world.turn("go")
        assert (finished.ending, finished.answer, finished.rounds) == ("done", "second", 2)
        assert [texts(message) for message in world.messages] == [
            [ENVIRONMENT, "go"],
            ["first"],
            ["one more thing"],
            ["second"],
        ]
        await world.records()


async def test_a_steering_message_resets_the_count_of_repeated_calls(tmp_path: Path) -> None:
    def last_time(request: Request) -> Reply:
        world.session.steer("stop reading it")
        return asks(READ)

    script = [asks(READ)] * 4 + [last_time, says("Sorry.")]
    async with a_world(tmp_path, script, files=FILES) as world:
        assert (await world.turn()).ending == "done"
        assert texts(world.messages[-2])[-1] == "stop reading it"


async def test_steering_messages_are_logged_before_the_request(tmp_path: Path) -> None:
    def say_and_hear(request: Request) -> Reply:
        world.session.steer("never lost")
        return says("first")

    def look_at_the_log(request: Request) -> Reply:
        kept = world.store.open(world.session.id).records
        assert [one.words for one in kept if isinstance(one, log.SteeringRecord)] == ["never lost"]
        return says("second")

    async with a_world(tmp_path, [say_and_hear, look_at_the_log]) as world:
        assert (await world.turn()).ending == "done"


async def test_a_steering_message_that_fails_to_be_sent_returns_in_the_draft(
    tmp_path: Path,
) -> None:
    def say_and_hear(request: Request) -> Reply:
        world.session.steer("use tabs")
        return says("first")

    script = [say_and_hear, ServerFault("the endpoint has a fault (503)"), says("third")]
    async with a_world(tmp_path, script) as world:
        failed = await world.turn("go")
        assert (failed.ending, failed.draft) == ("failed", "use tabs")
        assert world.told(Steered) == [
            Steered(1, "use tabs", delivered=True),
            Steered(1, "use tabs", delivered=False),
        ]
        last = (await world.records())[-1]
        assert isinstance(last, log.TurnEndRecord)
        assert last.words == "use tabs"
        assert (await world.turn("go on")).ending == "done"
        assert texts(world.messages[-2]) == ["go on"]


async def test_steering_messages_of_a_stopped_turn_return_after_the_prompt(tmp_path: Path) -> None:
    asked = asyncio.Event()

    def never_answers(request: Request) -> object:
        asked.set()
        return hang()

    async with a_world(tmp_path, [never_answers]) as world:
        task = world.begin("go")
        await asked.wait()
        world.session.steer("faster")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (finished,) = world.told(TurnFinished)
        assert isinstance(finished, TurnFinished)
        assert finished.draft == "go\n\nfaster"
        assert world.session.steering == ()
        await world.records()


async def test_steering_messages_count_as_delivered_once_the_reply_has_begun(
    tmp_path: Path,
) -> None:
    def say_and_hear(request: Request) -> Reply:
        world.session.steer("use tabs")
        return says("first")

    async with a_world(tmp_path, [say_and_hear, hang("Tabs ")]) as world:
        task = world.begin()
        await world.until(lambda event: getattr(event, "text", "") == "Tabs ")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (finished,) = world.told(TurnFinished)
        assert isinstance(finished, TurnFinished)
        assert (finished.draft, finished.answer) == ("", "Tabs ")
        assert texts(world.messages[2]) == ["use tabs"]
        await world.records()


async def test_steering_messages_during_a_tool_call_wait_for_its_result(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(name: str, context: ToolContext) -> str:
        await gate.wait()
        return "at last"

    async with a_world(
        tmp_path, [asks(call("wait")), says()], tools=[a_tool("wait", slow)]
    ) as world:
        task = world.begin()
        await world.until(lambda event: isinstance(event, ToolStarted))
        world.session.steer("hurry")
        gate.set()
        await task
        assert texts(world.messages[2]) == ["at last", "hurry"]


async def test_without_a_running_turn_steering_is_refused(tmp_path: Path) -> None:
    async with a_world(tmp_path, [says()]) as world:
        with pytest.raises(UserError, match="no turn is running; send the text as a prompt"):
            world.session.steer("too early")
        await world.turn()
        with pytest.raises(UserError, match="no turn is running"):
            world.session.steer("too late")


async def test_an_empty_steering_message_is_refused(tmp_path: Path) -> None:
    def steer_with_nothing(request: Request) -> Reply:
        with pytest.raises(UserError, match="the message is empty"):
            world.session.steer(" \n")
        return says()

    async with a_world(tmp_path, [steer_with_nothing]) as world:
        assert (await world.turn()).rounds == 1


async def test_steering_messages_too_long_for_a_message_are_spilled(tmp_path: Path) -> None:
    long = "row of a table\n" * 5_000

    def say_and_hear(request: Request) -> Reply:
        world.session.steer(long)
        return says("first")

    async with a_world(tmp_path, [say_and_hear, says("second")], window=20_000) as world:
        assert (await world.turn()).ending == "done"
        (sent,) = texts(world.messages[2])
        assert "read_file reads it in pieces" in sent


class FullDisk:
    """A log whose disk fills up while a turn runs."""

    def __init__(self, world: World) -> None:
        self._log = world.session.parts.log
        self.is_full = False

    def append(self, record: log.Record) -> None:
        self._log.append(record)

    def commit_soon(self) -> None:
        self._log.commit_soon()

    async def commit(self) -> None:
        if self.is_full:
            raise SessionError("no room")
        await self._log.commit()

    async def close(self) -> None:
        await self._log.close()


async def test_a_steering_message_that_cannot_be_logged_is_not_sent(tmp_path: Path) -> None:

    def say_and_hear(request: Request) -> Reply:
        world.session.steer("use tabs")
        full.is_full = True
        return says("first")

    async with a_world(tmp_path, [say_and_hear]) as world:
        full = FullDisk(world)
        world.session.parts = dataclasses.replace(world.session.parts, log=full)
        failed = await world.turn("go")
        assert (failed.ending, failed.message, failed.draft) == ("failed", "no room", "use tabs")
        full.is_full = False
        await world.records()


async def test_the_number_of_steering_messages_is_limited(tmp_path: Path) -> None:
    said: list[str] = []

    async def meddle(name: str, context: ToolContext) -> str:
        for number in range(50):
            world.session.steer(f"s{number}")
        with pytest.raises(UserError) as caught:
            world.session.steer("one more")
        said.append(str(caught.value))
        return "looked"

    script = [asks(call("look")), says("Heard.")]
    async with a_world(tmp_path, script, tools=[a_tool("look", meddle)]) as world:
        assert (await world.turn()).draft == ""
        assert len(world.told(Steered)) == 50
        (sentence,) = said
        assert sentence == (
            "too many messages (50) already wait for the next model call; wait until it has "
            "begun, or stop the turn"
        )
        await world.records()


async def test_the_total_size_of_steering_messages_is_limited(tmp_path: Path) -> None:
    said: list[str] = []

    async def meddle(name: str, context: ToolContext) -> str:
        world.session.steer("a" * 1_000_000)
        world.session.steer("b" * 1_000_000)
        for words in ("c", "d" * 1_000_001):
            with pytest.raises(UserError) as caught:
                world.session.steer(words)
            said.append(str(caught.value).split(";")[0])
        return "looked"

    script = [asks(call("look")), says("Heard.")]
    async with a_world(tmp_path, script, tools=[a_tool("look", meddle)]) as world:
        await world.turn()
    assert said == [
        "too many messages (2) already wait for the next model call",
        "1,000,001 characters are more than the 1,000,000 that a message may have",
    ]


async def test_a_lone_surrogate_in_a_steering_message_does_not_stop_the_turn(
    tmp_path: Path,
) -> None:
    async def meddle(name: str, context: ToolContext) -> str:
        world.session.steer("\ud800 tabs")
        return "looked"

    script = [asks(call("look")), says("Tabs it is.")]
    async with a_world(tmp_path, script, tools=[a_tool("look", meddle)]) as world:
        assert (await world.turn()).ending == "done"
        assert world.told(Steered) == [Steered(1, "\ufffd tabs", delivered=True)]
        await world.records()
