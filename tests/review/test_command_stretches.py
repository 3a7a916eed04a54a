"""The recording of a command's changes stops before another step, and begins again after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from indwell.review.checkpoints.coverage import Beside


class Stretches:
    """Records when a recording period begins and ends; the next period waits for ``ready``."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.open = asyncio.Event()

    @asynccontextmanager
    async def make(self) -> AsyncIterator[None]:
        await self.ready.wait()
        self.said.append("begins")
        self.open.set()
        yield
        self.open.clear()
        self.said.append("ends")


async def test_a_step_runs_between_two_recording_periods() -> None:
    stretches, beside = Stretches(), Beside()
    await beside.begin(stretches.make)
    async with beside.aside(), beside.aside():
        stretches.said.append("step")
    await beside.end()
    assert stretches.said == ["begins", "ends", "step", "begins", "ends"]


async def test_a_new_recording_period_begins_after_a_cancelled_step() -> None:
    stretches, beside = Stretches(), Beside()
    await beside.begin(stretches.make)
    reached = asyncio.Event()

    async def step() -> None:
        async with beside.aside():
            reached.set()
            await asyncio.Event().wait()

    stepping = asyncio.create_task(step())
    await reached.wait()
    stretches.ready.clear()
    stepping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stepping
    assert stretches.said == ["begins", "ends"]
    stretches.ready.set()
    async with asyncio.timeout(60):
        await stretches.open.wait()
    await beside.end()
    assert stretches.said == ["begins", "ends", "begins", "ends"]


async def test_no_recording_period_begins_after_the_command_ended() -> None:
    stretches, beside = Stretches(), Beside()
    await beside.begin(stretches.make)
    async with beside.aside():
        await beside.end()
    assert stretches.said == ["begins", "ends"]
