"""Reports the changes that await review to the user, and changed files to the model.

The model is told once about each rejected change, and about files that were undone, reformatted,
changed or deleted. A verdict counts as reported when the model has answered a request with the
verdict. If the server ends earlier, the next server reports the verdict again. Before a model call,
only files that a file watch reports as changed are compared.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.events import HunksChanged, Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.files.listing import exists
from indwell.messages import Text
from indwell.prompt.reminders import (
    Became,
    aftermath_words,
    beyond_verdict_words,
    more_changed_words,
    verdict_words,
)
from indwell.review.hunk import Hunk, Verdict
from indwell.review.records import digest as review_digest
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.base import AppliedChange, Snapshot, Workspace, digest
from indwell.workspace.comparing.diff import compare, unified, unified_diff
from indwell.workspace.paths import display
from indwell.workspace.text import shown

MOST_TOLD = 5  # the limit of files in one report; an npm install changes thousands
EDITED_DIFF = 2_000  # the limit of characters for the diff of a file that the model edited
READ_DIFF = 600  # the limit of characters for the diff of a file that the model only read


class Aftermath:
    """Finds later changes of files that the agent edited or read, and reports each change once."""

    def __init__(self) -> None:
        self._before: dict[Path, str] = {}  # the digest of each file's text before the last edit
        # The last reported state: a digest, the reason why the file cannot be read, or "" if
        # deleted.
        self._told: dict[Path, str] = {}
        self._n_followed = 0
        self._changed: frozenset[Path] = frozenset()  # the changed files that were not reported yet
        self._late: frozenset[Path] = frozenset()

    async def made(self, change: AppliedChange) -> None:
        """Remember an edit that the agent has just made."""
        before = change.before
        self._before[change.path] = (
            "" if before is None else await asyncio.to_thread(digest, before)
        )
        self._told.pop(change.path, None)

    def is_told(self, marks: Mapping[Path, str]) -> None:
        """Remember that another reminder has reported these contents, named by ``mark_of``."""
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
        """Return a block for each file whose content is new to the model, by path.

        A file whose whole diff was reported counts as read again. Files that a newer deny rule
        hides (``hidden``) are left out; ``hide`` removes secrets from the diffs. ``others`` are
        files that another reminder reports, with the result of ``mark_of`` for each.
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
        """Describe one file's changes; add the file's content if every change is shown."""
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
    """Return a digest of a file's content, or the reason why ``stands_there`` cannot read it."""
    return now.stamp.digest if isinstance(now, Snapshot) else now


async def stands_there(workspace: Workspace, path: Path) -> Snapshot | str:
    """Return a file's content, the reason why it cannot be read, or "" if there is no file."""
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
    """Return the complete lines within the first ``limit`` characters."""
    return diff if len(diff) <= limit else diff[: diff.rfind("\n", 0, limit) + 1]


MOST_FILES = 10  # the limit of files whose rejected changes are shown; other files are only named


class _RejectedFile(NamedTuple):
    """The report on one file, and whether the model knows the whole file after the report."""

    words: str
    n_rejected: int
    knows_all: bool


class Rejections(NamedTuple):
    """The report on rejected changes in one request, and the contents that the report shows.

    Attributes:
        blocks: One block for each file.
        verdicts: The verdicts that the blocks report, and verdicts that need no report.
        marks: The digests, by ``mark_of``, of the contents of files with reported verdicts.
        known: The contents of files that the model knows after the report.
    """

    blocks: tuple[Text, ...]
    verdicts: tuple[Verdict, ...]
    marks: Mapping[Path, str]
    known: tuple[tuple[Path, Snapshot], ...]


NO_REJECTIONS = Rejections((), (), {}, ())


