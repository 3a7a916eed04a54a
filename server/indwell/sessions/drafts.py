"""Words that were never sent: kept in the state folder when the server has to go, told once.

    <state>/drafts/<slug>-<hash of the workspace's path>/untold-<time>.md
                                                        /task-<time>.jsonl

Those of a server that was killed are in its file of ``waiting``, and become such a draft here.
Such a file also says whose task the next new session was to take along.

Everything here blocks; on the event loop it is called through a thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from indwell.errors import SessionError
from indwell.files import rename_own
from indwell.files.append_log import AppendLog, list_names
from indwell.files.removing import remove_own
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.store import folder_name
from indwell.sessions.waiting import WaitingWords, left_behind

_UNTOLD = "untold-"
_TASK = "task-"
_TASK_LINES = ("origin", "since")
_log = logging.getLogger(__name__)


class LeftTask(NamedTuple):
    """The task of the session ``origin`` is to go along; ``since`` was the newest one then."""

    origin: str
    since: str


class DraftStore:
    """The drafts of one workspace.

    Args:
        state_folder: The platform's folder for state, or ``INDWELL_STATE``.
        workspace: First root of the workspace; resolved here.
    """

    def __init__(self, state_folder: Path, workspace: Path) -> None:
        self._folder = state_folder / "drafts" / folder_name(workspace.resolve())
        self._waiting = WaitingWords(self._folder)
        self._task = WaitingWords(self._folder, _TASK)

    def keep(self, drafts: Sequence[str], *, now: datetime) -> Path:
        """Write drafts into one file, as Markdown with a rule between them; gives where it stands.

        Raises:
            SessionError: The state folder cannot be written.
        """
        text = "\n\n---\n\n".join(draft.strip("\n") for draft in drafts) + "\n"
        path = self._folder / f"{_UNTOLD}{new_id(now, os.urandom(RANDOM_B))}.md"
        try:
            file = AppendLog(path)
            try:
                file.append(text.encode("utf-8", "replace"))
                file.sync()
            finally:
                file.close()
        except OSError as error:
            raise SessionError(
                f"{len(drafts)} unsent prompts could not be kept in {str(self._folder)!r} "
                f"({error.strerror}); make the folder writable"
            ) from error
        return path

    def keep_waiting(self, unsent: Mapping[str, str], *, now: datetime) -> None:
        """Have the words on disk that wait for their turn, by the id of their prompt.

        Raises:
            SessionError: The state folder cannot be written.
        """
        self._waiting.keep(unsent, now=now)

    def take_over(self, *, now: datetime) -> None:
        """Make drafts of what waited in servers that were killed; what fails stays for later."""
        try:
            for path, words in left_behind(self._folder):
                if words:
                    self.keep(words, now=now)
                remove_own(path)
        except (OSError, SessionError) as error:
            _log.warning("words of a server that was killed stay where they are: %s", error)

    def keep_task(self, task: LeftTask | None, *, now: datetime) -> None:
        """Have on disk whose task the next new session takes along.

        Raises:
            SessionError: The state folder cannot be written.
        """
        self._task.keep(dict(zip(_TASK_LINES, task, strict=True)) if task else {}, now=now)

    def take_over_task(self, *, now: datetime) -> LeftTask | None:
        """What a session of a server that is gone was to take along; kept for this process now."""
        found: LeftTask | None = None
        try:
            for path, lines in left_behind(self._folder, _TASK):
                if len(lines) == len(_TASK_LINES):
                    found = LeftTask(*lines)
                    self.keep_task(found, now=now)
                remove_own(path)
        except (OSError, SessionError) as error:
            _log.warning("what a new session was to take along stays for later: %s", error)
        return found

    def untold(self) -> tuple[Path, ...]:
        """Drafts that nobody was told of, oldest first; asking marks them as told."""
        try:
            names = [name for name in list_names(self._folder) if name.startswith(_UNTOLD)]
            return tuple(
                rename_own(self._folder / name, name.removeprefix(_UNTOLD)) for name in names
            )
        except OSError:
            return ()  # they stay where they are, and are told when the folder can be read
