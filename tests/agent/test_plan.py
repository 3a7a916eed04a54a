"""The model's plan in real turns: proposed, approved, carried out, stored in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import Event, PlanChanged, TextAdded, ToolFinished
from indwell.agent.features.plan import APPROVED, NAME, PlanBoard, make_plan
from indwell.agent.requests.request_blocks import forthcoming
from indwell.context.task_state import Plan
from indwell.context.tokens import estimate_tokens
from indwell.errors import SessionError
from indwell.messages import Request
from indwell.policy.call_facts import Policy
from indwell.sessions.branches import lived, plan_of
from indwell.sessions.records import PlanSet, Rewound
from indwell.settings.model import Mode
from support.planned import PROPOSED, STEPS, planned
from support.session import asks, call, says, with_parts


def heard(request: Request) -> str:
    """Return the whole text of the newest message of a request."""
    return "\n".join(block.text for block in request.messages[-1].blocks if hasattr(block, "text"))


async def test_a_proposed_plan_ends_the_turn_and_is_reported_with_its_document(tmp_path) -> None:
    async with planned(tmp_path, [PROPOSED], policy=Policy("plan")) as made:
        finished = await made.world.turn("mend it")
        assert (finished.ending, finished.answer, finished.rounds) == ("done", "I looked.", 1)
        (told,) = made.world.told(PlanChanged)
        assert isinstance(told, PlanChanged)
        assert (told.turn, told.state, told.text) == (1, "proposed", STEPS)
        assert Path(told.path).read_text(encoding="utf-8") == f"{STEPS}\n"
        assert made.world.approver.questions == []
        records = await made.world.records()
        assert plan_of(records) == Plan("proposed", STEPS, told.path)


async def test_the_plan_is_the_answer_if_the_model_says_nothing_else(tmp_path) -> None:
    async with planned(tmp_path, [asks(call(NAME, text=STEPS))]) as made:
        assert (await made.world.turn("mend it")).answer == STEPS


async def test_an_approved_plan_is_sent_once_and_finished_with_its_turn(tmp_path) -> None:
    asked: list[Request] = []

    def working(request: Request) -> Any:
        asked.append(request)
        return asks(call("todo", items=[{"text": "Mend", "state": "done"}]))

    def ending(request: Request) -> Any:
        asked.append(request)
        return says("mended")

    async with planned(tmp_path, [PROPOSED, working, ending]) as made:
        await made.world.turn("mend it")
        await made.approve()
        finished = await made.world.turn(APPROVED)
        assert finished.ending == "done"
        block = f"<approved-plan>\n{STEPS}\n</approved-plan>"
        first, second = map(heard, asked)
        assert (first.count(block), second.count(block)) == (1, 0)
        assert first.index(block) < first.index(APPROVED)
        assert "The mode is `auto` now" in first
        (plan,) = [one for one in asked[1].messages[-3].blocks if one.meta.source == "plan"]
        assert (plan.meta.tier, plan.meta.pinned, plan.meta.compactable) == (1, True, False)
        assert [state for state, _ in made.told()] == ["proposed", "approved", "done"]
        assert [one.state for one in await made.world.records() if isinstance(one, PlanSet)] == [
            "proposed",
            "approved",
            "done",
        ]


async def test_the_model_gets_the_plan_as_the_user_edited_it(tmp_path) -> None:
    asked: list[Request] = []

    def ending(request: Request) -> Any:
        asked.append(request)
        return says("done")

    async with planned(tmp_path, [PROPOSED, ending]) as made:
        await made.world.turn("mend it")
        before = made.board.plan.path
        await made.approve("1. Only mend `total`")
        await made.world.turn(APPROVED)
        assert "<approved-plan>\n1. Only mend `total`\n</approved-plan>" in heard(asked[0])
        assert made.told()[1] == ("approved", "1. Only mend `total`")
        assert made.board.plan.path != before
        assert Path(before).read_text(encoding="utf-8") == f"{STEPS}\n"


async def test_a_plan_without_a_document_gets_a_document_on_request(tmp_path) -> None:
    async with planned(tmp_path, []) as made:
        board = made.board
        # As in an old fork, whose original session has the document.
        board.plan = Plan("proposed", STEPS)
        await made.tell()
        assert (board.plan.path, made.told()) == ("", [])
        board.tell_again()
        await made.tell()
        assert Path(board.plan.path).read_text(encoding="utf-8") == f"{STEPS}\n"
        assert plan_of(await made.world.records()) == board.plan


async def test_a_plan_stays_approved_until_all_its_steps_are_done(tmp_path) -> None:
    open_ = asks(call("todo", items=[{"text": "Mend"}, {"text": "Test", "after": [1]}]))
    done = asks(call("todo", "t2", items=[{"text": "Mend", "state": "done"}]))
    script = [PROPOSED, open_, says("half"), done, says("whole")]
    async with planned(tmp_path, script) as made:
        await made.world.turn("mend it")
        await made.approve()
        await made.world.turn(APPROVED)
        assert made.board.plan.state == "approved"
        await made.world.turn("go on")
        assert made.board.plan.state == "done"


async def test_a_plan_stays_approved_if_its_turn_fails_or_is_stopped(tmp_path) -> None:
    same = asks(call("read_file", path="a.txt"))
    async with planned(tmp_path, [PROPOSED, *[same] * 12], files={"a.txt": "x\n"}) as made:
        await made.world.turn("mend it")
        await made.approve()
        assert (await made.world.turn(APPROVED)).ending == "repeated"
        assert made.board.plan.state == "approved"


@pytest.mark.parametrize("mode", ["ask", "review", "auto"])
async def test_outside_plan_mode_the_plan_tool_is_refused_and_the_turn_continues(
    tmp_path, mode: Mode
) -> None:
    async with planned(tmp_path, [PROPOSED, says("mended")], mode=mode) as made:
        finished = await made.world.turn("mend it")
        assert (finished.answer, finished.rounds) == ("mended", 2)
        assert made.told() == []
        assert f"the mode is `{mode}`" in made.world.results[0].text


async def test_the_model_is_informed_of_plan_mode_once_a_turn_and_of_its_end(tmp_path) -> None:
    asked: list[str] = []

    def hears(step: Any) -> Any:
        def answer(request: Request) -> Any:
            asked.append(heard(request))
            return step

        return answer

    read = asks(call("read_file", path="a.txt"))
    script = [hears(one) for one in (read, says("one"), says("two"), says("three"), says("four"))]
    async with planned(tmp_path, script, files={"a.txt": "x\n"}) as made:
        await made.world.turn("one")
        await made.world.turn("two")
        made.set_mode("review")
        await made.world.turn("three")
        await made.world.turn("four")
    assert ["The mode is `plan`" in one for one in asked] == [True, False, True, False, False]
    assert ["The mode is `review` now" in one for one in asked] == [
        False, False, False, True, False,
    ]  # fmt: skip


async def test_waiting_steering_messages_are_handled_before_a_plan_ends_the_turn(tmp_path) -> None:
    script: list[Any] = [PROPOSED, asks(call(NAME, "p2", text="1. Other"))]
    async with planned(tmp_path, script) as made:
        session, emit = made.world.session, made.world.emit

        def steering(event: Event) -> None:
            emit(event)
            if isinstance(event, TextAdded) and session.turn_runs and session.turns == 1:
                session.steer("not the tests") if not session.steering else None

        object.__setattr__(made.world, "emit", steering)
        finished = await made.world.turn("mend it")
        assert finished.ending == "done"
        assert made.board.plan.text == "1. Other"


async def test_a_rewind_restores_the_plan_of_the_target_turn(tmp_path) -> None:
    async with planned(tmp_path, [PROPOSED, says("mended")]) as made:
        await made.world.turn("mend it")
        await made.approve()
        await made.world.turn(APPROVED)
        records = await made.world.records()
        back = (*records, Rewound(1, "small", "now"))
        features = made.world.session.parts.features
        then, now = (features.read(lived(one), one)[NAME] for one in (back, records))
        assert [one.plan.state for one in (then, now)] == ["proposed", "done"]
        assert [bool(one.told_turn) for one in (then, now)] == [True, False]


@pytest.mark.parametrize(
    ("text", "problem"), [(" ", "has no words"), ("x" * 12_001, "say it shorter")]
)
async def test_a_text_that_is_not_a_plan_is_refused_and_the_turn_continues(
    tmp_path, text, problem
) -> None:
    async with planned(tmp_path, [asks(call(NAME, text=text)), says("well")]) as made:
        assert (await made.world.turn("go")).rounds == 2
        assert problem in made.world.results[0].text
        assert made.world.told(ToolFinished)[0].is_error  # type: ignore[union-attr]
        assert made.board.plan == Plan()


async def test_a_plan_is_kept_if_its_document_cannot_be_written(tmp_path) -> None:
    async def full(_name: str, _text: str) -> Path:
        raise SessionError("the disk is full; make room")

    async with planned(tmp_path, [PROPOSED]) as made:
        with_parts(made.world.session, keep=full)
        await made.world.turn("mend it")
        assert made.board.plan == Plan("proposed", STEPS)
        assert made.told() == [("proposed", STEPS)]


def test_the_schema_of_the_plan_tool_takes_few_tokens() -> None:
    spec = make_plan(PlanBoard(), lambda: "plan").spec
    assert estimate_tokens(spec.description + spec.parameters) < 90


async def test_a_preview_of_the_next_request_shows_mode_and_plan_and_sends_nothing(
    tmp_path,
) -> None:
    async with planned(tmp_path, [PROPOSED, says("done")]) as made:
        session = made.world.session
        behind = (await forthcoming(session)).behind
        assert ["The mode is `plan`" in one.text for one in behind] == [True]
        await made.world.turn("mend it")
        await made.approve()
        behind = (await forthcoming(session)).behind
        assert [one.meta.source for one in behind] == ["reminder", "plan"]
        assert (await forthcoming(session)).behind == behind
        await made.world.turn(APPROVED)
        sent = made.world.provider.requests[-1].messages[-1].blocks
        assert set(behind) <= set(sent)
