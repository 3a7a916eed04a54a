"""A resource that a thread acquires for a cancelled caller is released."""

from __future__ import annotations

import asyncio
import threading

import pytest

from indwell.wiring.compose import taken


async def test_a_cancelled_caller_holds_no_lock() -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    let_go: list[str] = []

    def take() -> str:
        begun.set()
        assert may_go_on.wait(60)
        return "a lock"

    async def leave(what: str) -> None:
        let_go.append(what)

    taking = asyncio.create_task(taken(take, leave))
    await asyncio.to_thread(begun.wait, 60)
    taking.cancel()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert let_go == ["a lock"]


async def test_a_caller_that_is_not_cancelled_gets_the_lock_or_the_error() -> None:
    async def leave(_what: str) -> None:
        raise AssertionError("nobody is gone")

    assert await taken(lambda: "a lock", leave) == "a lock"
    with pytest.raises(ZeroDivisionError):
        await taken(lambda: str(1 // 0), leave)
