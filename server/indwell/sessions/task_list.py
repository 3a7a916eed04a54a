"""The tasks of a workspace: what is to be done, in which order, and in which session. Pure.

A task outlives sessions and restarts. A task whose earlier tasks are done may run in a session of
its own. `docs/tasks.md` explains tasks to users.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial, reduce
from typing import Literal, TypeAlias

import msgspec

from indwell.context.untrusted_text import short_line
from indwell.errors import UserError

MOST_TASKS = 200
TITLE_CHARACTERS = 120
TEXT_CHARACTERS = 20_000

TaskState: TypeAlias = Literal["open", "running", "done", "failed", "stopped"]


class ListedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task of the list.

    Attributes:
        id: The name of the task, such as ``t3``; no other task of the workspace gets this name.
        title: One line for people.
        text: The prompt for the session of the task, or empty if the title is the whole prompt.
        after: The tasks that must be done before this task.
        state: How far the task is. A stopped or failed task may run again.
        session: The session that works on the task; empty until the task runs, and empty again
            after the user reopens the task.
        ending: How the task's session ended, in words for the user.
        origin: The session whose model proposed the task, or empty for a task of the user.
    """

    id: str
    title: str
    text: str = ""
    after: tuple[str, ...] = ()
    state: TaskState = "open"
    session: str = ""
    ending: str = ""
    origin: str = ""

    @property
    def prompt(self) -> str:
        """The prompt for the session of the task."""
        return self.text or self.title


