"""Tasks that the user runs, beside a model that changes the list and a user who stops early."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from indwell.agent.core.events import TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.messages import Usage
from indwell.service.chores import Chores
from indwell.service.task_runs import TaskRuns
from indwell.service.turns.queue import Ticket, WaitingPrompt
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import added, changed


class Turns:
    """Turns that begin when the test says so, and that end when they are stopped."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.may_begin = asyncio.Event()

    async def begin_task(self, prompt: Prompt, session: str) -> Ticket:
        self.prompts.append(prompt.words)
        await self.may_begin.wait()
        return Ticket(WaitingPrompt("q1", prompt, session), self.nothing)

    def stop_task(self, ticket: Ticket) -> None:
        ticket.finished = TurnFinished(1, "cancelled", "", "", "", 0, Usage(), None, None)
        ticket.begun.set()
        ticket.ended.set()

    async def nothing(self, *_: object) -> None:
        pass


@pytest.fixture
def chores() -> Chores:
    return Chores()


def runs_of(folder: Path, turns: Turns, chores: Chores) -> TaskRuns:
    return TaskRuns(lambda: TaskStore(folder, folder), turns, lambda: 2, chores, warn=print)


async def test_a_task_that_the_model_calls_done_starts_no_other_task(tmp_path, chores) -> None:
    turns = Turns()
    runs = runs_of(tmp_path, turns, chores)
    await runs.change(partial(added, title="First"))
    await runs.change(partial(added, title="Second", after=("t1",)))
    await runs.run(["t2"])
    done = partial(changed, identifier="t1", state="done")
    await runs.change(done, by_model=True)
    await runs.idle()
    assert (turns.prompts, runs.wanted) == ([], set())
    chores.close()


async def test_a_task_is_stopped_even_before_its_turn_can_begin(tmp_path, chores) -> None:
    turns = Turns()
    runs = runs_of(tmp_path, turns, chores)
    await runs.change(partial(added, title="First"))
    await runs.run()
    while not turns.prompts:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0)
    stopping = asyncio.create_task(runs.stop("t1"))
    while not runs._running["t1"].is_unwanted:  # noqa: ASYNC110 - the stop has no event
        await asyncio.sleep(0)
    turns.may_begin.set()
    assert (await asyncio.wait_for(stopping, 20)).tasks[0].state == "stopped"
    chores.close()
