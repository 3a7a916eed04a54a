from __future__ import annotations

import asyncio
import inspect
import signal

import pytest

from indwell.cli.terminal.interruptible_work import _interrupts_held_back, wait_for


async def seven() -> int:
    await asyncio.sleep(0)
    return 7


def test_wait_for_runs_work_to_its_end() -> None:
    assert wait_for(seven()) == 7


async def pressed_in_the_middle() -> None:
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()


def test_ctrl_c_ends_work_that_waits_and_leaves_nothing_open() -> None:
    work = pressed_in_the_middle()
    with pytest.raises(KeyboardInterrupt):
        wait_for(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


def test_ctrl_c_during_a_protected_step_takes_effect_afterwards() -> None:
    reached = []

    def work() -> None:
        with _interrupts_held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["the end"]
