"""Keeps the tasks of a workspace on disk, for all processes that work there.

    <state>/tasks/<slug>-<hash of the workspace's path>/tasks.json /lock /runs-<time>.jsonl

A process that runs tasks has a file ``runs-…`` with the names of these tasks. Such a file is locked
while its process lives, so other processes find the tasks of a killed process.

All functions block; call them in a thread, not on the event loop.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SessionError, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.locks import locked
from indwell.files.private import read_own, remove_own, replace_durable
from indwell.files.spelling import quoted
from indwell.sessions.storage.drafts import WaitingWords, left_behind
from indwell.sessions.storage.store import folder_name
from indwell.sessions.task_list import ListChange, TaskList, ended

_RUNS = "runs-"
_LARGEST_B = 20_000_000
_LOCK_S = 10.0  # the time limit, in seconds, for the lock; a change takes milliseconds
_KILLED = "Indwell ended while the task ran"


FORM: StoredForm[TaskList] = StoredForm("tasks", TaskList, "the list of tasks")


class TaskStore:
    """The stored tasks of one workspace.

    Args:
        state_folder: The platform's state folder, or ``INDWELL_STATE``.
        workspace: The first root of the workspace; resolved here.
    """

    def __init__(self, state_folder: Path, workspace: Path) -> None:
        self._folder = state_folder / "tasks" / folder_name(workspace.resolve())
        self._path = self._folder / "tasks.json"
        self._runs = WaitingWords(self._folder, _RUNS)

    def read(self) -> TaskList:
        """Return the stored tasks.

        Raises:
            SessionError: The file cannot be read, is damaged, or is from a newer version.
        """
        try:
            data = read_own(self._path, _LARGEST_B)
        except FileNotFoundError:
            return TaskList()
        except ToolError as error:
            raise SessionError(f"the tasks cannot be read: {error}") from error
        except OSError as error:
            raise SessionError(
                f"the tasks in {quoted(self._path)} cannot be read ({error.strerror})"
            ) from error
        try:
            return FORM.decode(data, quoted(self._path))
        except NewerVersion as error:
            raise SessionError(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SessionError(
                f"the tasks in {quoted(self._path)} are damaged; repair the file, or move it away "
                "to begin a new list"
            ) from error

    def change(self, change: ListChange) -> TaskList:
        """Replace the stored tasks by the result of ``change``, and return the new tasks.

        No other process changes the tasks meanwhile.

        Raises:
            SessionError: The tasks cannot be read or written.
            UserError: Raised by ``change``; the stored tasks stay as they were.
        """
        try:
            make_private_folder(self._folder)
            with locked(self._folder / "lock", timeout_s=_LOCK_S):
                old = self.read()
                new = change(old)
                if new != old:
                    replace_durable(self._path, FORM.encode(new))
        except OSError as error:
            raise SessionError(
                f"the tasks in {quoted(self._path)} cannot be written ({error.strerror})"
            ) from error
        return new

    def hold(self, running: Collection[str], *, now: datetime) -> None:
        """Record which tasks this process runs.

        Raises:
            SessionError: The state folder cannot be written.
        """
        self._runs.keep({one: one for one in running}, now=now)

    def take_over(self) -> TaskList:
        """Record that the tasks of killed processes were stopped; return all tasks.

        Raises:
            SessionError: The tasks cannot be read or written.
        """
        try:
            left = left_behind(self._folder, _RUNS)
        except OSError as error:
            raise SessionError(
                f"the tasks in {quoted(self._folder)} cannot be read ({error.strerror})"
            ) from error
        if not left:
            return self.read()
        names = {name for _, several in left for name in several}

        def stop(tasks: TaskList) -> TaskList:
            for one in tasks.tasks:
                if one.id in names and one.state == "running":
                    tasks = ended(tasks, one.id, "stopped", _KILLED)
            return tasks

        tasks = self.change(stop)
        for path, _ in left:
            remove_own(path)
        return tasks
