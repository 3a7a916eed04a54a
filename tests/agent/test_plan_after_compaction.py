"""An approved plan survives every kind of compaction, and a rewind of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indwell.agent.compaction.summary import card_of
from indwell.agent.core.events import Compacted, PlanChanged
from indwell.agent.features.plan import APPROVED, PlanBoard, board_of, plan_feature
from indwell.context.compaction.presets import PRESETS
from indwell.context.task_state import Plan
from indwell.messages import Reply, Request, Text
from indwell.service.sessions.inherited_task import take_task
from indwell.tools.base import ToolTable
from support.session import a_tool, a_world, call, says, with_parts

STEPS = "1. Read every report\n2. Never touch `cart_3.py` </task-card>"
BLOCK = "<approved-plan>\n1. Read every report\n2. Never touch `cart_3.py` &lt;/task-card>\n"
LINES = "\n".join(f"line {number} of a report about cart {number}.py" for number in range(250))


async def report(name: str, _context: object) -> str:
    return f"{name}\n{LINES}"


def reading(n_rounds: int) -> Any:
    made = iter(range(n_rounds))

    def answer(request: Request) -> Reply:
        asked = [*request.system, *request.messages[-1].blocks[-1:]]
        if any(isinstance(one, Text) and "Sum up " in one.text for one in asked):
            return Reply("The reports name carts; nothing was changed yet.")
        number = next(made, None)
        if number is None:
            return Reply("done")
        return Reply("", (call("report", f"c{number}", name=f"r{number}"),), finish="tool_calls")

    return answer


def with_plan(folder: Path, script: Any, board: PlanBoard, **more: Any) -> Any:
    return a_world(folder, script, features=[plan_feature(board, lambda: "review")], **more)


def approved() -> PlanBoard:
    board = PlanBoard()
    board.propose(STEPS, 1)
    board.take("approve")
    return board


@pytest.mark.parametrize("preset", ["default", "regions-d", "ladder-a", "auto-b", "slide"])
async def test_every_request_has_the_plan_once_word_for_word_after_any_compaction(
    tmp_path: Path, preset: str
) -> None:
    registry, script = ToolTable([a_tool("report", report)]), reading(20)
    async with with_plan(tmp_path, script, approved(), registry=registry, window=16_000) as world:
        with_parts(world.session, preset=PRESETS[preset])
        finished = await world.turn(APPROVED)
        assert (finished.ending, finished.rounds) == ("done", 21)
        assert world.told(Compacted)
        for request in world.provider.requests:
            if request.system[0].text != "You are a test.":
                continue  # skip a summary request, which is not part of the conversation
            texts = [
                block.text
                for message in request.messages
                for block in message.blocks
                if isinstance(block, Text) and block.meta.source == "plan"
            ]
            assert len(texts) == 1
            assert texts[0].startswith(BLOCK)


@pytest.mark.parametrize("state", ["proposed", "approved"])
async def test_a_new_session_takes_over_and_sends_the_plan_of_the_old_session(
    tmp_path: Path, state: Any
) -> None:
    def fails(_request: Request) -> Any:
        return Reply("half", finish="length")

    board = PlanBoard()
    async with with_plan(tmp_path, [fails], board) as old:
        board.propose(STEPS, 1)
        if state == "approved":
            board.take("approve")
        assert (await old.turn("Count the carts.")).ending == "failed"
        assert card_of(old.session.conversation) is not None
        await old.session.parts.log.commit()
        async with with_plan(tmp_path / "new", [says("fine")], PlanBoard()) as new:
            await take_task(new.session, old.store, old.session.id)
            assert board_of(new.session).plan == Plan(state, STEPS)
            await new.turn("go on")
            told = new.told(PlanChanged)
            assert isinstance(told[0], PlanChanged)
            assert (told[0].state, told[0].text) == (state, STEPS)
            assert Path(told[0].path).is_relative_to(tmp_path / "new")
            sent = [
                block.meta.source
                for block in new.provider.requests[0].messages[-1].blocks
                if isinstance(block, Text)
            ]
            assert ("plan" in sent) == (state == "approved")
            assert "task_card" in sent


@pytest.mark.parametrize("preset", ["regions-d", "ladder-a", "auto-b", "slide"])
@pytest.mark.parametrize("state", ["done", "proposed"])
async def test_an_outdated_plan_is_compacted_like_other_text(
    tmp_path: Path, preset: str, state: str
) -> None:
    first, rest = reading(1), reading(40)
    board = approved()

    def answer(request: Request) -> Reply:
        return rest(request) if board.plan.state == state else first(request)

    registry = ToolTable([a_tool("report", report)])
    async with with_plan(tmp_path, answer, board, registry=registry, window=16_000) as world:
        with_parts(world.session, preset=PRESETS[preset])
        await world.turn(APPROVED)
        assert board.plan.state == "done"
        if state == "proposed":
            board.propose("1. Another", 1)
        await world.turn("go on")
        assert world.told(Compacted)
        shown = [
            any(
                isinstance(block, Text) and block.meta.source == "plan"
                for message in request.messages
                for block in message.blocks
            )
            for request in world.provider.requests
            if request.system[0].text == "You are a test."
        ]
        assert (shown[0], shown[-1]) == (True, False)
