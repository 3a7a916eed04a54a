"""Creates a session whose model has the tool ``agent``, and scripts the sub-agents' replies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from indwell.agent.compaction.fit import make_compact
from indwell.agent.core.session import Session
from indwell.agent.core.session_parts import CompactionWish
from indwell.agent.features.subagents.child import OwnTools, SubagentLimits
from indwell.agent.features.subagents.definition import Definition
from indwell.agent.features.subagents.feature import Subagents, make_agent
from indwell.messages import Reply, Request
from indwell.tools.base import Tool
from support.session import MemoryLog, World, a_world, asks, call, texts

FILES = {"shop.py": "def total(items):\n    return sum(items) + 1\n"}
PLAIN = "find the mistake in shop.py"


def is_child(request: Request) -> bool:
    return "You are a sub-agent" in request.system[-1].text


class Model:
    """A model with one script for the agent and one for each sub-agent's task."""

    def __init__(self, main: Sequence[Reply], *, children: Mapping[str, Sequence[Reply]]) -> None:
        self.main = list(main)
        self.children = {task: list(replies) for task, replies in children.items()}
        self.sent_main: list[Request] = []
        self.sent_children: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        if not is_child(request):
            self.sent_main.append(request)
            return self.main.pop(0)
        self.sent_children.append(request)
        words = "\n".join(texts(request.messages[0]))
        task = next(task for task in self.children if task in words)
        return self.children[task].pop(0)


@asynccontextmanager
async def a_house(
    folder: Path,
    script: Callable[[Request], Any],
    *,
    tools: Sequence[Tool[Any]] = (),
    named: Sequence[Definition] = (),
    model: str = "",
    limits: SubagentLimits = SubagentLimits(),  # noqa: B008 - frozen
    **more: Any,
) -> AsyncIterator[tuple[World, list[MemoryLog]]]:
    """Yield a session whose model has the tool ``agent``, and the logs of its sub-agents."""
    logs: list[MemoryLog] = []

    async def begin(session: Session, model: str) -> tuple[int, MemoryLog]:
        del session, model
        logs.append(MemoryLog())
        return len(logs), logs[-1]

    def own_tools() -> OwnTools:
        wish = CompactionWish()
        return OwnTools(wish, (make_compact(wish),))

    async def known() -> Mapping[str, Definition]:
        return {one.name: one for one in named}

    subagents = Subagents(named, known, lambda: limits, lambda: model, own_tools, begin)
    given = (*tools, make_agent(subagents))
    async with a_world(folder, script, files=FILES, tools=given, **more) as world:
        subagents.session = world.session
        yield world, logs


def delegates(task: str = PLAIN, id_: str = "c1", **more: object) -> Reply:
    return asks(call("agent", id_, task=task, **more))


READ = asks(call("read_file", "r1", path="shop.py"))
EDIT = asks(call("edit_file", "e1", path="shop.py", edits=[{"old": " + 1", "new": ""}]))
