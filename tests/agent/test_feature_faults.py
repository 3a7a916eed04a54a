"""A failing feature is muted, and the turn continues; a failing guard refuses."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core import events
from indwell.agent.core.feature import DurableState, Feature
from indwell.agent.core.session import Session
from indwell.errors import ToolError, UserError
from indwell.tools.base import ToolContext
from support.session import PATIENCE_S, World, a_tool, a_world, asks, call, says, texts

LOGGER = "indwell.agent.core.session_features"
SCRIPT = [asks(call("read_file", "c1", path="a.py")), says("done")]
MUTING = (
    "late_tools", "commands", "labels", "begin", "prompt_blocks", "remind", "result", "tell",
    "around", "ends_turn", "after_tool", "after_reply", "on_stop", "end", "changed", "verified",
    "answered", "files_changed",
)  # fmt: skip
SUSPENDING = (
    "begin", "prompt_blocks", "remind", "tell", "around", "check_words", "before_tool",
    "after_tool", "after_reply", "answered", "on_stop", "end",
)  # fmt: skip


@pytest.fixture(autouse=True)
def faults_stay_in_the_log() -> Iterator[None]:
    """Allow logged errors, because these tests cause errors on purpose."""
    logger = logging.getLogger(LOGGER)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


def broken(slot: str) -> Feature[Session]:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError(slot)

    return Feature(name="toy", **{slot: fail})


def notices(world: World) -> list[str]:
    return [one.message for one in world.events if isinstance(one, events.Notice)]


@pytest.mark.parametrize("slot", MUTING)
async def test_the_turn_continues_without_a_feature_that_fails(tmp_path: Path, slot: str) -> None:
    async def play(name: str, _context: ToolContext) -> str:
        return name

    toy = dataclasses.replace(broken(slot), tools=(a_tool("play", play),))
    script = [asks(call("play", "c0", name="a")), *SCRIPT, *SCRIPT]
    async with a_world(tmp_path, script, files={"a.py": "1\n"}, features=[toy]) as world:
        if slot == "changed":
            assert world.session.parts.features.changed(1) == frozenset()
        first = await world.turn()
        second = await world.turn()
        assert [first.ending, second.ending] == ["done", "done"]
        assert world.session.parts.features.muted == {"toy"}
        (told,) = notices(world)  # there is one notice, and none in the next turn
        assert "'toy'" in told
        assert "ZeroDivisionError" in told
        await world.records()


async def test_a_failing_feature_context_does_not_hide_the_end_of_the_turn(
    tmp_path: Path,
) -> None:
    class Leaving:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *_: object) -> None:
            raise ZeroDivisionError

    feature: Feature[Session] = Feature(name="toy", around=lambda _moment: Leaving())
    async with a_world(tmp_path, SCRIPT, files={"a.py": "1\n"}, features=[feature]) as world:
        finished = await world.turn()
    assert finished.ending == "done"
    assert len(notices(world)) == 1


@pytest.mark.parametrize("slot", ["refuse_words", "check_words"])
async def test_a_prompt_whose_check_fails_is_not_sent(tmp_path: Path, slot: str) -> None:
    async with a_world(tmp_path, SCRIPT, features=[broken(slot)]) as world:
        for _ in range(2):  # the guard also refuses in the second turn
            finished = await world.turn("secret words")
            assert finished.ending == "failed"
            assert "'toy'" in finished.message
            assert finished.draft == "secret words"
        assert world.provider.requests == []


async def test_a_call_that_cannot_be_checked_does_not_run(tmp_path: Path) -> None:
    script = [
        asks(call("write_file", "c1", path="b.py", content="1")),
        asks(call("write_file", "c2", path="b.py", content="2")),
        says("done"),
    ]
    features = [broken("before_tool")]
    async with a_world(tmp_path, script, features=features) as world:
        assert (await world.turn()).ending == "done"
        assert [result.is_error for result in world.results] == [True, True]
        assert all("'toy'" in result.text for result in world.results), world.results
        assert world.told(events.EditApplied) == []


async def test_a_muted_feature_continues_guarding(tmp_path: Path) -> None:
    asked: list[str] = []

    async def before_tool(*_: object) -> None:
        asked.append("call")

    feature = dataclasses.replace(broken("begin"), before_tool=before_tool)
    async with a_world(tmp_path, SCRIPT, files={"a.py": "1\n"}, features=[feature]) as world:
        assert (await world.turn()).ending == "done"
        assert world.session.parts.features.muted == {"toy"}
    assert asked == ["call"]


async def test_an_expected_error_propagates(tmp_path: Path) -> None:
    async def prompt_blocks(*_: object) -> Any:
        raise UserError("no such page")

    feature: Feature[Session] = Feature(name="toy", prompt_blocks=prompt_blocks)
    async with a_world(tmp_path, SCRIPT, features=[feature]) as world:
        finished = await world.turn()
        assert (finished.ending, finished.message) == ("failed", "no such page")
        assert world.session.parts.features.muted == frozenset()


async def test_a_state_that_cannot_be_read_costs_only_its_feature(tmp_path: Path) -> None:
    def fail(*_: object) -> Any:
        raise ZeroDivisionError

    state = DurableState(read=fail, now=fail, restore=fail, inherit=fail)
    feature: Feature[Session] = Feature(name="toy", state=state)
    async with a_world(tmp_path, SCRIPT, files={"a.py": "1\n"}, features=[feature]) as world:
        features = world.session.parts.features
        assert "toy" not in features.read((), ())
        assert "toy" not in features.now()
        features.restore({"toy": 1})
        assert (await world.turn()).ending == "done"
        assert len(notices(world)) == 1


async def test_a_steering_message_whose_check_fails_is_not_sent(tmp_path: Path) -> None:
    async def read(_name: str, _context: ToolContext) -> str:
        world.session.steer("secret words")
        return "steered"

    script = [asks(call("steer", "c1")), says("not reached")]
    tools, features = [a_tool("steer", read)], [broken("check_steering")]
    async with a_world(tmp_path, script, tools=tools, features=features) as world:
        finished = await world.turn()
        assert finished.ending == "failed"
        assert "'toy'" in finished.message
        assert finished.draft == "secret words"
        assert len(world.provider.requests) == 1


async def test_a_steering_message_reaches_the_model_even_if_a_feature_fails(
    tmp_path: Path,
) -> None:
    async def read(_name: str, _context: ToolContext) -> str:
        world.session.steer("look closer")
        return "steered"

    script = [asks(call("steer", "c1")), says()]
    tools, features = [a_tool("steer", read)], [broken("steered")]
    async with a_world(tmp_path, script, tools=tools, features=features) as world:
        assert (await world.turn()).ending == "done"
        assert texts(world.messages[-2])[-1] == "look closer"
        assert len(notices(world)) == 1


@pytest.mark.parametrize("slot", ["compacted", "after_compaction", "unpinned"])
async def test_a_compaction_is_kept_when_a_feature_fails_on_its_event(
    tmp_path: Path, slot: str
) -> None:
    script = [asks(call("read_file", "c1", path="a.py")), says(), says(), says()]
    files = {"a.py": "x = 1\n" * 3_000}
    async with a_world(tmp_path, script, files=files, features=[broken(slot)]) as world:
        for words in ("read it", "go on", "/compact", "go on"):
            assert (await world.turn(words)).ending == "done"
        assert world.told(events.Compacted)
        assert len(notices(world)) == 1
        await world.records()


async def test_a_sub_agent_does_not_start_without_a_feature_that_may_be_its_guard(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path, [], features=[broken("for_child")]) as world:
        with pytest.raises(ToolError, match="does not start, because the feature 'toy'"):
            world.session.parts.features.for_child()


async def test_every_feature_is_closed_even_if_another_fails_to_close(tmp_path: Path) -> None:
    closed: list[str] = []

    async def close() -> None:
        closed.append("other")

    async def fail() -> None:
        raise ZeroDivisionError

    features: list[Feature[Session]] = [
        Feature(name="other", close=close),
        Feature(name="toy", close=fail),
        Feature(name="another", close=close),
    ]
    async with a_world(tmp_path, [], features=features) as world:
        pass
    assert closed == ["other", "other"]
    assert world.session.parts.features.muted == {"toy"}


@pytest.mark.parametrize("slot", SUSPENDING)
async def test_a_turn_can_be_stopped_in_each_slot(tmp_path: Path, slot: str) -> None:
    reached = asyncio.Event()
    is_waiting = [True]
    nothing: dict[str, Any] = {"on_stop": False, "after_reply": {}}

    async def wait(*_: object) -> Any:
        reached.set()
        if is_waiting[0]:
            await asyncio.Event().wait()
        return nothing.get(slot)

    class Waiting:
        async def __aenter__(self) -> None:
            await wait()

        async def __aexit__(self, *_: object) -> None: ...

    filled = (lambda _moment: Waiting()) if slot == "around" else wait
    feature = Feature(name="toy", **{slot: filled})  # type: ignore[arg-type] # as the slot has it
    script = [*SCRIPT, *SCRIPT]
    async with a_world(tmp_path, script, files={"a.py": "1\n"}, features=[feature]) as world:
        turn = world.begin()
        await asyncio.wait_for(reached.wait(), PATIENCE_S)
        turn.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(turn, PATIENCE_S)
        (finished,) = world.told(events.TurnFinished)
        assert isinstance(finished, events.TurnFinished)
        assert finished.ending == "cancelled"
        assert world.session.parts.features.muted == frozenset()
        await world.records()  # reading the log raises no error
