"""Runs the tasks of a workspace, each in a session of its own beside the user's session.

A task starts only if the user has asked this process to run it. Opening a workspace therefore
starts no task, even if an earlier process ended before the task could start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from indwell import edges
from indwell.agent.core.prompt import Prompt
from indwell.agent.features.tasks import task_words
from indwell.context.untrusted_text import short_line
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.service.chores import Chores
from indwell.service.turns.queue import APART, Ticket
from indwell.sessions.records import Ending
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import (
    ListChange,
    ListedTask,
    TaskList,
    TaskState,
    added,
    change_of,
    ended,
    listed_text,
    runnable,
    started,
    to_start,
    works_in,
)

NO_TASKS = "there are no tasks; `/tasks add TITLE` adds one"
GO_ON = "Go on with this task where it stopped"
_ENDING_CHARACTERS = 160
_NAME = lazy_pattern(r"t[1-9][0-9]{0,8}")
_STATES: dict[Ending, TaskState] = {
    "done": "done",
    "cancelled": "stopped",
    "interrupted": "stopped",
}


class TaskTurns(Protocol):
    """Begins and stops the turns of tasks."""

    async def begin_task(self, prompt: Prompt, session: str) -> Ticket:
        """Begin a turn beside the current session; ``session`` is an id, ``new`` or ``worktree``.

        Raises:
            UserError: The turn cannot begin.
        """
        ...

    def stop_task(self, ticket: Ticket) -> None:
        """Stop a turn, or remove its prompt from the queue."""
        ...


class _Run:
    """A task that runs in this process; the ticket is None until the turn is in the queue."""

    def __init__(self) -> None:
        self.ticket: Ticket | None = None
        self.is_unwanted = False  # whether the user stopped the task while ``ticket`` was None
        self.is_over = asyncio.Event()


class TaskRuns:
    """Lists, changes, starts and stops the tasks of a workspace.

    Attributes:
        on_change: Each is called with the tasks after a change by this process.
        wanted: The tasks that start as soon as their earlier tasks are done.
        in_worktrees: Whether tasks that start work in worktrees.

    Args:
        store: Returns the store of the workspace; raises ``UserError`` if no folder is open.
        turns: Begins and stops turns.
        most_at_once: Returns how many tasks may run at once.
        chores: Runs background work that no caller waits for.
        warn: Shows the user why no more tasks start.
    """

    def __init__(
        self,
        store: Callable[[], TaskStore],
        turns: TaskTurns,
        most_at_once: Callable[[], int],
        chores: Chores,
        warn: Callable[[str], None],
    ) -> None:
        self.on_change: list[Callable[[TaskList], None]] = []
        self.wanted: set[str] = set()
        self.in_worktrees = False
        self._make_store, self._turns, self._most_at_once = store, turns, most_at_once
        self._chores, self._warn = chores, warn
        self._store: TaskStore | None = None
        self._running: dict[str, _Run] = {}
        self._starting = asyncio.Lock()
        self._is_idle = asyncio.Event()

    async def listed(self) -> TaskList:
        """Return the tasks; tasks of killed processes are marked as stopped.

        Raises:
            UserError: No folder is open, or the tasks cannot be read.
        """
        return await asyncio.to_thread(self._stored().take_over)

    async def change(self, change: ListChange, *, by_model: bool = False) -> TaskList:
        """Change the tasks, and start wanted tasks that may start now.

        Args:
            change: Returns the tasks after the change.
            by_model: Whether the model makes the change. Then no task starts: a task that the
                change would let start waits for the user again.

        Raises:
            UserError: The change is not possible, or the tasks cannot be stored.
        """

        def changed(old: TaskList) -> TaskList:
            new = change(old)
            # The lock is still held here, so no other change can start the tasks meanwhile.
            if by_model:
                self.wanted -= {
                    one.id for one in old.tasks if old.waits_for(one) and not new.waits_for(one)
                }
            return new

        tasks = await asyncio.to_thread(self._stored().change, changed)
        self.wanted &= {one.id for one in tasks.tasks if one.state != "done"}
        self._tell(tasks)
        self._chores.begin(self._start_ready())
        return tasks

    async def run(self, identifiers: Collection[str] = ()) -> TaskList:
        """Start tasks now, or as soon as their earlier tasks are done.

        Args:
            identifiers: The tasks; if empty, all that are open, stopped or failed.

        Raises:
            UserError: A task cannot run, or there is nothing to run.
        """
        tasks = await self.listed()
        self._is_idle.clear()
        self.wanted |= set(runnable(tasks, identifiers))
        self._tell(tasks)
        self._chores.begin(self._start_ready())
        return tasks

    async def stop(self, identifier: str) -> TaskList:
        """Stop a running task of this process, or no longer start a task by itself.

        Raises:
            UserError: The task does not exist, or another process runs the task.
        """
        tasks = await self.listed()
        task = tasks.find(identifier)
        self.wanted.discard(identifier)
        if task.state == "running":
            run = self._running.get(identifier)
            if run is None:
                raise UserError(f"another process runs task {identifier}; stop the task there")
            run.is_unwanted = True
            if run.ticket is not None:
                self._turns.stop_task(run.ticket)
            await run.is_over.wait()
            return await self.listed()
        self._tell(tasks)
        return tasks

    async def idle(self) -> None:
        """Wait until no task of this process runs and no wanted task can start."""
        await self._is_idle.wait()

    async def answer(self, words: str) -> str | None:
        """Carry out the user's words after ``/tasks``.

        Returns:
            The answer, or None if the words are no command, but are for the model.

        Raises:
            UserError: The command cannot be carried out.
        """
        action, _, rest = words.partition(" ")
        if action == "run":
            rest, is_apart = _without(rest, "--worktree")
            self.in_worktrees = is_apart
        if action == "add":
            title, _, text = rest.strip().partition("\n")
            tasks = await self.change(partial(added, title=title, text=text))
            return f"added {tasks.tasks[-1].id}: {tasks.tasks[-1].title}"
        names = tuple(rest.replace(",", " ").split())
        if not all(map(_NAME.fullmatch, names)):
            return None
        if action == "show" and len(names) == 1:
            return task_words((await self.listed()).find(names[0]))
        change = change_of(action, names)
        if change is not None:
            tasks = await self.change(change)
        elif action in {"", "list"} and not names:
            tasks = await self.listed()
        elif action == "run":
            tasks = await self.run(names)
        elif action == "stop" and len(names) == 1:
            tasks = await self.stop(names[0])
        else:
            return None
        return listed_text(tasks, self.wanted) or NO_TASKS

    async def _start_ready(self) -> None:
        async with self._starting:
            try:
                while task := await self._claimed():
                    await self._start(task)
            except UserError as error:
                self.wanted.clear()
                self._warn(f"no more tasks start: {error}")
            if not self._running:
                self._is_idle.set()

    async def _claimed(self) -> ListedTask | None:
        """Mark the next task as running in this process, and return the task as it was."""
        store, most, claimed = self._stored(), self._most_at_once(), list[ListedTask]()

        def claim(tasks: TaskList) -> TaskList:
            for one in to_start(tasks, self.wanted, most)[:1]:
                store.hold((*self._running, one.id), now=edges.now())
                claimed.append(one)
                return started(tasks, one.id)
            return tasks

        tasks = await asyncio.to_thread(store.change, claim)
        if not claimed:
            return None
        self._running[claimed[0].id] = _Run()
        self.wanted.discard(claimed[0].id)
        self._tell(tasks)
        return claimed[0]

    async def _start(self, task: ListedTask) -> None:
        words = f"{GO_ON}: {task.title}" if task.session else task.prompt
        try:
            ticket = await self._turns.begin_task(
                Prompt(words, title=task.title),
                task.session or (APART if self.in_worktrees else "new"),
            )
        except UserError as error:
            await self._end(task.id, "failed", str(error))
            return
        run = self._running[task.id]
        run.ticket = ticket
        if run.is_unwanted:
            self._turns.stop_task(ticket)
        self._chores.begin(self._follow(task.id, ticket))

    async def _follow(self, identifier: str, ticket: Ticket) -> None:
        """Note the session of a task, and how the task ends."""
        await ticket.begun.wait()
        if ticket.session is not None:
            note = partial(works_in, identifier=identifier, session=ticket.session.id)
            self._tell(await asyncio.to_thread(self._stored().change, note))
        try:
            finished = await ticket.wait()
        except UserError as error:
            await self._end(identifier, "failed", str(error))
        else:
            state = _STATES.get(finished.ending, "failed")
            await self._end(identifier, state, finished.message, is_unread=bool(finished.draft))

    async def _end(
        self, identifier: str, state: TaskState, ending: str, *, is_unread: bool = False
    ) -> TaskList:
        """Record the end of a task, and start the tasks that waited for this task.

        A task whose prompt the model never got (``is_unread``) begins again in a new session.
        """
        run = self._running.pop(identifier)
        store, words = self._stored(), short_line(ending, _ENDING_CHARACTERS)

        def end(tasks: TaskList) -> TaskList:
            store.hold(tuple(self._running), now=edges.now())
            tasks = works_in(tasks, identifier, "") if is_unread else tasks
            return ended(tasks, identifier, state, words)

        try:
            return await self.change(end)
        finally:
            run.is_over.set()

    def _stored(self) -> TaskStore:
        self._store = self._store or self._make_store()
        return self._store

    def _tell(self, tasks: TaskList) -> None:
        for hear in self.on_change:
            hear(tasks)


def _without(words: str, option: str) -> tuple[str, bool]:
    """Return the words without an option, and whether the option was there."""
    rest = words.split()
    return " ".join(one for one in rest if one != option), option in rest
