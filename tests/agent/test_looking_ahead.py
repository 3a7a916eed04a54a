"""The workspace is scanned while the model thinks, so that the first command does not wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from indwell.agent.features.tool_features import LookingAhead
from indwell.messages import Reply
from indwell.policy.rules import Widening
from indwell.sandbox.confinement import Confinement, Guarded
from indwell.tools.base import Tool
from indwell.tools.commands.bash import Shell, make_bash
from support.session import PATIENCE_S, World, a_world, says, with_rules


class Looks:
    """Counts the scans for protected files, which run in a thread."""

    def __init__(self) -> None:
        self.n_looks = 0
        self.first = asyncio.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self._loop = asyncio.get_running_loop()

    def confine(self, _widening: Widening) -> Confinement:
        return Confinement(writable=(), look=self._look)

    def _look(self) -> Guarded:
        self.n_looks += 1
        self._loop.call_soon_threadsafe(self.first.set)
        self.may_end.wait(PATIENCE_S)
        return Guarded()


@asynccontextmanager
async def looked_at(
    folder: Path, answers: Sequence[Reply], tools: Sequence[Tool[Any]]
) -> AsyncIterator[tuple[World, Looks, LookingAhead]]:
    """Run a session; yield it with the scans of its workspace."""
    ahead, looks = LookingAhead(), Looks()
    async with a_world(folder, answers, tools=tools, features=(ahead.feature(),)) as world:
        with_rules(world.session, confine=looks.confine)
        yield world, looks, ahead


async def test_only_the_first_turn_scans_the_workspace_before_any_command(
    tmp_path: Path,
) -> None:
    bash = make_bash(Shell(tmp_path, timeout_s=60))
    async with looked_at(tmp_path, [says("hello"), says("again")], [bash]) as (world, looks, ahead):
        await world.turn()
        await asyncio.wait_for(looks.first.wait(), PATIENCE_S)
        first = ahead.task
        assert first is not None
        await asyncio.wait_for(first, PATIENCE_S)
        await world.turn()
        assert (looks.n_looks, ahead.task) == (1, first)


async def test_a_session_without_commands_does_not_scan_ahead(tmp_path: Path) -> None:
    async with looked_at(tmp_path, [says("hello")], []) as (world, looks, ahead):
        await world.turn()
        assert (looks.n_looks, ahead.task) == (0, None)


async def test_a_session_that_ends_does_not_wait_for_its_scan(tmp_path: Path) -> None:
    bash = make_bash(Shell(tmp_path, timeout_s=60))
    async with looked_at(tmp_path, [says("hello")], [bash]) as (world, looks, ahead):
        looks.may_end.clear()
        await world.turn()
        await asyncio.wait_for(looks.first.wait(), PATIENCE_S)
        await asyncio.wait_for(world.session.close(), PATIENCE_S / 2)
        assert ahead.task is not None
        assert ahead.task.cancelled()
        looks.may_end.set()
