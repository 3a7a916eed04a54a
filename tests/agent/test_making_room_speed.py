"""The decision that no compaction saves money takes little time: no thread, no early repetition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.compaction.fit import fit
from indwell.agent.core.session import TurnState
from indwell.context.conversation import Conversation, counted
from indwell.messages import Message
from support.requests import assistant, user
from support.session import a_world

CHAT = (*(one for _ in range(200) for one in (user("and"), assistant("word " * 70))), user("on"))
"""By its sums, much of this conversation could be removed, but each reply has one line, which
stays.
"""

WORDS = (
    user("begin"),
    *(one for _ in range(13) for one in (assistant("ok"), user("go on " * 600))),
)
BUDGET = 22_000
"""The first conversation fills seven tenths of this budget, the second somewhat more than half."""


class CountingThreads(ThreadPoolExecutor):
    """Counts the jobs that run in threads."""

    n_jobs = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        self.n_jobs += 1
        return super().submit(fn, *args, **more)


async def n_threads_of_fits(folder: Path, *conversations: tuple[Message, ...]) -> list[int]:
    """Return the number of jobs in threads for each conversation."""
    threads = CountingThreads(1)
    asyncio.get_running_loop().set_default_executor(threads)
    counts: list[int] = []
    async with a_world(folder, [], window=BUDGET + 1_000) as world:
        session = world.session
        # The endpoint reports this number, so the prompt counts as cached.
        session.spending.answered_at = session.parts.clock.now()
        for messages in conversations:
            before = threads.n_jobs
            now: Conversation = msgspec.structs.replace(session.conversation, messages=messages)
            session.conversation = counted(now)
            assert not await fit(session, TurnState(1, "go", "go"), 10, world.emit)
            counts.append(threads.n_jobs - before)
    return counts


async def test_a_step_that_cannot_save_money_is_rejected_without_a_thread(tmp_path: Path) -> None:
    assert await n_threads_of_fits(tmp_path, WORDS) == [0]


async def test_a_refused_step_is_not_examined_again_before_the_prompt_has_grown(
    tmp_path: Path,
) -> None:
    more = (*CHAT, assistant("ok"), user("go on"))
    much = (*CHAT, assistant("ok"), user("go on " * 400))
    assert await n_threads_of_fits(tmp_path, CHAT, more, much) == [1, 0, 1]