async def rejections(
    session: Session, turn: int, hidden: Callable[[str], bool], waiting: Sequence[Verdict]
) -> Rejections:
    """Return a block for each file with newly rejected changes, in order.

    A file without other differences counts as read again. Rejected changes that the user has
    restored are not mentioned, because the file has the model's text again.

    Args:
        session: The session that made the changes.
        turn: The number of the turn to which the blocks belong.
        hidden: Returns whether a deny rule hides this displayed path from the model.
        waiting: The verdicts in requests that the model has not answered.
    """
    review = session.parts.changes.ledger
    if review is None:
        return NO_REJECTIONS
    # Another process, such as a terminal, may have accepted or rejected changes.
    await review.refresh()
    ids = {one.id for one in waiting}
    news = tuple(one for one in review.untold(session.id) if one.id not in ids)
    blocks: list[Text] = []
    marks: dict[Path, str] = {}
    known: list[tuple[Path, Snapshot]] = []
    by_path: dict[Path, list[Verdict]] = {}
    for verdict in news:
        by_path.setdefault(verdict.path, []).append(verdict)
    for path, verdicts in by_path.items():
        name = display(path, session.parts.workspace.roots)
        if hidden(name):
            continue
        now = await stands_there(session.parts.workspace, path)
        seen = session.seen.text(path) if session.seen.digest(path) else None
        account = await asyncio.to_thread(_account, name, verdicts, now, seen)
        if account is None:
            continue
        words, n_rejected = account.words, account.n_rejected
        if len(blocks) >= MOST_FILES:
            words = f"The user rejected {n_rejected} of your changes of this file; read it again"
        else:
            marks[path] = mark_of(now)
            if isinstance(now, Snapshot) and session.seen.digest(path) and account.knows_all:
                known.append((path, now))
        words = await asyncio.to_thread(session.parts.secrets.hide, words)
        attributes = {"path": name, "rejected": str(n_rejected)}
        blocks.append(inject("changed_file", words, turn=turn, attributes=attributes))
    return Rejections(tuple(blocks), news, marks, tuple(known))


def _account(
    name: str, verdicts: Sequence[Verdict], now: Snapshot | str, known: str | None
) -> _RejectedFile | None:
    """Describe a file's rejections; return None if the user has restored the rejected changes."""
    text = now.text if isinstance(now, Snapshot) else None
    holding = in_force(verdicts, review_digest(text)) if text is not None or now == "" else None
    is_sure = holding is not None
    verdicts = verdicts if holding is None else holding
    rejected = tuple(hunk for one in verdicts for hunk in one.rejected)
    if not rejected:
        return None
    n_accepted = sum(len(one.accepted) for one in verdicts)
    difference = None if text is None or known is None else compare(known, text)
    places = [] if difference is None else [(*one.new, None, *one.old) for one in difference.places]
    undone = [(*one.old, None, *one.new) for one in rejected]
    is_sure = is_sure or text is None or all(map(partial(_is_gone, text, places), rejected))
    diff = cut_to_lines("".join(map(_diff, rejected)), EDITED_DIFF)
    words = verdict_words(
        diff,
        n_rejected=len(rejected),
        n_accepted=n_accepted,
        is_gone=now == "",
        is_sure=is_sure,
    )
    n_rejected = len(rejected)
    if difference is None or not difference.places:
        return _RejectedFile(words, n_rejected, knows_all=False)
    is_chain = holding is not None and verdicts[0].was == review_digest(known)
    if is_chain or Counter(places) == Counter(undone):
        return _RejectedFile(words, n_rejected, knows_all=True)
    more = shown(unified(difference, name))
    is_whole = len(more) <= EDITED_DIFF
    beyond = beyond_verdict_words(cut_to_lines(more, EDITED_DIFF), is_whole=is_whole)
    return _RejectedFile(f"{words}\n{beyond}", n_rejected, knows_all=is_whole)


def in_force(verdicts: Sequence[Verdict], reads: str) -> tuple[Verdict, ...] | None:
    """Return the rejections, oldest first, that the user has not undone in an editor.

    Args:
        verdicts: The recorded rejections in one file.
        reads: The digest of the file's present text.

    Returns:
        The rejections, or None if the file's text has been changed in another way since.
    """
    for n in range(len(verdicts), 0, -1):
        if verdicts[n - 1].became == reads:
            return tuple(verdicts[:n])
    return () if verdicts and verdicts[0].was == reads else None


