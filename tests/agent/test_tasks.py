"""The model proposes tasks through the real loop; the user confirms the exact text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.features.tasks import NAME, SharedTasks
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import ListChange, TaskList, added
from support.session import World, a_world, asks, call, says

MOVE = {"title": "Move the table", "text": "Move the table\nto the new schema."}
TEST = {"title": "Test the table", "after": ["#1"]}


class Book:
    """Tasks on disk, without a process that runs them."""

    def __init__(self, folder: Path) -> None:
        self.store = TaskStore(folder, folder)
        self.is_by_model = False

    async def listed(self) -> TaskList:
        return await asyncio.to_thread(self.store.read)

    async def change(self, change: ListChange, *, by_model: bool = False) -> TaskList:
        self.is_by_model = by_model
        return await asyncio.to_thread(self.store.change, change)

    async def answer(self, words: str) -> str | None:
        return None if words else "the list"


@asynccontextmanager
async def world(folder: Path, script: list[Any], **more: Any) -> AsyncIterator[tuple[World, Book]]:
    shared, book = SharedTasks(), Book(folder)
    shared.book = book
    async with a_world(folder, script, features=[shared.feature()], **more) as made:
        yield made, book


async def test_proposed_tasks_are_kept_exactly_as_the_user_confirmed_them(tmp_path) -> None:
    script = [asks(call(NAME, add=[MOVE, TEST])), says()]
    async with world(tmp_path, script, answers=["once"]) as (made, book):
        await made.turn("/tasks split the move of the table")
        (question,) = made.approver.questions
        assert question.title == "Remember this for later, as tasks that you may run?"
        assert question.detail == (
            "+ #1 Move the table\n+    Move the table\n+    to the new schema.\n"
            "+ #2 Test the table (after #1)"
        )
        first, second = (await book.listed()).tasks
        assert (first.id, first.prompt) == ("t1", "Move the table\nto the new schema.")
        assert (second.after, second.prompt) == (("t1",), "Test the table")
        assert made.results[0].text == "t1  open      Move the table\nt2  after t1  Test the table"


@pytest.mark.parametrize("answer", ["no", "always"])
async def test_tasks_without_a_yes_to_this_question_are_not_kept(tmp_path, answer) -> None:
    script = [asks(call(NAME, add=[MOVE])), says()]
    async with world(tmp_path, script, answers=[answer]) as (made, book):
        await made.turn("/tasks split it")
        assert made.results[0].is_error
        assert (await book.listed()).tasks == ()


async def test_the_tool_exists_only_where_tasks_are_used(tmp_path) -> None:
    script = [says(), says(), says()]
    async with world(tmp_path, script) as (made, book):
        await made.turn("Hello.")
        await made.turn("What about it?")
        assert NAME not in str(made.provider.requests[-1])
        await book.change(lambda tasks: added(tasks, "Write the docs"))
        await made.turn("And now?")
        assert "propose tasks that the user may run" in str(made.provider.requests[-1])


async def test_a_state_that_the_model_sets_needs_no_question(tmp_path) -> None:
    script = [asks(call(NAME, update=[{"id": "t1", "state": "done"}])), says()]
    async with world(tmp_path, script) as (made, book):
        await book.change(lambda tasks: added(tasks, "Write the docs"))
        await made.turn("Write the docs.")
        assert made.approver.questions == []
        assert book.is_by_model, "such a change starts no task"
        assert made.results[0].text == "t1  done  Write the docs"


async def test_a_number_that_names_no_new_task_is_refused(tmp_path) -> None:
    wrong = {"title": "Test it", "after": ["#" + "9" * 5_000]}
    script = [asks(call(NAME, add=[wrong])), says()]
    async with world(tmp_path, script, answers=["once"]) as (made, _):
        await made.turn("/tasks split it")
        assert "there is no task" in made.results[0].text


async def test_a_task_of_the_model_is_no_command_and_the_question_shows_new_states(
    tmp_path,
) -> None:
    mixed = call(NAME, add=[MOVE], update=[{"id": "t1", "state": "done"}])
    command = call(NAME, "c2", add=[{"title": "Go on", "text": " /tasks run"}])
    script = [asks(mixed), asks(command), says()]
    async with world(tmp_path, script, answers=["once", "once"]) as (made, book):
        await book.change(lambda tasks: added(tasks, "Write the docs"))
        await made.turn("/tasks split it")
        assert made.approver.questions[0].detail.endswith("\n  t1 becomes done")
        assert "cannot be a command" in made.results[1].text
        assert [one.state for one in (await book.listed()).tasks] == ["done", "open"]
