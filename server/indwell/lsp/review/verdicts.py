"""Carries out verdicts (accept or reject hunks), and undoes them; shows the progress."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from indwell.errors import UserError
from indwell.lsp.editor.answering import ANSWER_S, Answering
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.documents import (
    KeptRow,
    UndoVerdictResult,
    VerdictArguments,
    VerdictResult,
)
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.review.hunk_display import Reviewing
from indwell.lsp.review.words import FilesOutcome, changes, question, sentence, undone_sentence
from indwell.lsp.workspace.buffer_edits import clean_ones, save_ours
from indwell.lsp.workspace.documents import path_of
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, accept, planned, reject, take_back_verdict
from indwell.service.chores import Chores
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

Verb: TypeAlias = Literal["accept", "reject"]
Result = TypeVar("Result", VerdictResult, UndoVerdictResult)


class Meant(msgspec.Struct, frozen=True):
    """The selected hunks by file, with the selected turn or session."""

    by_path: dict[Path, tuple[str, ...]]
    gone: tuple[str, ...] = ()
    session: str | None = None
    turn: int | None = None

    def scope(self, path: Path) -> Scope:
        """Return the hunks of one file that the arguments select."""
        return Scope(hunks=self.by_path[path], path=path, session=self.session, turn=self.turn)


def meant_by(ledger: ReviewLedger, arguments: VerdictArguments, session: str | None) -> Meant:
    """Return the hunks that the arguments select now.

    Raises:
        UserError: The arguments name nothing, or a document that is not a file.
    """
    if msgspec.structs.replace(arguments, wait=False) == VerdictArguments():
        raise UserError("say which changes: `hunks`, `uri`, `turn`, `session`, or `all` for all")
    path = path_of(arguments.uri) if arguments.uri is not None else None
    if arguments.uri is not None and path is None:
        raise UserError(f"{arguments.uri!r} is not a file, so nothing is pending there")
    turn, whose = arguments.turn, arguments.session
    if turn is not None and whose is None:
        if session is None:
            raise UserError("name the session of the turn: there is no current session")
        whose = session
    if arguments.hunks:
        # Only hunks that the arguments name are selected; they may have moved to other files.
        pending = {hunk.id: hunk for one in ledger.paths() for hunk in ledger.hunks(one)}
        hunks = [pending[id_] for id_ in dict.fromkeys(arguments.hunks) if id_ in pending]
        gone = tuple(id_ for id_ in dict.fromkeys(arguments.hunks) if id_ not in pending)
    else:
        paths = ledger.paths() if path is None else (path,)
        hunks, gone = [hunk for one in paths for hunk in ledger.hunks(one)], ()
    by_path: dict[Path, list[str]] = {}
    for hunk in hunks:
        if _is_of(hunk, whose, turn):
            by_path.setdefault(hunk.path, []).append(hunk.id)
    ids = {one: tuple(found) for one, found in by_path.items()}
    return Meant(ids, gone, whose, turn)


def _is_of(hunk: Hunk, session: str | None, turn: int | None) -> bool:
    return any(session in {None, one.session} and turn in {None, one.turn} for one in hunk.actors)


MANY = 10  # Progress is shown only for 10 files or more.


class Progress:
    """Shows the progress of a verdict.

    Args:
        client: The editor.
        token: The progress token, with which the user stops the verdict.
        verb: The verdict.
        n_files: The number of files.
    """

    def __init__(self, client: Client, token: str, verb: Verb, n_files: int) -> None:
        self._client = client
        self._token = token
        self._title = f"Indwell: {verb}"
        self._n_files = n_files
        self._n_done = 0
        self._is_shown = False
        self._has_ended = False

    async def announce(self) -> None:
        """Show the progress, if there are many files and the editor supports progress."""
        if self._n_files < MANY or not await self._client.create_progress(self._token):
            return
        if not self._has_ended:
            self._is_shown = True
            begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0)
            self._client.progress(self._token, begin)

    def step(self, name: str) -> None:
        """Show that the next file is processed."""
        self._n_done += 1
        if self._is_shown:
            share = 100 * (self._n_done - 1) // self._n_files
            report = types.WorkDoneProgressReport(
                message=f"{name} ({self._n_done} of {self._n_files} files)",
                cancellable=True,
                percentage=share,
            )
            self._client.progress(self._token, report)

    def end(self) -> None:
        """End the progress, if it was shown."""
        self._has_ended = True
        if self._is_shown:
            self._is_shown = False
            self._client.progress(self._token, types.WorkDoneProgressEnd())


KEEP = "Keep mine"
RESTORE = "Restore the old lines"

OPEN_S = 10.0  # the time limit, in seconds, for reading the ledger at the start
# the time limit, in seconds, for an editor that is blocked until the ledger is read
OPEN_SOON_S = 1.0
# the time limit, in seconds, for the user's decision, while other changes of the file wait
ASK_S = 60.0

STOPPED = "stopped before this one"
MOST_UNDONE = 50  # the limit of verdicts that an editor can undo, one after the other
NOTHING_LEFT = "there is no verdict to undo"


class Given(msgspec.Struct, frozen=True):
    """A verdict that can be undone: its outcome in words, and its record in each file."""

    verb: Verb
    words: str
    records: tuple[tuple[Path, str], ...]


class Verdicts:
    """Carries out the user's verdicts.

    Args:
        reviewing: Lists the pending hunks.
        client: The editor, which asks the user and shows results.
        chores: Runs the work in the background.
        answering: Decides how long a command may take.
        workspace: Returns the user's files.
        ask_s: Returns the user's time to answer a question, in seconds.
        answer_s: The time limit for a command in an editor that blocks until the answer, in
            seconds.
    """

    def __init__(
        self,
        reviewing: Reviewing,
        client: Client,
        chores: Chores,
        answering: Answering,
        workspace: Callable[[], Workspace],
        *,
        ask_s: Callable[[], float] = lambda: ASK_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._reviewing = reviewing
        self._client = client
        self._chores = chores
        self._answering = answering
        self._workspace = workspace
        self._ask_s = ask_s
        self._answer_s = answer_s
        self._numbers = itertools.count(1)
        self._under_way: dict[str, asyncio.Event] = {}
        self._given: deque[Given] = deque(maxlen=MOST_UNDONE)

    async def judge(self, verb: Verb, arguments: VerdictArguments) -> VerdictResult:
        """Carry out a verdict; a long verdict is answered early and continues in the background.

        Raises:
            UserError: The arguments are unclear, or the ledger has not been read yet.
        """
        may_wait = self._answering.may_wait(wait=arguments.wait)
        ledger = await self._reviewing.opened(OPEN_S if may_wait else OPEN_SOON_S)
        if ledger is None:
            raise UserError("the pending changes are still being read; try again in a moment")
        await self._reviewing.caught_up()
        meant = meant_by(ledger, arguments, self._reviewing.session())
        token = f"indwell-verdict-{next(self._numbers)}"
        stop = self._under_way[token] = asyncio.Event()
        work = asyncio.create_task(self._carry_out(verb, ledger, meant, token))
        try:
            result = await self._answered(work, may_wait=may_wait)
        except asyncio.CancelledError:
            stop.set()
            raise
        if result is not None:
            return result
        n_hunks = sum(map(len, meant.by_path.values()))
        words = f"still at work on {changes(n_hunks)}"
        return VerdictResult(verb, (), (), meant.gone, words, running=True)

    @property
    def undoable(self) -> str:
        """A description of the verdict that ``undo`` undoes, or empty if there is no verdict."""
        return self._given[-1].words if self._given else ""

    async def undo(self, *, wait: bool) -> UndoVerdictResult:
        """Undo the newest verdict of this editor, so that its changes await a verdict again.

        Raises:
            UserError: The ledger has not been read yet.
        """
        ledger = await self._reviewing.opened(OPEN_S if wait else OPEN_SOON_S)
        if ledger is None:
            raise UserError("the pending changes are still being read; try again in a moment")
        if not self._given:
            return UndoVerdictResult(None, (), (), 0, NOTHING_LEFT)
        given = self._given.pop()
        work = asyncio.create_task(self._undone(ledger, given))
        may_wait = self._answering.may_wait(wait=wait)
        result = await self._answered(work, may_wait=may_wait)
        if result is not None:
            return result
        words = f"still at work on the undo of the {given.verb}"
        return UndoVerdictResult(given.verb, (), (), len(self._given), words, running=True)

    async def _undone(self, ledger: ReviewLedger, given: Given) -> UndoVerdictResult:
        await self._reviewing.caught_up()
        outcome, workspace = FilesOutcome(), self._workspace()
        paths = [path for path, _ in given.records]
        clean = clean_ones(self._reviewing.documents.at, paths) if given.verb == "reject" else ()
        for path, record in given.records:
            done = await take_back_verdict(ledger, workspace, path, record)
            outcome = outcome.with_done(done)
        await save_ours(self._client, clean)
        message = undone_sentence(given.verb, outcome, self._display)
        kept = tuple(self._kept(path, "", why) for path, why in outcome.failed)
        ids = tuple(hunk.id for hunk in outcome.hunks)
        return UndoVerdictResult(given.verb, ids, kept, len(self._given), message)

    async def _answered(self, work: asyncio.Task[Result], *, may_wait: bool) -> Result | None:
        """Return the result after showing it to the user if needed, or None after a time-out."""
        self._chores.begin(_owned(work))
        try:
            if may_wait:
                await asyncio.wait({work})
            else:
                await self._answering.until(work, self._answer_s)
        except asyncio.CancelledError:
            work.add_done_callback(self._tell_later)  # report the finished part
            raise
        if not work.done():
            work.add_done_callback(self._tell_later)
            return None
        result = work.result()
        if not self._client.features.has("events"):
            self._tell(result.message)
        return result

    def cancel(self, token: str | int) -> bool:
        """Stop carrying out the verdict with this progress token, once the present file is done."""
        stop = self._under_way.get(str(token))
        if stop is not None:
            stop.set()
        return stop is not None

    async def _carry_out(
        self, verb: Verb, ledger: ReviewLedger, meant: Meant, token: str
    ) -> VerdictResult:
        progress = Progress(self._client, token, verb, len(meant.by_path))
        clean = clean_ones(self._reviewing.documents.at, meant.by_path) if verb == "reject" else ()
        try:
            self._chores.begin(progress.announce())
            outcome = await self._done(verb, ledger, meant, progress, self._under_way[token])
            paths = dict.fromkeys(hunk.path for hunk in outcome.hunks)
            records = tuple((path, ledger.last_verdict(path)) for path in paths)
            if records:
                words = sentence(verb, FilesOutcome(outcome.hunks), self._display)
                self._given.append(Given(verb, words, records))
            await save_ours(self._client, clean)
            return self._result(verb, outcome, sentence(verb, outcome, self._display))
        finally:
            del self._under_way[token]
            progress.end()

    async def _done(
        self,
        verb: Verb,
        ledger: ReviewLedger,
        meant: Meant,
        progress: Progress,
        stop: asyncio.Event,
    ) -> FilesOutcome:
        outcome = FilesOutcome(gone=meant.gone)
        workspace, doubtful = self._workspace(), []
        for path in meant.by_path:
            scope = meant.scope(path)
            if stop.is_set():
                outcome = outcome.leaving(_still(ledger, scope), STOPPED)
            elif verb == "reject" and planned(ledger, path, scope, force=False).kept:
                doubtful.append(path)
            else:
                progress.step(self._display(path))
                act = accept if verb == "accept" else reject
                outcome = outcome.with_done(await act(ledger, workspace, scope))
        if not doubtful:
            return outcome
        force = await self._is_forced(ledger, meant, doubtful, stop)
        for path in doubtful:
            scope = meant.scope(path)
            if stop.is_set():
                outcome = outcome.leaving(_still(ledger, scope), STOPPED)
            else:
                progress.step(self._display(path))
                outcome = outcome.with_done(await reject(ledger, workspace, scope, force=force))
        return outcome

    async def _is_forced(
        self, ledger: ReviewLedger, meant: Meant, paths: Sequence[Path], stop: asyncio.Event
    ) -> bool:
        """Ask the user whether to reject lines that others have changed since."""
        kept = [
            one
            for path in paths
            for one in planned(ledger, path, meant.scope(path), force=False).kept
        ]
        asked = asyncio.ensure_future(
            self._client.choose(question(kept, self._display), (KEEP, RESTORE), self._ask_s())
        )
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return asked.done() and asked.result() == RESTORE
        finally:
            asked.cancel()
            stopped.cancel()

    def _result(self, verb: Verb, outcome: FilesOutcome, message: str) -> VerdictResult:
        kept = [self._kept(hunk.path, hunk.id, why) for hunk, why in outcome.kept]
        kept += [self._kept(path, "", why) for path, why in outcome.failed]
        ids = tuple(hunk.id for hunk in outcome.hunks)
        return VerdictResult(verb, ids, tuple(kept), outcome.gone, message)

    def _kept(self, path: Path, id_: str, why: str) -> KeptRow:
        return KeptRow(id=id_, uri=path.as_uri(), path=self._display(path), why=why)

    def _display(self, path: Path) -> str:
        return display(path, self._workspace().roots)

    def _tell(self, message: str) -> None:
        self._client.show(types.MessageType.Info, f"Indwell: {message}")

    def _tell_later(self, work: asyncio.Task[Result]) -> None:
        if not work.cancelled() and work.exception() is None:
            self._tell(work.result().message)


async def _owned(work: asyncio.Task[Result]) -> None:
    """Wait for the task; if the caller is cancelled, cancel the task, too."""
    await work


def _still(ledger: ReviewLedger, scope: Scope) -> list[Hunk]:
    assert scope.path is not None
    return [hunk for hunk in ledger.hunks(scope.path) if hunk.id in scope.hunks]
