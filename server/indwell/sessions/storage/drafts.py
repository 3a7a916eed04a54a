"""Keeps unsent prompts on disk: waiting prompts, and the drafts of a stopped server.

    <state>/drafts/<slug>-<hash of the workspace's path>/untold-<time>.md /task-<time>.jsonl

The file ``waiting`` of a killed server has the server's unsent prompts, which this module turns
into a draft. A file ``task`` names the task that the next new session inherits.

All functions block; call them in a thread, not on the event loop.

A file of waiting prompts is locked while its process lives, so other processes know whether the
prompts still wait. The file is removed when nothing waits.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SessionError
from indwell.files.append_log import AppendLog, list_names, pieces_of
from indwell.files.private import remove_own, rename_own
from indwell.files.spelling import quoted
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.storage.store import folder_name

_UNTOLD = "untold-"
_TASK = "task-"
_TASK_LINES = ("origin", "since")
_log = logging.getLogger(__name__)


class LeftTask(NamedTuple):
    """A task to inherit from session ``origin``; ``since`` is the newest session of that time."""

    origin: str
    since: str


class DraftStore:
    """The drafts of one workspace.

    Args:
        state_folder: The platform's state folder, or ``INDWELL_STATE``.
        workspace: The first root of the workspace; resolved here.
    """

    def __init__(self, state_folder: Path, workspace: Path) -> None:
        self._folder = state_folder / "drafts" / folder_name(workspace.resolve())
        self._waiting = WaitingWords(self._folder)
        self._task = WaitingWords(self._folder, _TASK)

    def keep(self, drafts: Sequence[str], *, now: datetime) -> Path:
        """Write drafts to one Markdown file, separated by rules; return the file's path.

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
                f"{len(drafts)} unsent prompts could not be kept in {quoted(self._folder)} "
                f"({error.strerror}); make the folder writable"
            ) from error
        return path

    def keep_waiting(self, unsent: Mapping[str, str], *, now: datetime) -> None:
        """Store the waiting prompts, by id.

        Raises:
            SessionError: The state folder cannot be written.
        """
        self._waiting.keep(unsent, now=now)

    def take_over(self, *, now: datetime) -> None:
        """Turn waiting prompts of killed servers into drafts; failures are tried again later."""
        try:
            for path, words in left_behind(self._folder):
                if words:
                    self.keep(words, now=now)
                remove_own(path)
        except (OSError, SessionError) as error:
            _log.warning("unsent prompts of a killed server could not be moved: %s", error)

    def keep_task(self, task: LeftTask | None, *, now: datetime) -> None:
        """Store whose task the next new session inherits.

        Raises:
            SessionError: The state folder cannot be written.
        """
        self._task.keep(dict(zip(_TASK_LINES, task, strict=True)) if task else {}, now=now)

    def take_over_task(self, *, now: datetime) -> LeftTask | None:
        """Return the task that a dead server left for its next session, and claim the task."""
        found: LeftTask | None = None
        try:
            for path, lines in left_behind(self._folder, _TASK):
                if len(lines) == len(_TASK_LINES):
                    found = LeftTask(*lines)
                    self.keep_task(found, now=now)
                remove_own(path)
        except (OSError, SessionError) as error:
            _log.warning("the task for a new session stays for later: %s", error)
        return found

    def untold(self) -> tuple[Path, ...]:
        """Return unreported drafts, oldest first, and mark them as reported."""
        try:
            names = [name for name in list_names(self._folder) if name.startswith(_UNTOLD)]
            return tuple(
                rename_own(self._folder / name, name.removeprefix(_UNTOLD)) for name in names
            )
        except OSError:
            return ()  # The drafts are reported later, once the folder can be read.


WAITING, _TAKEN = "waiting-", "taken-"


class _DraftLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file: new waiting prompts by id, and ids of prompts that were sent."""

    came: dict[str, str] = {}
    went: tuple[str, ...] = ()


FORM: StoredForm[_DraftLine] = StoredForm("waiting", _DraftLine, "the file of unsent prompts")


class WaitingWords:
    """The waiting prompts of this process.

    Args:
        folder: The folder of the workspace's drafts; may be missing.
        kind: The prefix of the file names.
    """

    def __init__(self, folder: Path, kind: str = WAITING) -> None:
        self._folder = folder
        self._kind = kind
        self._path: Path | None = None
        self._log: AppendLog | None = None
        self._kept: Mapping[str, str] = {}

    def keep(self, unsent: Mapping[str, str], *, now: datetime) -> None:
        """Store exactly these prompts.

        Raises:
            SessionError: The state folder cannot be written.
        """
        line = _DraftLine(
            came={one: words for one, words in unsent.items() if self._kept.get(one) != words},
            went=tuple(one for one in self._kept if one not in unsent),
        )
        try:
            if unsent:
                self._append(FORM.encode(line) + b"\n", now)
            else:
                self._remove()
        except OSError as error:
            raise SessionError(
                f"they cannot be written in {quoted(self._folder)} ({error.strerror})"
            ) from error
        self._kept = dict(unsent)

    def _append(self, line: bytes, now: datetime) -> None:
        if self._log is None:
            name = f"{self._kind}{new_id(now, os.urandom(RANDOM_B))}.jsonl"
            self._path = self._folder / name
            self._log = AppendLog(self._path)
        # An incomplete line, from a full disk, must not merge with the new line.
        self._log.append(line if self._log.ends_whole else b"\n" + line)
        self._log.sync()

    def _remove(self) -> None:
        if self._log is not None and self._path is not None:
            remove_own(self._path)
            self._log.close()
            self._log = None


def left_behind(folder: Path, kind: str = WAITING) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    """Return the prompts of each killed process, with the file to remove once they are saved.

    Raises:
        OSError: The folder cannot be read.
    """
    found = []
    for name in list_names(folder):
        if name.startswith((kind, _TAKEN + kind)):
            # A file is skipped if its process is alive, if another process takes the file, or if a
            # newer Indwell wrote the file.
            with suppress(OSError):
                try:
                    found.append(_taken(folder / name))
                except NewerVersion as error:
                    _log.warning("%s", error)
    return tuple(found)


def _taken(path: Path) -> tuple[Path, tuple[str, ...]]:
    log = AppendLog(path)
    try:
        words = _words(path)
    finally:
        log.close()
    # No process writes to the file of an ended process. Windows cannot rename an open file.
    if not path.name.startswith(_TAKEN):
        path = rename_own(path, _TAKEN + path.name)
    return path, words


def _words(path: Path) -> tuple[str, ...]:
    waiting: dict[str, str] = {}
    for data in b"".join(pieces_of(path)).split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            line = FORM.decode(data, quoted(path))
            waiting.update(line.came)
            for one in line.went:
                waiting.pop(one, None)
    return tuple(waiting.values())
