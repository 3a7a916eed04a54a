from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.sandbox import run_program, spawn
from indwell.sandbox.program import Pool


async def test_prc_12_commands_over_the_limit_wait_in_order_and_can_be_cancelled() -> None:
    pool, order, go = Pool(2), [], asyncio.Event()

    async def take(number: int) -> None:
        async with pool.place():
            order.append(number)
            await go.wait()

    tasks = [asyncio.create_task(take(number)) for number in range(6)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert order == [0, 1]
    tasks[3].cancel()
    await asyncio.wait({tasks[3]})
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 2, 4, 5]


async def test_prc_12_a_hundred_commands_at_once_take_turns_and_leave_no_trace(
    tmp_path: Path,
) -> None:
    most = "n=$(ls | wc -l); touch $$; ls | wc -l; sleep 0.02; rm $$"
    finished = await asyncio.gather(*(spawn(most, cwd=tmp_path, timeout_s=60) for _ in range(100)))
    counts = [int(one.output) for one in finished]
    assert (len(counts), 1 < max(counts) <= 8) == (100, True)


async def test_prc_12_a_search_does_not_wait_for_commands_and_its_wait_does_not_count(
    tmp_path: Path,
) -> None:
    long = [asyncio.create_task(spawn("sleep 60", cwd=tmp_path, timeout_s=60)) for _ in range(9)]
    finished = await run_program(["echo", "found"], cwd=tmp_path, timeout_s=20)
    assert finished.output == "found\n"
    for task in long:
        task.cancel()
    _, pending = await asyncio.wait(long, timeout=20)
    assert not pending
    assert all(task.cancelled() for task in long)


@pytest.mark.parametrize("n", [1, 8])
async def test_a_slot_is_released_however_its_command_ends(tmp_path: Path, n: int) -> None:
    for _ in range(3):
        tasks = [asyncio.create_task(spawn("sleep 9", cwd=tmp_path, timeout_s=9)) for _ in range(n)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert (await spawn("echo on", cwd=tmp_path, timeout_s=20)).output == "on\n"