def _is_gone(text: str, places: Collection[tuple[str | None, ...]], hunk: Hunk) -> bool:
    """Return whether a hunk is in the text that the model knows but not in the file."""
    if hunk.kind == "opaque" or (*hunk.old, None, *hunk.new) in places:
        return True
    new = "".join(hunk.new)
    return bool(new) and new not in text


def _diff(hunk: Hunk) -> str:
    """Return the lines of a hunk as in a diff, without the perhaps outdated line numbers."""
    if hunk.kind == "opaque":
        return f"[{hunk.note or 'no text'}]\n"
    lines = [f"-{line}" for line in hunk.old] + [f"+{line}" for line in hunk.new]
    ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return shown(f"@@ line {hunk.line} @@\n{''.join(ended)}")


class AwaitingReview:
    """Reports changes that await review to clients; a session and its sub-agents share it."""

    def __init__(self) -> None:
        self._last: tuple[int, tuple[str, ...]] = (0, ())
        self._stamp: object = None

    def tell(self, moment: Moment[Session]) -> None:
        """Emit an event if the changes that await review are different, but not during an edit."""
        session = moment.session
        review = session.parts.changes.ledger
        if review is None or session.is_editing or review.stamp == self._stamp:
            return
        for words in review.take_notices():
            moment.emit(Notice(session.turns, "warning", words))
        if any(map(review.is_busy, review.known())):
            return
        self._stamp = review.stamp
        roots = session.parts.workspace.roots
        now = review.n_pending, tuple(display(path, roots) for path in review.paths())
        if now != self._last:
            self._last = now
            moment.emit(HunksChanged(session.turns, *now))


class ReviewNews:
    """Reports the review of one session to the model; a sub-agent has separate reports."""

    def __init__(self, awaiting: AwaitingReview | None = None) -> None:
        self._awaiting = AwaitingReview() if awaiting is None else awaiting
        self._aftermath = Aftermath()
        # The verdicts in requests that the model has not answered.
        self._verdicts: tuple[Verdict, ...] = ()

    def feature(self) -> Feature[Session]:
        """Return the feature; its reminders are sent before those of features listed earlier."""
        return Feature(
            name="review_news",
            remind=self._remind,
            after_edit=self._after_edit,
            files_changed=self._awaiting.tell,
            answered=self._answered,
            for_child=lambda: ReviewNews(self._awaiting).feature(),
        )

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        """Report the changes that the user rejected, then other changed files."""
        session, parts = moment.session, moment.session.parts
        hidden = parts.rules().hidden
        rejected = NO_REJECTIONS
        # the parent of a sub-agent gets the verdicts on the sub-agent's changes
        if session.helping is None:
            rejected = await rejections(session, moment.turn, hidden, self._verdicts)
        became = await self._aftermath.news(
            session.seen,
            parts.workspace,
            hidden,
            turn=moment.turn,
            hide=parts.secrets.hide,
            others=rejected.marks,
        )

        def told() -> None:
            self._verdicts = (*self._verdicts, *rejected.verdicts)
            for path, now in rejected.known:
                session.seen.record(path, now.stamp.digest, now.text)
            self._aftermath.is_told(rejected.marks)
            if became.told is not None:
                became.told()

        return Reminder((*rejected.blocks, *became.blocks), told)

    async def _after_edit(self, _moment: Moment[Session], changes: Sequence[AppliedChange]) -> None:
        """Remember changes that the agent made."""
        for change in changes:
            await self._aftermath.made(change)

    async def _answered(self, moment: Moment[Session]) -> None:
        """Mark the verdicts in the answered request as reported."""
        review = moment.session.parts.changes.ledger
        if review is not None and self._verdicts:
            verdicts, self._verdicts = self._verdicts, ()
            await review.told(moment.session.id, verdicts)
