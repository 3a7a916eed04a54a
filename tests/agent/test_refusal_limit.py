"""After several refusals, the user is not asked again in the same turn (attacker L2)."""

from __future__ import annotations

from pathlib import Path

from indwell.agent.core.events import Notice
from indwell.agent.permission.permit import MOST_REFUSED, NO_MORE
from support.session import a_world, asks, call, says

MANY = [
    call("write_file", f"c{at}", path=f".git/hooks/h{at}", content="x")
    for at in range(MOST_REFUSED + 3)
]


async def test_many_refused_questions_end_the_questions_of_a_turn(tmp_path: Path) -> None:
    async with a_world(tmp_path, [asks(*MANY), says(), asks(MANY[0]), says()]) as world:
        await world.turn()
        assert len(world.approver.questions) == MOST_REFUSED
        assert [one.message for one in world.told(Notice) if isinstance(one, Notice)] == [NO_MORE]
        assert [one.text for one in world.results][MOST_REFUSED].startswith(
            "not allowed: the last 5 questions to the user got no yes"
        )
        await world.turn()  # in the next turn, the user is asked again
        assert len(world.approver.questions) == MOST_REFUSED + 1


async def test_a_yes_resets_the_count_of_refused_permissions(tmp_path: Path) -> None:
    answers = ["no"] * (MOST_REFUSED - 1) + ["once"] + ["no"] * 3
    async with a_world(tmp_path, [asks(*MANY), says()], answers=answers) as world:
        await world.turn()
        assert len(world.approver.questions) == len(MANY)
