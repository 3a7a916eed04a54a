"""A sub-agent works on a task and returns only an answer, without additional permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core import events
from indwell.agent.features.subagents.definition import Definition
from indwell.agent.features.todo import NAME as TODO
from indwell.agent.features.todo import TodoList
from indwell.errors import Unreachable
from indwell.messages import Request, ToolUse
from indwell.policy.call_facts import Policy
from indwell.sessions.audit_trail import acts
from indwell.sessions.records import Intent, MessageRecord, Record, TurnEndRecord
from indwell.tools.base import ToolContext
from support.session import a_tool, asks, call, says, texts
from support.subagents import EDIT, FILES, PLAIN, READ, Model, a_house, delegates, is_child


async def test_a_sub_agent_returns_only_its_answer(tmp_path: Path) -> None:
    model = Model(
        [delegates(), says("told")],
        children={PLAIN: [READ, says("shop.py:2 adds one too many")]},
    )
    async with a_house(tmp_path, model) as (world, _):
        finished = await world.turn("a secret plan of the user's")
        (result,) = world.results
    assert result.text == "shop.py:2 adds one too many"
    assert finished.ending == "done"
    for request in model.sent_children:
        said = "\n".join(text for message in request.messages for text in texts(message))
        assert "a secret plan" not in said, "the sub-agent knows only its task"
    assert "sum(items)" not in str(model.sent_main[-1].messages), "what it read stays with it"


async def test_a_sub_agent_has_all_tools_that_cannot_reach_beyond_its_task(tmp_path: Path) -> None:
    async def nothing(_name: str, _context: ToolContext) -> str:
        return ""

    others = [a_tool(name, nothing) for name in ("ask_user", "plan", "remember", "grep")]
    write = asks(call(TODO, "t1", items=[{"text": "Look"}]))
    model = Model([delegates(), says()], children={PLAIN: [write, says("x")]})
    features = [TodoList().feature()]
    async with a_house(tmp_path, model, tools=others, features=features) as (world, _):
        await world.turn()
        assert world.session.parts.features.now() == {TODO: ()}, "its to-do list is its own"
    request = model.sent_children[0]
    names = [spec.name for spec in request.tools]
    assert names == ["read_file", "edit_file", "write_file", "grep", TODO]
    assert "0 of 1 done" in str(model.sent_children[-1].messages[-1])


async def test_a_sub_agent_cannot_start_a_sub_agent(tmp_path: Path) -> None:
    model = Model([delegates(), says()], children={PLAIN: [delegates("more"), says("no")]})
    async with a_house(tmp_path, model) as (world, logs):
        await world.turn()
    assert len(logs) == 1
    assert "there is no tool 'agent'" in str(model.sent_children[-1].messages[-1])


async def test_several_sub_agents_run_in_parallel(tmp_path: Path) -> None:
    both_began, begun = asyncio.Event(), list[str]()

    async def wait(name: str, _context: ToolContext) -> str:
        begun.append(name)
        if len(begun) == 2:
            both_began.set()
        await both_began.wait()  # without parallel sub-agents, this wait would never end
        return name

    model = Model(
        [
            asks(call("agent", "c1", task="first"), call("agent", "c2", task="second")),
            says(),
        ],
        children={
            "first": [asks(call("wait", "w", name="a")), says("one")],
            "second": [asks(call("wait", "w", name="b")), says("two")],
        },
    )
    async with a_house(tmp_path, model, tools=[a_tool("wait", wait)]) as (world, _):
        async with asyncio.timeout(60):
            await world.turn()
        assert [one.text for one in world.results] == ["one", "two"]
        ids = [one.id for one in world.told(events.ToolStarted) if one.agent]
    assert len(set(ids)) == 2, "calls of both have the same name in their replies"


async def test_the_work_of_a_sub_agent_is_reported_under_its_call(tmp_path: Path) -> None:
    model = Model(
        [delegates(), says()], children={PLAIN: [READ, EDIT, says("a long story of mine")]}
    )
    async with a_house(tmp_path, model) as (world, _):
        finished = await world.turn()
        of_child = [one for one in world.events if one.agent]
        assert {one.agent for one in of_child} == {"c1"}
        assert {type(one) for one in of_child} == {
            events.ToolStarted,
            events.ToolFinished,
            events.EditApplied,
            events.UsageReported,
        }
        words = "".join(one.text for one in world.told(events.TextAdded))
        assert "a long story" not in words
        (end,) = [one for one in world.told(events.ToolFinished) if one.name == "agent"]
    assert end.figure == "3 rounds, 35 tokens"
    assert [(one.path, one.added, one.removed) for one in finished.changes] == [("shop.py", 1, 1)]


async def test_a_long_answer_of_a_sub_agent_keeps_both_ends_and_is_complete_in_a_file(
    tmp_path: Path,
) -> None:
    answer = "begin " + "x " * 4_000 + " end"
    model = Model([delegates(), says()], children={PLAIN: [says(answer)]})
    async with a_house(tmp_path, model) as (world, _):
        await world.turn()
        (result,) = world.results
        (spilled,) = world.session.parts.readable.own[0].iterdir()
        assert spilled.read_text(encoding="utf-8") == answer
    assert result.text.startswith("begin")
    assert result.text.endswith(" end")
    assert len(result.text) < 5_000
    assert spilled.as_posix() in result.text


@pytest.mark.parametrize("mode", ["auto", "review", "plan"])
async def test_a_read_only_sub_agent_changes_nothing_in_any_mode(tmp_path: Path, mode: Any) -> None:
    model = Model(
        [delegates(read_only=True), says()], children={PLAIN: [READ, EDIT, says("cannot")]}
    )
    async with a_house(tmp_path, model, policy=Policy(mode)) as (world, _):
        await world.turn()
        text = (await world.workspace.read(world.workspace.resolve("shop.py"))).text
    assert text == FILES["shop.py"]
    assert "the mode is `plan`" in str(model.sent_children[-1].messages[-1])


async def test_a_permission_question_names_the_sub_agent(tmp_path: Path) -> None:
    """POL-17: a sub-agent may do no more than its parent, and the user sees who asks."""
    explore = Definition("explore", "looks around", "Look.", "indwell")
    model = Model(
        [delegates(name="explore"), says()], children={PLAIN: [READ, EDIT, says("refused")]}
    )
    async with a_house(tmp_path, model, policy=Policy("ask"), named=[explore]) as (world, _):
        await world.turn()
        (question,) = world.approver.questions
        (asked,) = world.told(events.PermissionAsked)
        records = await world.records()
    assert question.title == "Sub-agent explore: Change shop.py?" == asked.title
    assert asked.agent == "c1"
    by, act = acts(records)
    assert (by.tool, by.agent, by.end) == ("agent", "", "done")
    assert (act.agent, act.end) == ("explore", "refused")


async def test_refused_questions_are_counted_per_turn_not_per_sub_agent(tmp_path: Path) -> None:
    edits = [asks(call("write_file", f"w{n}", path=f"new{n}.txt", content="x")) for n in range(6)]
    model = Model(
        [delegates("first", "c1"), delegates("second", "c2"), says()],
        children={"first": [*edits[:4], says("a")], "second": [*edits[4:], says("b")]},
    )
    async with a_house(tmp_path, model, policy=Policy("ask")) as (world, _):
        await world.turn()
        assert len(world.approver.questions) == 5


async def test_a_sub_agent_has_a_complete_log_and_its_actions_are_in_the_sessions_log(
    tmp_path: Path,
) -> None:
    model = Model([delegates(), says()], children={PLAIN: [READ, EDIT, says("mended")]})
    async with a_house(tmp_path, model) as (world, logs):
        await world.turn()
        records = await world.records()
    own = logs[0].records
    replies = [
        one for one in own if isinstance(one, MessageRecord) and one.message.role == "assistant"
    ]
    assert len(replies) == 3
    assert isinstance(own[-1], TurnEndRecord)
    assert [(one.tool, one.tool_use_id) for one in records if isinstance(one, Intent)] == [
        ("agent", "c1"),
        ("edit_file", "a1-e1"),
    ]
    assert not any("sum(items)" in str(one) for one in _said(records))


def _said(records: Sequence[Record]) -> list[MessageRecord]:
    return [one for one in records if isinstance(one, MessageRecord)]


async def test_a_sub_agent_that_only_read_is_known_to_have_changed_nothing(tmp_path: Path) -> None:
    model = Model([delegates(), says()], children={PLAIN: [READ, says("x")]})
    async with a_house(tmp_path, model) as (world, _):
        await world.turn()
        assert not [one for one in await world.records() if isinstance(one, Intent)]


async def test_cancelling_the_turn_ends_all_sub_agents(tmp_path: Path) -> None:
    begun, never, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def wait(name: str, _context: ToolContext) -> str:
        begun.set()
        try:
            await never.wait()
        finally:
            ended.append(name)
        return name

    waits = [asks(call("wait", "w", name="one"))]
    model = Model([delegates()], children={PLAIN: waits})
    async with a_house(tmp_path, model, tools=[a_tool("wait", wait)]) as (world, logs):
        task = world.begin()
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        last = logs[0].records[-1]
        uses = [b for m in world.messages for b in m.blocks if isinstance(b, ToolUse)]
    assert ended == ["one"]
    assert isinstance(last, TurnEndRecord)
    assert last.ending == "cancelled"
    assert len(uses) == len(world.results) == 1


async def test_a_sub_agent_whose_model_fails_is_an_error_for_the_agent(tmp_path: Path) -> None:
    def script(request: Request) -> Any:
        if is_child(request):
            return Unreachable("the endpoint does not answer")
        return replies.pop(0)

    replies = [delegates(), says("did it myself")]
    async with a_house(tmp_path, script) as (world, _):
        finished = await world.turn()
        (result,) = world.results
    assert result.is_error
    assert "the endpoint does not answer" in result.text
    assert finished.answer == "did it myself"


@pytest.mark.parametrize("task", ["", "  \n"])
async def test_a_sub_agent_without_a_task_is_an_error(tmp_path: Path, task: str) -> None:
    model = Model([delegates(task), says()], children={})
    async with a_house(tmp_path, model) as (world, logs):
        await world.turn()
        (result,) = world.results
    assert "there is no task" in result.text
    assert not logs


async def test_a_task_that_begins_with_a_slash_is_not_a_command(tmp_path: Path) -> None:
    model = Model([delegates("/compact"), says()], children={"/compact": [says("a task")]})
    async with a_house(tmp_path, model) as (world, _):
        await world.turn()
        assert [one.text for one in world.results] == ["a task"]


async def test_an_unknown_sub_agent_is_answered_with_the_known_names(tmp_path: Path) -> None:
    explore = Definition("explore", "looks around", "Look.", "indwell", read_only=True)
    model = Model([delegates(name="expert"), says()], children={})
    async with a_house(tmp_path, model, named=[explore]) as (world, _):
        await world.turn()
        (result,) = world.results
    assert "there is no sub-agent 'expert'" in result.text
    assert "explore (only reads): looks around" in result.text


async def test_a_named_sub_agent_can_only_have_fewer_permissions(tmp_path: Path) -> None:
    narrow = Definition(
        "narrow", "", "Be brief.", "user", tools=frozenset({"read_file", "agent"}), rounds=99
    )
    model = Model([delegates(name="narrow"), says()], children={PLAIN: [says("x")]})
    async with a_house(tmp_path, model, named=[narrow]) as (world, _):
        await world.turn()
    (request,) = model.sent_children
    assert [spec.name for spec in request.tools] == ["read_file"]
    assert request.system[-1].text.endswith("Be brief.")
