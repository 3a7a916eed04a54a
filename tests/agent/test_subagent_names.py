"""A sub-agent has the same name on the screen, in questions and in the log."""

from __future__ import annotations

from pathlib import Path

from indwell.agent.core import events
from indwell.agent.features.subagents.definition import SubagentNames
from indwell.policy.call_facts import Policy
from indwell.sessions.audit_trail import acts
from support.session import asks, call, says
from support.subagents import EDIT, READ, Model, a_house


async def test_unnamed_sub_agents_have_the_same_number_everywhere(tmp_path: Path) -> None:
    model = Model(
        [asks(call("agent", "c1", task="first"), call("agent", "c2", task="second")), says()],
        children={task: [READ, EDIT, says("refused")] for task in ("first", "second")},
    )
    async with a_house(tmp_path, model, policy=Policy("ask")) as (world, _):
        await world.turn()
        names = SubagentNames()
        shown = {one.agent: name for one in world.events if (name := names.of(one))}
        asked = {one.agent: one.title for one in world.told(events.PermissionAsked)}
        logged = {one.agent for one in acts(await world.records()) if one.agent}
    assert shown == {"c1": "general", "c2": "general 2"}
    assert asked == {id_: f"Sub-agent {name}: Change shop.py?" for id_, name in shown.items()}
    assert logged == set(shown.values())
