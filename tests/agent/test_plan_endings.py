"""When a plan is reported, and when a plan counts as done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.agent.core.prompt import Prompt
from indwell.agent.features.plan import APPROVED, written_plan
from indwell.agent.loop.turn import run_turn
from indwell.context.task_state import MOST_BYTES, Plan
from indwell.errors import UserError
from support.planned import PROPOSED, STEPS, planned
from support.platforms import posix_only
from support.session import asks, call, says, with_parts

OPEN = asks(call("todo", "t1", items=[{"text": "Look"}, {"text": "Write"}]))


async def test_the_next_turn_reports_a_plan_that_a_stopped_turn_did_not_report(
    tmp_path,
) -> None:
    async with planned(tmp_path, [PROPOSED, says("well")]) as made:
        session, writes = made.world.session, asyncio.Event()
        spill = session.parts.spill.keep

        async def never(_name: str, _text: str) -> Path:
            writes.set()
            await asyncio.Event().wait()
            raise AssertionError

        with_parts(session, keep=never)
        turn = asyncio.create_task(run_turn(session, Prompt("mend it"), made.world.emit))
        await writes.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert made.told() == []
        with_parts(session, keep=spill)
        await made.world.turn("go on")
        assert made.told() == [("proposed", STEPS)]


async def test_a_plan_changed_while_its_document_is_written_is_reported_in_its_new_form(
    tmp_path,
) -> None:
    async with planned(tmp_path, [PROPOSED]) as made:
        session = made.world.session
        spill = session.parts.spill.keep

        async def changing(name: str, text: str) -> Path:
            path = await spill(name, text)
            if made.board.plan.text == STEPS:
                made.board.take("edit", "1. Mine")
            return path

        with_parts(session, keep=changing)
        await made.world.turn("mend it")
        assert made.told() == [("proposed", "1. Mine")]
        assert Path(made.board.plan.path).read_text(encoding="utf-8") == "1. Mine\n"


async def test_a_turn_finishes_an_approved_plan_only_if_it_changes_a_file(
    tmp_path,
) -> None:
    write = asks(call("write_file", path="a.txt", content="mended\n"))
    async with planned(tmp_path, [PROPOSED, says("it means x"), write, says("well")]) as made:
        await made.world.turn("mend it")
        await made.approve()
        await made.world.turn("what does it mean?")
        assert made.board.plan.state == "approved"
        await made.world.turn("go on")
        assert made.board.plan.state == "done"


async def test_steps_of_an_older_list_do_not_keep_a_plan_that_was_carried_out(tmp_path) -> None:
    async with planned(tmp_path, [OPEN, PROPOSED, says("mended")]) as made:
        await made.world.turn("look")
        assert [one.text for one in made.board.steps().items] == ["Look", "Write"]
        made.board.approve(None)
        made.set_mode("auto")
        await made.world.turn(APPROVED)
        assert made.board.plan.state == "done"


@posix_only("symlinks")
def test_an_unreadable_plan_document_is_an_error_and_a_missing_document_is_not(
    tmp_path,
) -> None:
    path = tmp_path / "plan.md"
    plan = Plan("proposed", STEPS, str(path))
    assert written_plan(plan) == STEPS
    path.write_bytes(("x" * (MOST_BYTES + 1)).encode())
    with pytest.raises(UserError, match="the plan's document cannot be read"):
        written_plan(plan)
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match="is a folder"):
        written_plan(plan)
    path.rmdir()
    path.symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(UserError, match="the plan's document cannot be read"):
        written_plan(plan)
