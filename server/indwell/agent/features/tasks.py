"""The tasks of the workspace: the tool by which the model proposes tasks, and ``/tasks``.

The tool is offered in a workspace that has tasks, and once the user has written ``/tasks``. The
user confirms the exact text of each task of the model, because a task may later run as a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from indwell.agent.core.events import TaskRow, TasksChanged
from indwell.agent.core.feature import Checked, Feature, Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.errors import ToolError, UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.sessions.task_list import (
    ListChange,
    ListedTask,
    TaskList,
    added,
    changed,
    listed_text,
)
from indwell.tools.base import Outcome, Preview, Tool, ToolContext, ToolFacts

NAME = "tasks"
KEPT = "for later, as tasks that you may run"
_NUMBER = lazy_pattern(r"#([1-9][0-9]{0,2})")


class TaskBook(Protocol):
    """The tasks of the workspace, and the user's commands for them."""

    async def listed(self) -> TaskList:
        """Return the tasks; raise ``UserError`` if they cannot be read."""
        ...

    async def change(self, change: ListChange, *, by_model: bool = False) -> TaskList:
        """Change the tasks; raise ``UserError`` if that is not possible.

        A change by the model starts no task.
        """
        ...

    async def answer(self, words: str) -> str | None:
        """Carry out the user's text after ``/tasks``; return None if the text is for the model.

        Raises:
            UserError: The command cannot be carried out.
        """
        ...


class NewTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task that the model proposes."""

    title: str
    text: Annotated[str, Meta(description="all that a new session needs to know")] = ""
    after: Annotated[
        tuple[str, ...], Meta(description="tasks to be done before; #1 is the first of `add`")
    ] = ()


class TaskUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A state that the model sets for a task."""

    id: str
    state: Literal["open", "done", "failed"]


class TaskToolArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``tasks``."""

    add: tuple[NewTask, ...] = ()
    update: tuple[TaskUpdate, ...] = ()


class SharedTasks:
    """The tasks of the workspace, as one session uses them.

    Attributes:
        book: The tasks; None in a process that offers no tasks.
        session: The session whose model proposes tasks.
    """

    def __init__(self) -> None:
        self.book: TaskBook | None = None
        self.session = ""
        self._tools: tuple[Tool[TaskToolArguments], ...] = ()

    def feature(self) -> Feature[Session]:
        """Return the feature that offers the workspace's tasks to the session."""
        return Feature(
            name=NAME,
            late_tools=lambda: self._tools,
            door=self,
            commands=lambda: (NAME,),
            answer_words=self._answer,
            check_words=self._look,
            for_child=lambda: None,
        )

    async def _answer(self, words: str) -> str | None:
        command, _, rest = words.strip().partition(" ")
        if self.book is None or command.lower() != f"/{NAME}":
            return None
        return await self.book.answer(rest.strip())

    async def _look(self, moment: Moment[Session], prompt: Prompt) -> Checked:
        """Offer the tool if there are tasks or the user speaks of them; attach the list."""
        if self.book is None:
            return Checked()
        self.session = moment.session.id
        is_named = prompt.words.lstrip().lower().startswith(f"/{NAME}")
        try:
            tasks = await self.book.listed()
        except UserError as error:
            return Checked(str(error)) if is_named else Checked()
        if tasks.tasks or is_named:
            self._tools = self._tools or (make_tasks(self),)
        if not is_named:
            return Checked()
        listed = listed_text(tasks) or "there are no tasks yet"
        return Checked(blocks=(inject("todo", f"The tasks:\n{listed}", turn=moment.turn),))


def make_tasks(shared: SharedTasks) -> Tool[TaskToolArguments]:
    """Make the tool ``tasks`` of one session."""

    async def run(arguments: TaskToolArguments, context: ToolContext) -> Outcome:
        assert shared.book is not None, "the tool exists only with a book"
        try:
            if arguments.add or arguments.update:
                made = partial(_made, arguments=arguments, origin=shared.session, hide=context.hide)
                tasks = await shared.book.change(made, by_model=True)
            else:
                tasks = await shared.book.listed()
        except UserError as error:
            raise ToolError(str(error)) from error
        return Outcome(listed_text(tasks) or "there are no tasks", figure=figure_of(tasks))

    async def preview(arguments: TaskToolArguments, context: ToolContext) -> Preview:
        return Preview(diff=context.hide(_proposed(arguments)))

    return Tool(
        name=NAME,
        description="List the tasks of this workspace, which outlive sessions; propose tasks that "
        "the user may run as sessions of their own, or set a task's state. Without arguments: the "
        "list. The user confirms new tasks.",
        arguments=TaskToolArguments,
        effect="read",
        facts=lambda given: ToolFacts(
            tool=NAME,
            effect="read",
            subject=_subject(given),
            keeps=KEPT if given.add else "",
        ),
        run=run,
        preview=preview,
    )


def rows_of(tasks: TaskList, wanted: Collection[str] = ()) -> tuple[TaskRow, ...]:
    """Return the tasks without their texts, for clients; ``wanted`` tasks start by themselves."""
    return tuple(
        TaskRow(
            one.id,
            one.title,
            "waiting" if one.id in wanted and one.state not in {"running", "done"} else one.state,
            one.after,
            tuple(other.id for other in tasks.waits_for(one)),
            one.session,
            one.ending,
        )
        for one in tasks.tasks
    )


def changed_event(turn: int, tasks: TaskList, wanted: Collection[str] = ()) -> TasksChanged:
    """Return the event that shows clients the tasks."""
    return TasksChanged(turn, rows_of(tasks, wanted))


def figure_of(tasks: TaskList) -> str:
    """Return the number of tasks and of tasks that are done, in words."""
    done = sum(one.state == "done" for one in tasks.tasks)
    return f"{done} of {len(tasks.tasks)} tasks done"


def _made(
    tasks: TaskList, arguments: TaskToolArguments, origin: str, hide: Callable[[str], str]
) -> TaskList:
    """Apply the model's changes to the tasks; ``#1`` refers to the first task in ``add``."""
    first = tasks.next_number
    for one in arguments.add:
        if (one.text or one.title).lstrip().startswith("/"):
            raise UserError("a task of yours cannot be a command; say in words what is to be done")
        after = tuple(
            f"t{first + int(number[1]) - 1}" if (number := _NUMBER.fullmatch(name)) else name
            for name in one.after
        )
        tasks = added(tasks, hide(one.title), hide(one.text), after, origin)
    for update in arguments.update:
        tasks = changed(tasks, update.id, state=update.state)
    return tasks


def _proposed(given: TaskToolArguments) -> str:
    """Return the proposed tasks and new states as the user reads them before confirming."""
    lines = []
    for number, one in enumerate(given.add, 1):
        after = f" (after {', '.join(one.after)})" if one.after else ""
        lines += [
            f"+ #{number} {one.title}{after}",
            *(f"+    {line}" for line in one.text.splitlines()),
        ]
    lines += [f"  {one.id} becomes {one.state}" for one in given.update]
    return "\n".join(lines)


def _subject(given: TaskToolArguments) -> str:
    titles = [one.title for one in given.add] + [f"{one.id} {one.state}" for one in given.update]
    return ", ".join(titles)


def task_words(task: ListedTask) -> str:
    """Return a task in full, for people."""
    after = f"\nafter {', '.join(task.after)}" if task.after else ""
    session = f"\nsession {task.session}" if task.session else ""
    ending = f"\n{task.ending}" if task.ending else ""
    return f"{task.id} ({task.state}): {task.title}{after}{session}{ending}\n\n{task.prompt}"
