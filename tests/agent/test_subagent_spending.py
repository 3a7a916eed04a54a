"""Costs of sub-agents count for the turn that started them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from indwell.agent.core import events
from indwell.agent.core.budget import Budgets
from indwell.agent.core.session_parts import OtherModel
from indwell.agent.features.subagents.child import SubagentLimits
from indwell.agent.restore import past_of, recalled
from indwell.messages import Reply, Request
from indwell.providers.base import Provider, StreamEvent
from indwell.providers.scripted import ScriptedProvider
from indwell.sessions.branches import model_of
from indwell.sessions.overview import overview
from indwell.sessions.records import Spent
from support.session import START, asks, call, says, with_parts
from support.subagents import PLAIN, READ, Model, a_house, delegates, is_child


async def test_a_sub_agents_cost_belongs_to_the_turn(tmp_path: Path) -> None:
    model = Model([delegates(), says()], children={PLAIN: [READ, says("x")]})
    async with a_house(tmp_path, model) as (world, logs):
        finished = await world.turn()
        records = await world.records()
    spent = [one for one in records if isinstance(one, Spent)]
    until = records.index(spent[2]) + 1
    answered = recalled(records[:until], START).answered_at
    assert answered == datetime.fromisoformat(spent[0].at), "its calls keep no cache of ours warm"
    assert [one.agent for one in spent] == ["", "general", "general", ""]
    assert finished.cost == sum(one.cost or 0 for one in spent)
    assert finished.usage.input == sum(one.usage.input for one in spent) == 40
    assert sum(isinstance(one, Spent) for one in logs[0].records) == 2


@pytest.mark.parametrize(
    ("limits", "budgets", "why"),
    [
        (SubagentLimits(tokens=1_500), Budgets(), "agent_budget_tokens = 1,500"),
        (SubagentLimits(), Budgets(turn_tokens=1_500), "budget_turn_tokens = 1,500"),
    ],
)
async def test_no_call_of_a_sub_agent_exceeds_its_budget_or_the_turns(
    tmp_path: Path, limits: SubagentLimits, budgets: Budgets, why: str
) -> None:
    model = Model([delegates(), says()], children={PLAIN: [asks(READ.calls[0], text="so far")] * 9})
    async with a_house(tmp_path, model, limits=limits) as (world, _):
        with_parts(world.session, budgets=budgets)
        await world.turn()
        (result,) = world.results
    assert why in result.text


class Slow:
    """A model that lets sub-agents wait for their answers until a gate opens."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.gate = asyncio.Event()

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        if is_child(request):
            await self.gate.wait()
        return await self.provider.complete(request, on_event)


async def test_budgets_hold_for_sub_agents_that_call_at_once(tmp_path: Path) -> None:
    """Each call alone would fit into the remaining budget, but two calls together would not."""
    model = Model(
        [asks(call("agent", "c1", task="first"), call("agent", "c2", task="second")), says()],
        children={"first": [says("one")], "second": [says("two")]},
    )
    async with a_house(tmp_path, model) as (world, _):
        slow = Slow(world.provider)
        budgets = Budgets(turn_tokens=2_800)
        with_parts(world.session, budgets=budgets, provider=slow)
        turn = world.begin()
        await world.until(lambda event: isinstance(event, events.ToolFinished))
        slow.gate.set()
        await turn
        told = [one.is_error for one in world.results]
    assert told == [False, True]


async def test_a_sub_agent_ends_at_its_round_limit_with_a_closing_answer(tmp_path: Path) -> None:
    loops = [asks(call("read_file", f"r{n}", path="shop.py", limit=n)) for n in range(1, 4)]
    model = Model([delegates(), says()], children={PLAIN: [*loops[:2], says("as far as I came")]})
    async with a_house(tmp_path, model, limits=SubagentLimits(rounds=2)) as (world, _):
        await world.turn()
        (result,) = world.results
    assert result.text.startswith("as far as I came\n[the sub-agent ended early")
    assert model.sent_children[-1].tool_choice == "none"


async def test_a_session_continues_with_its_own_model_not_with_a_sub_agents(tmp_path: Path) -> None:
    cheap = OtherModel(ScriptedProvider([says("x")]), "cheap", 64_000, 1_000, lambda _usage: 0.5)
    model = Model([delegates(), asks(READ.calls[0])], children={})
    async with a_house(tmp_path, model, model="cheap", round_limit=1) as (world, _):
        with_parts(world.session, other=lambda _name: cheap)
        model.main[1:] = [says("that was all")]
        finished = await world.turn()
        records = await world.records()
        reading = world.store.open(world.session.id)
    assert [one.model for one in records if isinstance(one, Spent)] == ["small", "cheap", "small"]
    assert finished.cost == 0.5 + 0.5 + 0.25
    until = next(n for n, one in enumerate(records) if isinstance(one, Spent) and one.agent) + 1
    killed = records[:until]  # the log ends right after the spending of the sub-agent
    assert past_of(killed).model == model_of(killed) == "small"
    assert past_of(killed).usage.input == 20
    assert overview("s", reading._replace(records=killed)).model == "small"
