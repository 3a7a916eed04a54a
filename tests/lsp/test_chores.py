from __future__ import annotations

import asyncio
import threading

from indwell.service.chores import Chores


async def test_remaining_tasks_are_cancelled_and_awaited() -> None:
    chores, ended = Chores(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    chores.begin(work())
    await asyncio.sleep(0)
    await chores.stop()
    assert ended == ["work"]


def test_a_timer_that_fires_while_the_loop_waits_for_its_threads_begins_no_chore(caplog) -> None:
    """Threads outlive the server's end for a moment, in which timers of the review still run."""
    is_held, fired = threading.Event(), []

    async def serve() -> None:
        chores, loop = Chores(), asyncio.get_running_loop()

        def fire() -> None:
            chores.begin(asyncio.to_thread(fired.append, "a chore"))
            loop.call_soon(is_held.set)  # only now can the event loop end

        loop.run_in_executor(None, is_held.wait)
        await chores.stop()
        loop.call_later(0, loop.call_soon, loop.call_soon, loop.call_soon, fire)

    asyncio.run(serve())
    assert is_held.is_set()
    assert fired == []
    assert [one.message for one in caplog.records] == []
