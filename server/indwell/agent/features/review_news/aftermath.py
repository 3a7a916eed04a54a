"""Tells the model what became of files it knows: undone, reformatted, changed, gone (editor §4).

Files are compared before each model call, and only those that a watch reports as changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from indwell.agent.core.feature import Reminder
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.files import exists
from indwell.messages import Text
from indwell.prompt.aftermath import Became, aftermath_words, more_changed_words
from indwell.tools.seen import KnownTexts
from indwell.workspace.base import AppliedChange, Snapshot, Workspace, digest
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.paths import display

MOST_TOLD = 5  # files in one request; an npm install changes thousands
EDITED_DIFF = 2_000  # characters of the diff of a file that the model edited
READ_DIFF = 600  # characters of the diff of a file that the model only read


class Aftermath:
    """What a session's agent left in each file, and which later change it has reported."""

    def __init__(self) -> None:
        self._before: dict[Path, str] = {}  # digest of the text before the last edit
        # The last report: a digest, why the file cannot be read, or "" for a deleted file.
        self._told: dict[Path, str] = {}
        self._n_followed = 0
        self._changed: frozenset[Path] = frozenset()  # not reported yet
        self._late: frozenset[Path] = frozenset()

    async def made(self, change: AppliedChange) -> None:
        """Note an edit that the agent has just made."""
        before = change.before
        self._before[change.path] = (
            "" if before is None else await asyncio.to_thread(digest, before)
        )
        self._told.pop(change.path, None)

    def is_told(self, marks: Mapping[Path, str]) -> None:
        """Note that the current content of files (see ``mark_of``) was told by another reminder."""
        self._told.update(marks)

    async def news(
        self,
        seen: KnownTexts,
        workspace: Workspace,
        hidden: Callable[[str], bool],
        *,
        turn: int,
        hide: Callable[[str], str],
        others: Mapping[Path, str],
    ) -> Reminder:
        """A block for each file whose content differs from what the model knows, by path.

        Once it is told, a file whose diff is shown whole counts as read again. Files that a newer
        deny rule hides (``hidden``) are left out, and ``hide`` removes secrets from the others.
        ``others`` are the files that another reminder tells of, with the marks of their contents.
        """
        watch, known = workspace.watch, seen.paths()
        for path in known[self._n_followed :]:
            watch.follow(path)
        self._n_followed = len(known)
        self._changed = changed = self._changed | watch.changed()
        self._late = late = self._late | frozenset(await workspace.late_edits() if changed else ())
        paths = sorted(
            path
            for path in changed | late
            if seen.digest(path) is not None and not hidden(display(path, workspace.roots))
        )
        blocks: list[Text] = []
        marks: dict[Path, str] = {}
        read: list[tuple[Path, Snapshot]] = []
        n_more = 0
        for path in paths:
            now = await stands_there(workspace, path)
            mark = mark_of(now)
            if mark in {seen.digest(path), others.get(path, self._told.get(path))}:
                continue
            marks[path] = mark
            if len(blocks) == MOST_TOLD:
                n_more += 1
                continue
            words, is_read = await asyncio.to_thread(
                self._words, path, now, seen, workspace.roots, is_late=path in late
            )
            if is_read is not None:
                read.append((path, is_read))
            attributes = {"path": display(path, workspace.roots)}
            blocks.append(inject("changed_file", hide(words), turn=turn, attributes=attributes))
        if n_more:
            blocks.append(inject("changed_file", more_changed_words(n_more), turn=turn))

        def told() -> None:
            self._changed -= changed
            self._late -= late
            self._told.update(marks)
            for path, now in read:
                seen.record(path, now.stamp.digest, now.text)

        return Reminder(tuple(blocks), told)

    def _words(
        self,
        path: Path,
        now: Snapshot | str,
        seen: KnownTexts,
        roots: Sequence[Path],
        *,
        is_late: bool,
    ) -> tuple[str, Snapshot | None]:
        """The words for one file, and its content if they show all that is new in it."""
        edited = path in self._before
        if isinstance(now, str):
            became: Became = "unreadable" if now else "gone"
            return aftermath_words(became, edited=edited, diff=now, is_whole=False), None
        known = seen.text(path)
        became = "late" if is_late else _became(known, now, self._before.get(path))
        diff = "" if known is None else unified_diff(known, now.text, display(path, roots))
        limit = EDITED_DIFF if edited else READ_DIFF
        is_whole = bool(diff) and len(diff) <= limit
        if not is_whole and not edited:
            diff = ""
        words = aftermath_words(
            became, edited=edited, diff=cut_to_lines(diff, limit), is_whole=is_whole
        )
        return words, now if is_whole else None


def mark_of(now: Snapshot | str) -> str:
    """Return what identifies a content: a digest, or what ``stands_there`` says in its place."""
    return now.stamp.digest if isinstance(now, Snapshot) else now


async def stands_there(workspace: Workspace, path: Path) -> Snapshot | str:
    """Return a file's content; why it cannot be read; or "" if there is no file."""
    try:
        return await workspace.read(path)
    except ToolError as error:
        is_there = await asyncio.to_thread(exists, path) or path in workspace.unsaved()
        return str(error) if is_there else ""


def _became(known: str | None, now: Snapshot, before: str | None) -> Became:
    if before is not None and now.stamp.digest == before:
        return "undone"
    if known is not None and _squeezed(known) == _squeezed(now.text):
        return "reformatted"
    return "changed"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def cut_to_lines(diff: str, limit: int) -> str:
    """Return the whole lines within the first ``limit`` characters."""
    return diff if len(diff) <= limit else diff[: diff.rfind("\n", 0, limit) + 1]
