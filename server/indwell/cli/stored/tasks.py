"""``indwell tasks``: lists, adds, changes and runs the tasks of a folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

from indwell.agent.features.tasks import rows_of, task_words
from indwell.cli import code_of_stop
from indwell.cli.terminal.front_door import AllowingApprover, TerminalDoor, TerminalPerson
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import told
from indwell.context.untrusted_text import visible
from indwell.errors import UserError
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import (
    ListChange,
    TaskList,
    added,
    change_of,
    listed_text,
    runnable,
)
from indwell.settings.paths import state_folder

EMPTY = "there are no tasks here; add one with `indwell tasks add TITLE`"


def tasks(options: argparse.Namespace) -> int:
    """Run the command; return 0 for success, 1 if a task failed or was stopped.

    Raises:
        UserError: The command cannot be carried out.
    """
    store = TaskStore(state_folder(os.environ), Path.cwd())
    if options.action == "run":
        return _run(store, options)
    if options.action == "show":
        task = store.take_over().find(options.which)
        print(json_line(task) if options.json else visible(task_words(task)))
        return 0
    change = _change(options)
    found = store.take_over() if change is None else store.change(change)
    _print(found, as_json=options.json)
    return 0


def _change(options: argparse.Namespace) -> ListChange | None:
    """Return the change that the command line asks for, or None for a list."""
    if options.action == "add":
        text = sys.stdin.read() if options.text == "-" else options.text
        title = " ".join(options.words)
        return partial(added, title=title, text=text, after=tuple(options.after))
    which = getattr(options, "which", [])
    names = [which, *options.others] if options.action == "after" else which
    return change_of(options.action or "list", names)


def _print(found: TaskList, *, as_json: bool) -> None:
    if as_json:
        print(json_line({"tasks": rows_of(found)}))
    else:
        print(visible(listed_text(found)) or told(EMPTY))


def _run(store: TaskStore, options: argparse.Namespace) -> int:
    names = runnable(store.take_over(), options.which)
    told: dict[str, str] = {}

    def tell(found: TaskList) -> None:
        """Print each task whose state has changed."""
        for one in found.tasks:
            if one.id in names and told.get(one.id, "open") != one.state:
                told[one.id] = one.state
                more = f" ({one.ending})" if one.ending else ""
                print(visible(f"{one.id} {one.state}: {one.title}{more}"), file=sys.stderr)

    try:
        found = wait_for(_finished(names, tell, options))
    except KeyboardInterrupt as stop:
        return code_of_stop(stop)
    _print(found, as_json=options.json)
    return 0 if all(found.find(one).state == "done" for one in names) else 1


async def _finished(
    names: tuple[str, ...], tell: Callable[[TaskList], None], options: argparse.Namespace
) -> TaskList:
    """Run tasks until no task can begin or continue; return the tasks."""
    # imported here, because only running tasks needs the service
    from indwell.sandbox.environment import own_environment
    from indwell.wiring.service import Composition

    console = Console(stderr=True)
    approver = AllowingApprover() if options.allow_commands else TerminalPerson(console)
    composition = Composition(own_environment())
    service = composition.service(TerminalDoor(lambda _event: None, approver, console))
    service.start((Path.cwd(),), {})
    service.sessions.workspace = composition.disk((Path.cwd(),))
    service.tasks.on_change.append(tell)
    try:
        await service.settle()
        if not service.settings.model:
            raise UserError("no model is set; run `indwell login`")
        service.tasks.in_worktrees = options.worktree
        await service.tasks.run(names)
        await service.tasks.idle()
        return await service.tasks.listed()
    finally:
        await service.stop()
