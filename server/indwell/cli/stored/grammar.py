"""Defines the options of commands for stored data: memory, tasks and worktrees."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def flags(parser: argparse._ActionsContainer, **words: str) -> None:
    """Add options without a value; ``words`` contains the help of each option by name."""
    for name, said in words.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=said)


def json_anywhere(
    command: argparse.ArgumentParser, actions: Iterable[argparse.ArgumentParser]
) -> None:
    """Accept ``--json`` before an action and after it."""
    words = "print one JSON object"
    flags(command, json=words)
    # The option has no default, because a default would override an earlier ``--json``.
    for one in actions:
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=words)


def memory_options(memory: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell memory`` to its parser."""
    memory.description = (
        "Lists what Indwell remembers about this folder and about you. You add facts here, or "
        "allow each one in a session; the pages are Markdown files that you may edit."
    )
    actions = memory.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what is remembered here (the default)")
    add = actions.add_parser("add", help="remember a fact")
    add.add_argument("words", nargs="+", metavar="FACT", help="one sentence")
    _user(add)
    forget = actions.add_parser("forget", help="forget facts")
    forget.add_argument("which", nargs="*", metavar="N", help="numbers from the list")
    path = actions.add_parser("path", help="print the path of the page, to edit it")
    _user(path)
    json_anywhere(memory, actions.choices.values())


def tasks_options(tasks: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell tasks`` to its parser."""
    tasks.description = (
        "Lists the tasks of this folder. Tasks outlive sessions. A task may run in a session of "
        "its own, as soon as the tasks before it are done."
    )
    actions = tasks.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list the tasks (the default)")
    add = actions.add_parser("add", help="add a task")
    add.add_argument("words", nargs="+", metavar="TITLE", help="what is to be done, in one line")
    add.add_argument(
        "--text", default="", help="the whole prompt for the task; `-` reads it from stdin"
    )
    add.add_argument(
        "--after", nargs="+", default=[], metavar="TASK", help="tasks that must be done before"
    )
    several = {
        "done": "mark tasks as done",
        "open": "open tasks again, to run them in new sessions",
        "remove": "remove tasks",
    }
    for name, said in several.items():
        actions.add_parser(name, help=said).add_argument("which", nargs="+", metavar="TASK")
    show = actions.add_parser("show", help="show the whole text of a task")
    show.add_argument("which", metavar="TASK")
    after = actions.add_parser("after", help="set which tasks must be done before a task")
    after.add_argument("which", metavar="TASK")
    after.add_argument("others", nargs="*", metavar="EARLIER")
    actions.add_parser("clear", help="remove the tasks that are done")
    run = actions.add_parser("run", help="run tasks here, each in a session of its own")
    run.add_argument("which", nargs="*", metavar="TASK", help="(default: all that are not done)")
    flags(
        run,
        allow_commands="run commands without asking, in the sandbox",
        worktree="let each task work in a private copy of the folder",
    )
    json_anywhere(tasks, actions.choices.values())


def worktrees_options(worktrees: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell worktrees`` to its parser."""
    worktrees.description = (
        "Lists the worktrees of this folder: private copies in which sessions work (`--worktree`). "
        "A merge brings the changes of a worktree into the folder. Review merged changes with "
        "`indwell review`."
    )
    actions = worktrees.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list the worktrees (the default)")
    several = {
        "diff": "show the changes in a worktree",
        "merge": "bring the changes into the folder, for review",
        "remove": "remove a worktree that has no changes",
        "discard": "remove a worktree and delete its changes",
    }
    for name, said in several.items():
        which = actions.add_parser(name, help=said)
        which.add_argument("which", nargs="?", default="", metavar="NAME", help="such as w3f9a")
    json_anywhere(worktrees, actions.choices.values())


def _user(parser: argparse.ArgumentParser) -> None:
    flags(parser, user="about you, for every folder")
