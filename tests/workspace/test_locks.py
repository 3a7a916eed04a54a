from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.workspace.base import PathLocks

A, B = Path("/w/a"), Path("/w/b")


async def hold_in_turn(locks: PathLocks, path: Path, name: str, said: list[str]) -> None:
    async with locks.hold(path):
        said.append(f"{name} in")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        said.append(f"{name} out")


async def test_holders_of_one_path_take_turns_in_the_order_of_asking() -> None:
    locks, said = PathLocks(), []
    await asyncio.gather(*(hold_in_turn(locks, A, name, said) for name in "123"))
    assert said == ["1 in", "1 out", "2 in", "2 out", "3 in", "3 out"]


async def test_holders_of_different_paths_do_not_wait_for_each_other() -> None:
    locks, said = PathLocks(), []
    await asyncio.gather(hold_in_turn(locks, A, "a", said), hold_in_turn(locks, B, "b", said))
    assert said[:2] == ["a in", "b in"]


async def test_an_unused_path_lock_is_removed() -> None:
    locks, said = PathLocks(), []
    async with locks.hold(A):
        waiting = asyncio.create_task(hold_in_turn(locks, A, "late", said))
        await asyncio.sleep(0)
        assert len(locks) == 1
    assert len(locks) == 1  # the second task holds the lock now
    await waiting
    assert len(locks) == 0


async def test_a_cancelled_wait_leaves_no_lock_behind() -> None:
    locks, said = PathLocks(), []
    async with locks.hold(A):
        waiting = asyncio.create_task(hold_in_turn(locks, A, "never", said))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert (len(locks), said) == (0, [])
    await hold_in_turn(locks, A, "next", said)
    assert said == ["next in", "next out"]
