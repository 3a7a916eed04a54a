"""Creates a session in mode `plan` whose user can approve the model's plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from indwell.agent.core.events import PlanChanged
from indwell.agent.core.feature import Moment
from indwell.agent.features.plan import NAME, PlanBoard, Steps, plan_feature, tell_plan
from indwell.agent.features.todo import TodoList
from indwell.settings.model import Mode
from support.session import World, a_world, asks, call

STEPS = "1. Mend `total`\n2. Run the tests"
PROPOSED = asks(call(NAME, text=STEPS), text="I looked.")


class Planned:
    """A session whose user can approve a plan; ``mode`` applies from the next call."""

    def __init__(self, world: World, board: PlanBoard, mode: list[Mode]) -> None:
        self.world, self.board, self._mode = world, board, mode

    async def approve(self, text: str | None = None, *, mode: Mode = "auto") -> None:
        self.board.take("approve", text)
        self._mode[0] = mode
        await self.tell()

    async def tell(self) -> None:
        world = self.world
        await tell_plan(self.board, Moment(world.session, world.session.turns, world.emit))

    def set_mode(self, mode: Mode) -> None:
        self._mode[0] = mode

    def told(self) -> list[tuple[str, str]]:
        return [
            (one.state, one.text)
            for one in self.world.told(PlanChanged)
            if isinstance(one, PlanChanged)
        ]


@asynccontextmanager
async def planned(
    folder: Path, script: list[Any], *, mode: Mode = "plan", **more: Any
) -> AsyncIterator[Planned]:
    todo, now = TodoList(), [mode]
    board = PlanBoard(lambda: Steps(todo.items, todo.written_in))
    features = [plan_feature(board, lambda: now[0]), todo.feature()]
    async with a_world(folder, script, features=features, **more) as world:
        parts = world.session.parts
        world.session.parts = replace(parts, rules=lambda: parts.rules().in_mode(now[0]))
        yield Planned(world, board, now)