class TaskList(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tasks of one workspace, in the user's order.

    Attributes:
        next_number: The number of the next task.
        tasks: The tasks.
    """

    next_number: int = 1
    tasks: tuple[ListedTask, ...] = ()

    def find(self, identifier: str) -> ListedTask:
        """Return a task.

        Raises:
            UserError: The task does not exist.
        """
        for one in self.tasks:
            if one.id == identifier:
                return one
        shown = short_line(identifier, 20)
        raise UserError(f"there is no task {shown!r}; `/tasks` lists the tasks with their names")

    def waits_for(self, task: ListedTask) -> tuple[ListedTask, ...]:
        """Return the tasks that must be done before ``task`` and are not done yet."""
        return tuple(one for one in self.tasks if one.id in task.after and one.state != "done")


ListChange: TypeAlias = Callable[[TaskList], TaskList]


def added(
    tasks: TaskList, title: str, text: str = "", after: Sequence[str] = (), origin: str = ""
) -> TaskList:
    """Append a task.

    Raises:
        UserError: The task is empty or too long, a task in ``after`` does not exist, or the list is
            full.
    """
    if len(tasks.tasks) >= MOST_TASKS:
        raise UserError(
            f"the list has {MOST_TASKS} tasks already; remove some, or clear those that are done"
        )
    title = _title(title or text)
    task = ListedTask(
        f"t{tasks.next_number}", title, _text(text, title), tuple(dict.fromkeys(after)),
        origin=origin,
    )  # fmt: skip
    for one in task.after:
        tasks.find(one)
    return msgspec.structs.replace(
        tasks, next_number=tasks.next_number + 1, tasks=(*tasks.tasks, task)
    )


def changed(
    tasks: TaskList,
    identifier: str,
    *,
    title: str | None = None,
    text: str | None = None,
    after: Sequence[str] | None = None,
    state: TaskState | None = None,
) -> TaskList:
    """Change the given parts of a task that does not run.

    Raises:
        UserError: The task does not exist or runs, the new text is too long, or tasks would wait
            for each other in a circle.
    """
    old = _idle(tasks, identifier)
    new = msgspec.structs.replace(
        old,
        title=old.title if title is None else _title(title),
        text=old.text if text is None else _text(text, title or old.title),
        after=old.after if after is None else tuple(dict.fromkeys(after)),
    )
    if state is not None and state != old.state:
        new = msgspec.structs.replace(new, state=state, ending="")
        if state == "open":
            new = msgspec.structs.replace(new, session="")
    for one in new.after:
        tasks.find(one)
    made = _put(tasks, new)
    if new.id in _all_before(made, new.after):
        raise UserError(f"task {new.id} would wait for itself; name other tasks in `after`")
    return made


def removed(tasks: TaskList, identifiers: Collection[str]) -> TaskList:
    """Remove tasks that do not run; no task waits for a removed task.

    Raises:
        UserError: A task does not exist or runs.
    """
    for one in identifiers:
        _idle(tasks, one)
    left = (one for one in tasks.tasks if one.id not in identifiers)
    return _with(
        tasks,
        (
            msgspec.structs.replace(
                one, after=tuple(name for name in one.after if name not in identifiers)
            )
            for one in left
        ),
    )


def cleared(tasks: TaskList) -> TaskList:
    """Remove the tasks that are done."""
    return removed(tasks, {one.id for one in tasks.tasks if one.state == "done"})


def change_of(action: str, names: Sequence[str]) -> ListChange | None:
    """Return the change that a command such as ``done t1 t2`` names, or None."""
    match action, names:
        case ("done" | "open") as state, (_, *_):
            return lambda tasks: reduce(partial(_in_state, state=state), names, tasks)
        case "after", (one, *before):
            return partial(changed, identifier=one, after=before)
        case "remove", (_, *_):
            return partial(removed, identifiers=names)
        case "clear", ():
            return cleared
        case _:
            return None


def _in_state(tasks: TaskList, identifier: str, *, state: TaskState) -> TaskList:
    return changed(tasks, identifier, state=state)


def runnable(tasks: TaskList, identifiers: Collection[str]) -> tuple[str, ...]:
    """Return the tasks to run; if none is named, all that are open, stopped or failed.

    Raises:
        UserError: A task does not exist, runs, or is done; or there is nothing to run.
    """
    for identifier in identifiers:
        if _idle(tasks, identifier).state == "done":
            raise UserError(f"task {identifier} is done; open it again to run it once more")
    found = tuple(identifiers) or tuple(
        one.id for one in tasks.tasks if one.state not in {"running", "done"}
    )
    if not found:
        raise UserError("there is no task to run; `/tasks add TITLE` adds one")
    return found


def to_start(tasks: TaskList, wanted: Collection[str], most_at_once: int) -> tuple[ListedTask, ...]:
    """Return the wanted tasks that may start now, in order."""
    running = sum(one.state == "running" for one in tasks.tasks)
    idle = (one for one in tasks.tasks if one.id in wanted and one.state not in {"running", "done"})
    free = [one for one in idle if not tasks.waits_for(one)]
    return tuple(free[: max(0, most_at_once - running)])


def started(tasks: TaskList, identifier: str) -> TaskList:
    """Record that a task starts; a task that was stopped continues its session."""
    old = tasks.find(identifier)
    return _put(tasks, msgspec.structs.replace(old, state="running", ending=""))


def works_in(tasks: TaskList, identifier: str, session: str) -> TaskList:
    """Record the session of a running task; if empty, the next run begins a new session."""
    return _with(
        tasks,
        (
            msgspec.structs.replace(one, session=session) if one.id == identifier else one
            for one in tasks.tasks
        ),
    )


def ended(tasks: TaskList, identifier: str, state: TaskState, ending: str) -> TaskList:
    """Record how a task's session ended; a task that was removed meanwhile stays removed."""
    if all(one.id != identifier for one in tasks.tasks):
        return tasks
    old = tasks.find(identifier)
    return _put(tasks, msgspec.structs.replace(old, state=state, ending=ending))


def state_words(tasks: TaskList, task: ListedTask, wanted: Collection[str] = ()) -> str:
    """Return the state of a task in a few words; ``wanted`` are tasks that start by themselves."""
    before = ", ".join(one.id for one in tasks.waits_for(task))
    if task.id in wanted and task.state not in {"running", "done"}:
        return f"waits for {before}" if before else "starts soon"
    return f"after {before}" if before and task.state == "open" else task.state


def listed_text(tasks: TaskList, wanted: Collection[str] = ()) -> str:
    """Return the list as lines of text, such as ``t2  running  Rename the table``."""
    rows = [(one, state_words(tasks, one, wanted)) for one in tasks.tasks]
    states = max((len(words) for _, words in rows), default=0)
    names = max((len(one.id) for one, _ in rows), default=0)
    return "\n".join(
        f"{one.id:{names}}  {words:{states}}  {one.title}"
        + (f" ({one.ending})" if one.ending and one.state != "done" else "")
        for one, words in rows
    )


def _idle(tasks: TaskList, identifier: str) -> ListedTask:
    """Return a task that does not run.

    Raises:
        UserError: The task does not exist, or runs.
    """
    task = tasks.find(identifier)
    if task.state == "running":
        raise UserError(f"task {identifier} is running; stop it first")
    return task


def _title(title: str) -> str:
    short = short_line(title.strip(), TITLE_CHARACTERS)
    if not short:
        raise UserError("a task needs a title; write in one line what is to be done")
    return short


def _text(text: str, title: str) -> str:
    text = text.strip()
    if len(text) > TEXT_CHARACTERS:
        raise UserError(
            f"the text of a task has {len(text):,} characters, more than the {TEXT_CHARACTERS:,} "
            "that are kept; put it into a file and name the file"
        )
    return "" if text == title else text


def _all_before(tasks: TaskList, identifiers: Iterable[str]) -> frozenset[str]:
    """Return the given tasks and all tasks that must be done before them."""
    by_id = {one.id: one for one in tasks.tasks}
    found: set[str] = set()
    waiting = list(identifiers)
    while waiting:
        one = waiting.pop()
        if one not in found and one in by_id:
            found.add(one)
            waiting += by_id[one].after
    return frozenset(found)


def _put(tasks: TaskList, task: ListedTask) -> TaskList:
    return _with(tasks, (task if one.id == task.id else one for one in tasks.tasks))


def _with(tasks: TaskList, all_tasks: Iterable[ListedTask]) -> TaskList:
    return msgspec.structs.replace(tasks, tasks=tuple(all_tasks))
