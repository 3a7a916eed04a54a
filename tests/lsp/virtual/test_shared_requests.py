"""Equal requests at the same time share one answer, which is never outdated."""

from __future__ import annotations

import asyncio

import pytest

from indwell.errors import UserError
from indwell.lsp.virtual.texts import Shared


async def test_a_thousand_parallel_readers_cause_two_computations_and_get_no_old_result() -> None:
    begun, gate, state, made = asyncio.Event(), asyncio.Event(), ["old"], []

    async def make(key: str) -> str:
        found = f"{key} {state[0]}"
        made.append(found)
        begun.set()
        await gate.wait()
        return found

    shared = Shared(make)
    first = asyncio.create_task(shared.of("x"))
    given_up = asyncio.create_task(shared.of("x"))
    await begun.wait()
    given_up.cancel()
    state[0] = "new"
    others = [asyncio.create_task(shared.of("x")) for _ in range(1_000)]
    await asyncio.sleep(0)
    gate.set()
    assert await first == "x old"
    assert set(await asyncio.gather(*others)) == {"x new"}
    assert made == ["x old", "x new"]
    assert await shared.of("y") == "y new"


async def test_a_failure_is_reported_to_all_that_wait_and_the_next_caller_tries_again() -> None:
    fails = [True]

    async def make(key: str) -> str:
        if fails[0]:
            raise UserError(f"no {key}")
        return key

    shared = Shared(make)
    found = await asyncio.gather(shared.of("x"), shared.of("x"), return_exceptions=True)
    assert [str(one) for one in found] == ["no x", "no x"]
    fails[0] = False
    assert await shared.of("x") == "x"
    fails[0] = True
    with pytest.raises(UserError):
        await shared.of("x")
